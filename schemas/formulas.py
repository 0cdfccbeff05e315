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


def is_computed(text: str) -> bool:
    """Return whether a spreadsheet would read the text as a formula."""
    return _COMPUTED.match(text) is not None


def harmless(text: str) -> str:
    """Return the text as a cell that no spreadsheet computes."""
    return f"'{text}" if is_computed(text) else text
