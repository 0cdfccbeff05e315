"""Removes accents from letters, for comparing words.

`words.py` and `compliance.words` do the comparing.
"""

import unicodedata
from functools import lru_cache


def without_accents(text: str) -> str:
    """Return the text in compatibility decomposition (Unicode Standard Annex 15), without its combining characters.

    Each character is decomposed by itself: decomposing a text also sorts its combining characters, which takes time
    that grows with the square of their number, and they are dropped here anyway.
    """
    return text if text.isascii() else "".join(map(_bare, text))


@lru_cache(maxsize=4096)
def _bare(character: str) -> str:
    decomposed = unicodedata.normalize("NFKD", character)
    return "".join(part for part in decomposed if not unicodedata.combining(part))
