"""Maps people's words to fields and codes: headers and terms in English, French, German, Spanish, Italian and Dutch.

Both tables are data: `headers.csv` (table, field, lang, header) and `words.csv` (vocabulary, code, lang, word). A
field's own name and a code itself always match, so the tables list only other words. Words are compared after `fold`. A
word with two meanings in one table or vocabulary is refused when the tables are loaded.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType

from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS
from schemas.letters import without_accents
from schemas.texts import WITHOUT_INVISIBLE
from schemas.vocabularies import VOCABULARIES

_HERE = Path(__file__).parent
_LIGATURES = WITHOUT_INVISIBLE | str.maketrans({"œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "µ": "u", "μ": "u"})
_LONGEST_WORD = 60
"""Characters of the words that are kept folded: those of headers are asked for again and again."""
_NOT_A_WORD = re.compile(r"[^0-9a-z]+")


class WordCollisionError(ValueError):
    """One word means two fields or two codes; the tables must be corrected before anything is read."""


def fold(text: str) -> str:
    """Return text as words are compared: lower case, without accents, each run of other characters one space.

    Invisible characters do not count: `Verpackung` with a soft hyphen is one word.

    A text without a letter or digit of the Latin script (`✓`, `%`) is returned trimmed.
    """
    lower = text.casefold().translate(_LIGATURES)
    return _NOT_A_WORD.sub(" ", without_accents(lower)).strip() or text.strip()


def headers(table: str) -> Mapping[str, str]:
    """Return field names by folded header, for the table `sku` or `component`."""
    return _headers()[table]


def words(vocabulary: str) -> Mapping[str, str]:
    """Return codes of the vocabulary by folded word; empty for a vocabulary without words."""
    return _words().get(vocabulary, MappingProxyType({}))


def code_of(word: str, vocabulary: str) -> str | None:
    """Return the code that a word means, or None for an unknown word."""
    return words(vocabulary).get(_folded(word) if len(word) <= _LONGEST_WORD else fold(word))


_folded = lru_cache(maxsize=8192)(fold)


@cache
def _headers() -> Mapping[str, Mapping[str, str]]:
    own = [("sku", field.name, field.name) for field in SKU_FIELDS]
    own += [("component", field.name, field.name) for field in COMPONENT_FIELDS]
    listed = [(row["table"], row["field"], row["header"]) for row in _rows("headers.csv")]
    named = [(table, field, field) for table, field, _ in listed]
    return index([*own, *named, *listed])


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    own = [(name, code, code) for name, codes in VOCABULARIES.items() for code in codes]
    listed = [(row["vocabulary"], row["code"], row["word"]) for row in _rows("words.csv")]
    return index([*own, *listed])


def index(entries: Iterable[tuple[str, str, str]]) -> Mapping[str, Mapping[str, str]]:
    """Return entries (table, meaning, word) as table -> folded word -> meaning.

    Raise `WordCollisionError` where a word of one table has two meanings.
    """
    tables: dict[str, dict[str, str]] = {}
    for table, meaning, word in entries:
        known = tables.setdefault(table, {})
        before = known.setdefault(fold(word), meaning)
        if before != meaning:
            raise WordCollisionError(f"In {table}, “{word}” stands for both {before} and {meaning}.")
    return MappingProxyType({table: MappingProxyType(known) for table, known in tables.items()})


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (_HERE / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
