"""Normalises one value to its stored form: the same function for a JSON field and for a cell.

A function here takes a value of the right type and returns the stored one, or raises `Unfit` with the issue's code and
a sentence that names the right form. The file reader turns text cells into numbers and booleans.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import pycountry
from stdnum import ean
from stdnum.exceptions import ValidationError

from schemas import texts
from schemas.messages import Message
from schemas.vocabularies import VOCABULARIES

_GTIN_LENGTHS = (8, 12, 13, 14)
_SUBDIVISION = re.compile(r"[A-Z]{2}-[A-Z0-9]{1,3}")
TERRITORIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("GP", "MQ", "GF", "RE", "YT", "MF"), "FR"),
    "AX": "FI",
}
"""Territories of the European Union with a code of their own beside that of their Member State (Articles 349 and 355
of the Treaty on the Functioning of the European Union): each is a part of it, as `FR-974` is (decisions §13)."""


class Unfit(ValueError):  # noqa: N818  (it is a verdict on a value; callers turn it into an Issue)
    """The field cannot store the value."""

    def __init__(self, code: str, message: Message) -> None:
        """`code` is one of `schemas.issues.ISSUE_CODES`."""
        super().__init__(message)
        self.code, self.message = code, message


def text(value: str, *, min_length: int | None, max_length: int | None, is_code: bool = False) -> str:
    """Return text in the form of `schemas.texts`; remove outer white space from keys and names."""
    if (sentence := texts.control_in(value)) is not None:
        raise Unfit("invalid_format", sentence)
    value = texts.code(value) if is_code else texts.plain(value)
    if min_length is not None:
        value = value.strip()
        if len(value) < min_length:
            raise Unfit("too_short", too_short(min_length))
    if max_length is not None and len(value) > max_length:
        raise Unfit("too_long", too_long(value, max_length))
    return value


def too_short(least: int) -> Message:
    """Return what is wrong with a text that has fewer characters."""
    return Message("At least {least} character is needed besides white space.", least=least)


def too_long(value: str, most: int) -> Message:
    """Return what is wrong with a text that has more characters."""
    return Message("At most {most} characters are held; these are {given}.", most=most, given=len(value))


def gtin(value: str) -> str:
    """Return a GTIN of 8, 12, 13 or 14 digits with a right check digit (GS1 General Specifications 7.9)."""
    digits = texts.code(value)
    if not (digits.isascii() and digits.isdigit() and len(digits) in _GTIN_LENGTHS):
        raise Unfit("invalid_gtin", Message("A GTIN has 8, 12, 13 or 14 digits; {value} has not.", value=quote(value)))
    try:
        ean.validate(digits.zfill(14))
    except ValidationError:
        right = digits[:-1] + ean.calc_check_digit(digits.zfill(14)[:-1])
        raise Unfit(
            "invalid_gtin",
            Message(
                "The check digit of {digits} is wrong; if the other digits are right, it is {right}.",
                digits=digits,
                right=right,
            ),
        ) from None
    return digits


@lru_cache(maxsize=4096)
def place(value: str) -> str:
    """Return a jurisdiction code in the form CC or CC-XX, as it was named: a territory keeps its own code.

    Upper and lower case, underscore and space are accepted; UK is GB. Raise `unknown_market` for a value that is not an
    ISO 3166-1 alpha-2 code, alone or before a hyphen.
    """
    code = re.sub(r"[_\s]+", "-", texts.code(value).upper())
    country, _, rest = code.partition("-")
    country = "GB" if country == "UK" else country
    is_country = pycountry.countries.get(alpha_2=country) is not None
    if not is_country or (rest and not _SUBDIVISION.fullmatch(f"{country}-{rest}")):
        raise Unfit(
            "unknown_market",
            Message(
                "{value} is no jurisdiction code; send ISO 3166-1 alpha-2 (FR) or a subdivision (US-CA).",
                value=quote(value),
            ),
        )
    return f"{country}-{rest}" if rest else country


def market(value: str) -> str:
    """Return the code of a market as `place` does, a territory of the Union as its Member State.

    `markets` checks subdivisions against the catalogue. Raise `unknown_market` as `place`.
    """
    code = place(value)
    return country_of(code) if code[:2] in TERRITORIES else code


def country_of(code: str) -> str:
    """Return the country that a normalised code is of or in: FR for FR, for FR-974 and for RE."""
    return TERRITORIES.get(code[:2], code[:2])


def markets(values: Iterable[str], served_subdivisions: frozenset[str]) -> list[str]:
    """Return the codes normalised, a subdivision that the catalogue does not have as its parent, without repeats."""
    codes = (market(value) for value in values)
    kept = (code if "-" not in code or code in served_subdivisions else country_of(code) for code in codes)
    return list(dict.fromkeys(kept))


def code(value: str, vocabulary: str) -> str:
    """Return a code of a vocabulary, matched exactly; callers resolve words to codes first."""
    allowed = VOCABULARIES[vocabulary]
    if value not in allowed:
        raise Unfit(
            "not_in_vocabulary",
            Message("{value} is not one of: {codes}.", value=quote(value), codes=", ".join(allowed)),
        )
    return value


def quote(value: object) -> str:
    """Return a value as an error sentence quotes it: cut after 200 characters."""
    whole = str(value)
    return f"“{whole[:200]}…”" if len(whole) > 200 else f"“{whole}”"


def several_named(text: str, names: Iterable[str]) -> Unfit:
    """Return the fault of a text that is the name of several records, with the names that they have."""
    message = Message(
        "Several records have the name {cell}: {names}. Merge them, or write the id of the one that is meant.",
        cell=quote(text),
        names=", ".join(names),
    )
    return Unfit("unknown_reference", message)


def none_named(text: str, near: Iterable[str]) -> Unfit:
    """Return the fault of a text that is the name of no record, with the names that are the nearest to it."""
    message = Message(
        "{cell} is no id, and no record has this name; the nearest names are: {names}.",
        cell=quote(text),
        names=", ".join(near),
    )
    return Unfit("unknown_reference", message)


def measured_ppm(value: float) -> float:
    """Return a measured content of heavy metals in mg/kg: 0 or more."""
    if not 0 <= value < float("inf"):
        raise Unfit("out_of_range", Message("A content in mg/kg is 0 or more."))
    return float(value)


def attested_ppm(value: str) -> str:
    """Return a heavy-metals attestation `<N` without measurement; N is at most the limit, 100 mg/kg (Article 5(4))."""
    match = re.fullmatch(r"\s*<\s*(\d{1,3}(?:\.\d{1,6})?)\s*", value)
    if not match:
        raise Unfit(
            "invalid_format",
            Message('{value} is neither a number nor an attestation such as "<100".', value=quote(value)),
        )
    if float(match[1]) > 100:
        raise Unfit("out_of_range", Message("An attestation names the limit of 100 mg/kg or a lower bound."))
    return f"<{match[1]}"
