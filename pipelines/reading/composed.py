"""Recognises headers that are composed of known words: `Réf. produit`, `Artikeltext`, `Poids de l'emballage vide (g)`.

No list contains every wording. Here each word has a role (`words.csv`, vocabulary `header_word`), and sets of roles
make fields (`composed_headers.csv`). A header with one word that has no role makes none: `Poids net (g)` is not the
packaging's. Such a column counts only where no better one gives its field (`header.py`).
"""

import csv
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from pipelines.reading.grammar import roles_of_word, word_roles
from schemas.words import fold, words

_STEM: Final = 4
"""A beginning of a word must be longer than this many letters to count as the word: `pack` begins `package` too."""
_LONGEST_TITLE: Final = 40


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


def composed_field(tokens: Sequence[str]) -> str | None:
    """Return the SKU's field that the roles of all words make together."""
    roles: set[str] = set()
    for token in tokens:
        found = roles_of_word(token)
        if found is None:
            return None
        roles |= found
    return _fields_by_roles().get(frozenset(roles - {"nothing"}))


@cache
def _fields_by_roles() -> dict[frozenset[str], str]:
    with (Path(__file__).parent / "composed_headers.csv").open(encoding="utf-8", newline="") as file:
        return {frozenset(row["roles"].split()): row["field"] for row in csv.DictReader(file)}
