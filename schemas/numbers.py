"""Formats numbers as a language writes them: digit groups, decimal mark, and no more decimals than asked for."""

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

_MARKS: Final = {"en": (",", "."), "fr": ("\u202f", ","), "de": (".", ",")}
"""The group separator and the decimal mark of each language."""
_ANY: Final = Context(prec=400)
"""Enough digits for every double: 309 before the decimal mark, and the requested ones after it."""


def decimal_mark(lang: str) -> str:
    """Return what stands before the decimals in a language."""
    return _MARKS[lang][1]


def number(value: float | Decimal, lang: str, digits: int = 0) -> str:
    """Format a number with at most `digits` decimals, rounded half away from zero, without trailing zeros."""
    rounded = Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _ANY)
    rounded = rounded or abs(rounded)  # no minus before 0
    whole, _, decimals = f"{rounded:,f}".partition(".")
    group, mark = _MARKS[lang]
    decimals = decimals.rstrip("0")
    return whole.replace(",", group) + (mark + decimals if decimals else "")


def plain(value: float, lang: str) -> str:
    """Format a number for an input: the language's decimal mark, no groups, all its digits."""
    return f"{Decimal(str(value)):f}".removesuffix(".0").replace(".", _MARKS[lang][1])
