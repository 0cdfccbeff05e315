"""Checks and normalises the characters of a text: refuses control characters, removes invisible ones, stores NFC.

Every text that comes in passes here: `schemas.normalise.text` for fields and cells, `refused_in` for arguments that are
checked as a whole. A field's other limits (its length, its white space) are not here.

Control characters can make a terminal do what the text says, and no printed document shows them: all but tab and line
ends are refused. Invisible characters make one code look like another: they are removed from codes, and from the ends
of other texts, where copying leaves them and they mean nothing.
"""

import json
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
    if (match := _CONTROL.search(text)) is None:
        return None
    return Message(
        "The text holds the control character {character} as its character {place}; "
        "send it without. Tab and line ends are taken.",
        character=f"U+{ord(match[0]):04X}",
        place=match.start() + 1,
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


def from_form(text: str) -> str:
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


_UNSEEN: Final = r"\u2028\u2029\u206a-\u206f\ufff9-\ufffb\U000e0000-\U000e0fff"
_HIDING: Final = re.compile(rf"[\x00-\x1f\x7f-\x9f{INVISIBLE}{_UNSEEN}]")
"""Characters that begin a line, change the direction of writing, or are not seen and read by programs all the same."""


_QUOTES: Final = {ord(mark): json.dumps(mark)[1:-1] for mark in "“”"}


def one_line(text: str) -> str:
    """Return a text on one line, as it is seen: what breaks, turns or hides letters stands as in JSON."""
    return _HIDING.sub(lambda match: json.dumps(match[0])[1:-1], text)


def in_quotes(text: object) -> str:
    """Return a text in quotes that it cannot end: on one line, its own quotes as in JSON."""
    return f"“{one_line(str(text)).translate(_QUOTES)}”"


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


_PASSED_OVER: Final = (
    (0x00, 0x20),
    (0x7F, 0xA0),
    (0xAD, 0xAD),
    (0x61C, 0x61C),
    (0x1680, 0x1680),
    (0x180E, 0x180E),
    (0x2000, 0x200F),
    (0x2028, 0x202F),
    (0x205F, 0x206F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
)
"""Control characters, white space and marks without a width (Unicode categories Cc, Z and Cf)."""
_SIGNS: Final = "=+@⁺⁼₊₌⩵⩶﬩﹢﹣﹦﹫＋－＝＠-"
"""The four signs, and the characters equal to them under compatibility (NFKC of Unicode). The hyphen is last, where a
character class takes it literally.
"""
_CLASS: Final = "".join(f"{chr(first)}-{chr(last)}" for first, last in _PASSED_OVER)

COMPUTED: Final = f"[{_CLASS}]*[{_SIGNS}]"
"""Pattern of the beginning of a text that a spreadsheet would compute; Python and Polars read it alike."""
_COMPUTED: Final = re.compile(COMPUTED)


NULL_WORDS: Final = (
    *("nan", "NaN", "NAN", "-nan", "None", "NaT", "\\N", "\\n", "NA", "<NA>", "<na>", "<null>", "<NULL>"),
    *("(null)", "(NULL)", "[null]", "[NULL]", "{null}", "undefined", "Undefined", "#NULL"),
)
"""How programs write that there is no value. `null` and `NULL` are not among them: they clear (decisions §4)."""
_SAID_AS_ABOVE: Final = (
    *('"', "”", "″", "〃", '-"-', '--"--', "ditto", "same as above", "see above", "as above", "idem", "idem ci-dessus"),
    *("voir ci-dessus", "dto", "siehe oben", "wie oben", "s. oben", "ver arriba", "ídem", "come sopra", "vedi sopra"),
    *("zie boven", "jak wyżej", "jw", "viz výše", "se ovan", "ver acima"),
)
DITTO_MARKS: Final = tuple(
    sorted({way for said in _SAID_AS_ABOVE for way in (said, said.capitalize(), said.upper(), f"{said}.")})
)
"""How people write in a table that a cell has what stands above it."""
_SPACE: Final = r"[^\S\x1c-\x1f]*"
_WORDS: Final = "|".join(map(re.escape, (*NULL_WORDS, *DITTO_MARKS)))
_MEANS_MORE: Final = rf"{COMPUTED}|#|{_SPACE}(?:null|NULL|{_WORDS}){_SPACE}$"
APOSTROPHE_BEFORE: Final = rf"^'('*(?:{_MEANS_MORE}|\d|{_SPACE}$))"
"""A text with a leading `'` that the reader removes. A writer puts one before each text that matches with one."""
MEANS_MORE: Final = f"^(?:{_MEANS_MORE})|{APOSTROPHE_BEFORE}"
"""Texts that a spreadsheet takes for a formula, or that an import takes for something else; all but blank ones."""
_MEANS_MORE_THAN_TEXT: Final = re.compile(MEANS_MORE)


def is_computed(text: str) -> bool:
    """Return whether a spreadsheet would read the text as a formula."""
    return _COMPUTED.match(text) is not None


def harmless(text: str) -> str:
    """Return the text as a cell that no spreadsheet computes."""
    return f"'{text}" if is_computed(text) else text


def as_cell(text: str) -> str:
    """Return the text as a cell that no spreadsheet computes and that an import reads as this text."""
    return f"'{text}" if _MEANS_MORE_THAN_TEXT.match(text) else text
