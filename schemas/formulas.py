"""Texts that a spreadsheet would compute, and the `'` that makes it take them for texts.

One rule for every cell that the service writes, and for the reader that takes the mark off again. A spreadsheet
computes what begins with `=`, `+`, `-` or `@`. It may pass over what it does not show before them, such as a tab or a
space, and takes other forms of the four for them, such as the full-width ones of East Asian keyboards.
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
"""The four, and what is the same under compatibility (NFKC of Unicode); the hyphen last, where a class means itself."""
_CLASS: Final = "".join(f"{chr(first)}-{chr(last)}" for first, last in _PASSED_OVER)

COMPUTED: Final = f"[{_CLASS}]*[{_SIGNS}]"
"""The beginning of a text that a spreadsheet would compute, as a pattern that Python and Polars read alike."""
_COMPUTED: Final = re.compile(COMPUTED)


def is_computed(text: str) -> bool:
    """Whether a spreadsheet would take the text for a formula."""
    return _COMPUTED.match(text) is not None


def harmless(text: str) -> str:
    """The text as a cell that nothing computes."""
    return f"'{text}" if is_computed(text) else text
