"""Recognises headers that are composed of known words: `Réf. produit`, `Artikeltext`, `Poids de l'emballage vide (g)`.

No list contains every wording. Here each word has a role (`words.csv`, vocabulary `header_word`), and sets of roles
make fields (`composed_headers.csv`). A header with one word that has no role makes none: `Poids net (g)` is not the
packaging's. Such a column counts only where no better one gives its field (`header.py`).
"""

import csv
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from pipelines.reading.fields import LONGEST_HEADER, Column, fields_of
from pipelines.reading.levels import without_sales_level
from pipelines.reading.units import Unit, unit_of
from pipelines.reading.wordings import wordings
from schemas.words import fold, headers, words

_MOST_WORDS: Final = 8
_STEM: Final = 4
"""A beginning of a word must be longer than this many letters to count as the word: `pack` begins `package` too."""
_LONGEST_TITLE: Final = 40
_SHORTEST_PART: Final = 2
_NOTHING: Final = "nothing"
_WORD: Final = re.compile(r"[^\W\d_]+|\d+")


@lru_cache(maxsize=8192)
def substitute_column(header: str) -> Column | None:
    """Return the column of a header that counts where there is no better one: a listed or a composed header."""
    for text in (header, *wordings(header)):
        if (name := headers("spare").get(fold(text))) is not None:
            return _column(name, header, None)
        if (found := _composed_column(text, header)) is not None:
            return found
    rest = without_sales_level(header)
    return None if rest is None else _composed_column(rest, header)


def names_packaging(header: str) -> bool:
    """Return whether a word of the header names the packaging: `Packaging Weight (g)`, `PKG_WEIGHT`."""
    return "packaging" in word_roles(header)


@lru_cache(maxsize=8192)
def mentions_packaging(text: str) -> bool:
    """Return whether a word of a header, title or sheet name begins like one for packaging: `Verpackungsdaten`."""
    if names_packaging(text):
        return True
    begin = tuple(word for word, role in words("header_word").items() if role == "packaging" and len(word) > _STEM)
    return any(token.startswith(begin) for token in fold(text).split()[:_LONGEST_TITLE])


def names_company(header: str) -> bool:
    """Return whether a word of the header names its owner: a supplier, a customer, a manufacturer."""
    return "somebody" in word_roles(header)


@lru_cache(maxsize=8192)
def word_roles(header: str) -> frozenset[str]:
    """Return the roles of those words of a header that have one."""
    header = header[:LONGEST_HEADER]
    tokens = [token for text in (header, *wordings(header)) for token in _WORD.findall(fold(text))[:_MOST_WORDS]]
    return frozenset(role for token in tokens for role in (_roles_of_word(token) or ()))


def composed_field(text: str) -> tuple[str, Unit | None] | None:
    """Return the SKU's field that known words make together, and the unit at their end."""
    tokens = _WORD.findall(fold(text))
    if not 0 < len(tokens) <= _MOST_WORDS:
        return None
    for size in range(min(3, len(tokens))):
        first, last = tokens[: len(tokens) - size], " ".join(tokens[len(tokens) - size :])
        name = _field_of_words(first)
        if name is None:
            continue
        unit = unit_of(last, fields_of("sku")[name].unit) if size else None
        if unit is not None or not size:
            return name, unit
    return None


def _composed_column(text: str, header: str) -> Column | None:
    found = composed_field(text)
    return None if found is None else _column(found[0], header, found[1])


def _column(name: str, header: str, unit: Unit | None) -> Column:
    column = Column(name, fields_of("sku")[name], "sku", 0, header)
    return column if unit is None else Column(name, column.field, "sku", 0, header, factor=unit.factor)


def _field_of_words(tokens: list[str]) -> str | None:
    """Return the field that the roles of all words make."""
    roles: set[str] = set()
    for token in tokens:
        found = _roles_of_word(token)
        if found is None:
            return None
        roles |= found
    return _fields_by_roles().get(frozenset(roles - {_NOTHING}))


def _roles_of_word(token: str) -> frozenset[str] | None:
    """Return the role of a word, or the roles of the two words of a compound: `Verpackungsgewicht`."""
    known = words("header_word")
    if token in known:
        return frozenset({known[token]})
    for cut in range(_SHORTEST_PART, len(token) - _SHORTEST_PART + 1):
        first, second = known.get(token[:cut]) or known.get(token[:cut].removesuffix("s")), known.get(token[cut:])
        if first is not None and second is not None and {first, second} != {_NOTHING}:  # `Leder` is no article twice
            return frozenset({first, second})
    return None


@cache
def _fields_by_roles() -> dict[frozenset[str], str]:
    with (Path(__file__).parent / "composed_headers.csv").open(encoding="utf-8", newline="") as file:
        return {frozenset(row["roles"].split()): row["field"] for row in csv.DictReader(file)}
