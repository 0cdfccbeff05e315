"""Reads a market as a person names it: by a code, or by the name of its country in a language of Europe.

People name markets in pages, tools and files (decisions §13); the REST interface keeps codes (`normalise.market`).
"""

from difflib import get_close_matches
from functools import cache
from typing import Final

import pycountry
from babel import Locale

from schemas import normalise
from schemas.labels import word
from schemas.messages import Message
from schemas.normalise import Unfit, shown
from schemas.words import code_of, fold, words

_NEAREST: Final = 3
_LANGUAGES: Final = (
    *("bg", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "ga", "hr", "hu", "is", "it", "lt", "lv", "mt", "nb"),
    *("nl", "pl", "pt", "ro", "sk", "sl", "sr", "sv", "tr", "uk"),
)
"""Languages of the Union and of its neighbours, in which countries are named (CLDR); `words.csv` has further names."""
_LONGEST: Final = 100
"""Characters of a text that are compared with the names: a longer one is none of them."""


def market_named(text: str) -> str:
    """Return the code of the market that a person names. Raise `Unfit` with the nearest known names."""
    code = code_of(text, "market") or _country(text) or _native_names().get(_plain(text))
    if code is None:
        try:
            code = normalise.place(text)
        except Unfit:
            raise _unknown(text) from None
    _refuse_two(text, code)
    return normalise.market(code)


def markets_named(text: str) -> list[str]:
    """Return the codes of a text with one market, or with several codes beside each other: `FR DE`.

    Raise `Unfit` with the nearest known names.
    """
    try:
        return [market_named(text)]
    except Unfit:
        parts = text.split()
        if len(parts) < 2:
            raise
        try:
            return [normalise.market(part) for part in parts]
        except Unfit:
            pass
        raise


def _unknown(text: str) -> Unfit:
    known = words("market")
    alike = get_close_matches(fold(text[:_LONGEST]), known, n=2 * _NEAREST, cutoff=0)
    codes = list(dict.fromkeys(known[name] for name in alike))[:_NEAREST]
    sentence = Message(
        "{value} is no known market; the nearest are: {names}. Write the name of a country, or a code such as FR or "
        "US-CA.",
        value=shown(text),
        names=", ".join(f"{word('market', code, 'en')} ({code})" for code in codes),
    )
    return Unfit("unknown_market", sentence)


def _refuse_two(text: str, code: str) -> None:
    """Refuse a text such as `FR DE`, which may be two countries or a part of one."""
    country, _, rest = code.partition("-")
    if " " in text.strip() and pycountry.countries.get(alpha_2=rest) and code not in _subdivisions():
        two = Message(
            "{value} can be {country} and {rest}, or a part of {country}; write {country}; {rest} for both.",
            value=shown(text),
            country=country,
            rest=rest,
        )
        raise Unfit("unknown_market", two)


@cache
def _subdivisions() -> frozenset[str]:
    return frozenset(str(part.code) for part in pycountry.subdivisions)


@cache
def _native_names() -> dict[str, str]:
    """Return the codes of countries by their names; a name of two countries in two languages is none of them."""
    names: dict[str, str | None] = {}
    for language in _LANGUAGES:
        territories = Locale(language).territories
        for country in pycountry.countries:
            name = _plain(territories.get(country.alpha_2, ""))
            names[name] = country.alpha_2 if names.get(name, country.alpha_2) == country.alpha_2 else None
    return {name: code for name, code in names.items() if name and code}


def _plain(name: str) -> str:
    """Return a name as it is compared, in any script."""
    return fold(name).casefold()


def _country(name: str) -> str | None:
    """Return the code of a country by its ISO 3166 name (English) or its three letters; None for anything else."""
    if len(name) < 3 or any(map(str.isdigit, name)):
        return None
    try:
        return str(pycountry.countries.lookup(name).alpha_2)
    except LookupError:
        return None
