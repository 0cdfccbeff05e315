"""Numbers as people of a language write them: groups of three digits, the decimal mark, no more digits than asked."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Final

_MARKS: Final = {"en": (",", "."), "fr": ("\u202f", ","), "de": (".", ",")}
"""Between groups, and before decimals."""


def number(value: float | Decimal, lang: str, digits: int = 0) -> str:
    """A number with at most so many decimals, rounded half away from zero; zeros at the end are left out."""
    rounded = Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP) + 0  # no minus before 0
    whole, _, decimals = f"{rounded:,f}".partition(".")
    group, mark = _MARKS[lang]
    decimals = decimals.rstrip("0")
    return whole.replace(",", group) + (mark + decimals if decimals else "")
