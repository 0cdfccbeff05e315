"""Returns the names of fields and codes in a person's language: a header, a word, a meaning.

Readers accept words in any language and any of their forms (`words.py`); this module chooses one form to show. It is
the first that `headers.csv` and `words.csv` list in the language, else the field's own name or the code itself. Words
that are shown and never read from a file are rows of `shown_words.csv`.
"""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from schemas.fields import Field

LANGUAGES: Final = ("en", "fr", "de")

_HERE: Final = Path(__file__).parent


def header(table: str, field: str, lang: str) -> str:
    """Return the header of a field of the table `sku` or `component`."""
    return _first("headers.csv", "table", "field", "header").get((table, field, lang), field)


def word(vocabulary: str, code: str, lang: str) -> str:
    """Return the word for a code of a vocabulary."""
    key = (vocabulary, code, lang)
    return _first("words.csv", "vocabulary", "code", "word").get(key) or _shown().get(key, code)


def format_word(text: str, lang: str) -> str:
    """Return the word for a kind of packaging where the free text is the name of one; return other texts unchanged."""
    key = "_".join(text.lower().replace("-", " ").replace("_", " ").split())
    return _shown().get(("packaging_format_key", key, lang), text)


def meaning(table: str, field: Field, lang: str) -> str:
    """Return a field's meaning in a sentence: its own English one where `meanings.csv` has no translation."""
    return _first("meanings.csv", "table", "field", "meaning").get((table, field.name, lang), field.meaning)


@cache
def _shown() -> Mapping[tuple[str, str, str], str]:
    """Return the words that are only shown, by vocabulary, code and language."""
    with (_HERE / "shown_words.csv").open(encoding="utf-8", newline="") as rows:
        return {(row["vocabulary"], row["code"], lang): row[lang] for row in csv.DictReader(rows) for lang in LANGUAGES}


@cache
def _first(file: str, group: str, name: str, text: str) -> Mapping[tuple[str, str, str], str]:
    """Return the first text of each (group, name, language) of a table."""
    found: dict[tuple[str, str, str], str] = {}
    with (_HERE / file).open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            found.setdefault((row[group], row[name], row["lang"]), row[text])
    return found
