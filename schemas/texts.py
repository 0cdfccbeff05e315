"""Checks and normalises the characters of a text: refuses control characters, removes invisible ones, stores NFC.

Every text that comes in passes here: `schemas.normalise.text` for fields and cells, `refused_in` for arguments that are
checked as a whole. A field's other limits (its length, its white space) are not here.

Control characters can make a terminal do what the text says, and no printed document shows them: all but tab and line
ends are refused. Invisible characters make one code look like another: they are removed from codes, and from the ends
of other texts, where copying leaves them and they mean nothing.
"""

import re
import unicodedata
from typing import Final

from schemas.messages import Message

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
CONTROL: Final = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\u{9f}]"
"""The same pattern for Polars, whose expressions have another syntax."""

INVISIBLE: Final = "\u00ad\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
"""Soft hyphen, zero-width space, byte-order mark, and the characters that change the direction of writing (Unicode's
Bidi_Control).
"""
WITHOUT_INVISIBLE: Final = dict.fromkeys(map(ord, INVISIBLE))
"""For `str.translate`: removes these. The joiners that scripts need (U+200C, U+200D) stay."""
_INVISIBLE: Final = re.compile(f"[{INVISIBLE}]")
_BLANK: Final = INVISIBLE + "".join(letter for letter in map(chr, range(0x3001)) if letter.isspace())
_MOST_MARKS: Final = 30
_OF_MARKS: Final = "\u0f73\u0f75\u0f81"
"""Letters by their combining class that decompose into marks (Annex 15, section 5)."""
_FEW: Final = 256
_RIGHT_TO_LEFT: Final = ("R", "AL", "AN")
UNUSUAL: Final = rf"[^\x00-\u{{2ff}}]|[{INVISIBLE[0]}]"
"""Polars pattern of the characters that this module may change; plain Latin text has none except the soft hyphen."""


def control_in(text: str) -> Message | None:
    """Return a sentence with the first control character and its position, counted from 1; None without one."""
    if (found := _CONTROL.search(text)) is None:
        return None
    return Message(
        "The text holds the control character {character} as its character {place}; "
        "send it without. Tab and line ends are taken.",
        character=f"U+{ord(found[0]):04X}",
        place=found.start() + 1,
    )


def refused_in(value: object) -> Message | None:
    """Return the same sentence for the first such text anywhere in a JSON value."""
    waiting = [value]
    while waiting:
        value_found = waiting.pop()
        if isinstance(value_found, str):
            if (sentence := control_in(value_found)) is not None:
                return sentence
        elif isinstance(value_found, dict):
            waiting += [*value_found, *value_found.values()]
        elif isinstance(value_found, list):
            waiting += value_found
    return None


def plain(text: str) -> str:
    """Return a text in NFC (Unicode Standard Annex 15), its ends without invisible characters and white space there."""
    if text.isascii():
        return text
    begin, end = len(text) - len(text.lstrip(_BLANK)), len(text.rstrip(_BLANK))
    first = next((at for at in range(end, len(text)) if text[at] in INVISIBLE), len(text))
    last = next((at for at in range(begin - 1, -1, -1) if text[at] in INVISIBLE), -1)
    return _composed(text[last + 1 : first if last < first else len(text)])


def code(text: str) -> str:
    """Return a code as it is stored and compared: NFC, without invisible characters and outer white space."""
    if text.isascii():
        return text.strip()
    return _composed(_INVISIBLE.sub("", text)).strip()


def shown(text: str) -> str:
    """Return what a person typed into a field of a page, in the stored form and without control characters.

    A browser never sends control characters by itself, so that its user needs no message about them.
    """
    return plain(_CONTROL.sub("", text)).strip()


def isolated(text: str) -> str:
    """Return a text that keeps its own direction inside a line of another (Unicode Standard Annex 9, FSI and PDI).

    Without it, punctuation and numbers around Hebrew or Arabic change their places. Other texts are returned as they
    are.
    """
    if text.isascii() or not any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in text):
        return text
    return f"\u2068{_INVISIBLE.sub('', text)}\u2069"


def _composed(text: str) -> str:
    """Return a text in NFC. Marks beyond 30 on one letter, which no script has (Annex 15, section 13), compose apart.

    Composing sorts the marks of a letter, which takes time that grows with the square of their number.
    """
    if len(text) <= _FEW:
        return unicodedata.normalize("NFC", text)
    cuts, marks = [0], 0
    for at, letter in enumerate(text):
        marks = marks + 1 if unicodedata.combining(letter) or letter in _OF_MARKS else 0
        if marks > _MOST_MARKS:
            cuts.append(at)
            marks = 1
    pieces = (text[begin:end] for begin, end in zip(cuts, [*cuts[1:], len(text)], strict=True))
    return "".join(unicodedata.normalize("NFC", piece) for piece in pieces)
