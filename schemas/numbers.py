"""Formats numbers and days as a language writes them, and says which numbers it counts as one: by CLDR (Babel).

Numbers have digit groups, a decimal mark, and no more decimals than asked for.
"""

from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache
from typing import Final

from babel import Locale
from babel.dates import format_date
from babel.numbers import get_decimal_symbol, get_group_symbol

_OF_EUROPE: Final = {"en": "en_GB"}
"""Where the language alone would be another continent's: days are written `1 November 2026`."""
_ANY: Final = Context(prec=400)
"""Enough digits for every double: 309 before the decimal mark, and the requested ones after it."""


@cache
def _locale(lang: str) -> Locale:
    return Locale.parse(_OF_EUROPE.get(lang, lang))


@cache
def decimal_mark(lang: str) -> str:
    """Return what stands before the decimals in a language."""
    return get_decimal_symbol(_locale(lang))


@cache
def _group_mark(lang: str) -> str:
    return get_group_symbol(_locale(lang))


def day(value: date | str, lang: str) -> str:
    """Write a day, or the text `2026-11-01` of one, in words: `1 November 2026`, `1. November 2026`."""
    known = date.fromisoformat(value) if isinstance(value, str) else value
    return format_date(known, "long", _locale(lang))


def is_one(count: int, lang: str) -> bool:
    """Return whether a language counts the number as one: 1, and in French 0 too."""
    return _locale(lang).plural_form(count) == "one"


def number(value: float | Decimal, lang: str, digits: int = 0) -> str:
    """Format a number with at most `digits` decimals, rounded half away from zero, without trailing zeros."""
    rounded = Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _ANY)
    rounded = rounded or abs(rounded)  # no minus before 0
    whole, _, decimals = f"{rounded:,f}".partition(".")
    decimals = decimals.rstrip("0")
    return whole.replace(",", _group_mark(lang)) + (decimal_mark(lang) + decimals if decimals else "")


def plain(value: float | Decimal, lang: str) -> str:
    """Format a number for an input: the language's decimal mark, no groups, all its digits."""
    return f"{Decimal(str(value)):f}".removesuffix(".0").replace(".", decimal_mark(lang))
