"""Detects texts that a spreadsheet would compute as formulas, and escapes them with a leading `'`.

The writer of every cell and the reader that removes the mark use the same rule. A spreadsheet computes what begins with
`=`, `+`, `-` or `@`. It may skip characters before the sign that it does not show, such as a tab or a space, and it
accepts other forms of the four signs, such as the full-width ones of East Asian keyboards.
"""

import re
from typing import Final

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
_SPACE: Final = r"[^\S\x1c-\x1f]*"
_MEANS_MORE: Final = rf"{COMPUTED}|#|{_SPACE}(?:null|NULL|{'|'.join(map(re.escape, NULL_WORDS))}){_SPACE}$"
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
