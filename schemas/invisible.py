"""Characters that nobody sees and that make two texts of one: zero-width space, soft hyphen, byte order mark, bidi.

They come with texts that are copied out of web pages and PDFs (decisions §12). Joiners that scripts are written with
(U+200C, U+200D) are no such characters.
"""

from typing import Final

INVISIBLE: Final = "\u00ad\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
"""Taken out of codes everywhere, and out of other texts at their ends."""
WITHOUT: Final = dict.fromkeys(map(ord, INVISIBLE))
"""For `str.translate`: a text without them."""
