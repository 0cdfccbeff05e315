"""Numbers as people of a language write them: groups of three digits, the decimal mark, no more digits than asked."""

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

_MARKS: Final = {"en": (",", "."), "fr": ("\u202f", ","), "de": (".", ",")}
"""Between groups, and before decimals."""
_ANY: Final = Context(prec=400)
"""Digits enough for every double: 309 before the decimal mark, and those after it that are asked for."""


def number(value: float | Decimal, lang: str, digits: int = 0) -> str:
    """A number with at most so many decimals, rounded half away from zero; zeros at the end are left out."""
    rounded = Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _ANY)
    rounded = rounded or abs(rounded)  # no minus before 0
    whole, _, decimals = f"{rounded:,f}".partition(".")
    group, mark = _MARKS[lang]
    decimals = decimals.rstrip("0")
    return whole.replace(",", group) + (mark + decimals if decimals else "")


def plain(value: float, lang: str) -> str:
    """A number for an input: the language's decimal mark and no groups, every digit that it has."""
    return f"{Decimal(str(value)):f}".removesuffix(".0").replace(".", _MARKS[lang][1])
