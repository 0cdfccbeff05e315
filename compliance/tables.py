"""Reads CSV tables of facts, from a file or a text, and cites articles; no other module of this package opens a file.

`compliance.ruleset` and `compliance.catalogue` define the meaning of the columns.
"""

import csv
import io
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, get_type_hints  # Any: fields of any record that a row becomes

from schemas.messages import Message, translate

RULES = Path(__file__).parent / "rules"
"""The folder with one sub-folder for each published rule-set, and `catalogue` with the EPR tables."""


def cited(article: str, lang: str) -> str:
    """Return an article of the Regulation as texts cite it, in a language."""
    return translate(Message("Regulation (EU) 2025/40, Article {article}", article=article), lang)


class TableError(ValueError):
    """A table is missing or contradicts itself or another; the message names the file and the row."""


Row = dict[str, str]
"""A row of a table: its cells by column, stripped, an absent one as the empty text."""


def rows(path: Path) -> list[Row]:
    """Return all rows of one table. Raise `TableError` as `parse_table`, and where the file is not UTF-8."""
    return parse_table(path.name, text(path))


def text(path: Path) -> str:
    """Return a table's text as it is in the file. Raise `TableError` where it cannot be read as UTF-8."""
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise TableError(f"{path.name} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise TableError(f"{path.name} is no CSV file in UTF-8; save it as one.") from None


def parse_table(name: str, content: str) -> list[Row]:
    """Parse the rows of a table's text. Raise `TableError` where it is no CSV or a row is longer than the header."""
    try:
        lines = list(csv.DictReader(io.StringIO(content, newline="")))
    except csv.Error:
        raise TableError(f"{name} is no CSV file in UTF-8; save it as one.") from None
    for number, row in enumerate(lines, start=2):
        if None in row:
            raise TableError(f"{name}, line {number}: more cells than the header has.")
    return [{key: (value or "").strip() for key, value in row.items()} for row in lines]


def words(cell: str) -> tuple[str, ...]:
    """Return the values of a cell with several, separated by `|`."""
    return tuple(word for word in cell.split("|") if word)


def as_text(value: object) -> str | None:
    """Return a value as the tables write it: a truth as true or false; None where it is not given."""
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)


_Record = TypeVar("_Record")
_READERS: Final[dict[Any, Callable[[str], Any]]] = {
    str: str,
    str | None: lambda cell: cell or None,
    int: int,
    float: float,
    Decimal | None: lambda cell: Decimal(cell) if cell else None,
    bool: "Y".__eq__,
    date: date.fromisoformat,
    date | None: lambda cell: date.fromisoformat(cell) if cell else None,
    tuple[str, ...]: words,
    frozenset[str]: lambda cell: frozenset(words(cell)),
}
"""The meaning of a cell by the type of the field that it becomes; a truth is written Y."""


@cache
def _readers(record: type) -> tuple[tuple[str, Callable[[str], Any] | None], ...]:
    return tuple((name, _READERS.get(hint)) for name, hint in get_type_hints(record).items())


def record_of_row(record: type[_Record], row: Row, **others: object) -> _Record:
    """Return a row as a record: each field from the column of its name, but those whose values are `others`."""
    cells = {name: read(row[name]) for name, read in _readers(record) if name not in others and read}  # type: ignore[arg-type]  # a class
    return record(**cells, **others)


class Years(NamedTuple):
    """The calendar years in which a row holds (its columns `from` and `until`, both inside); None for no end."""

    first: int | None
    last: int | None

    def hold(self, year: int | None) -> bool:
        """Return whether the row holds in a calendar year; without one, whether it is the newest."""
        if year is None:
            return self.last is None
        return (self.first is None or self.first <= year) and (self.last is None or year <= self.last)


def years_of(row: Row) -> Years:
    """Return the years of a row."""
    first, last = (int(row[name]) if row[name] else None for name in ("from", "until"))
    return Years(first, last)


def first_years(held: Iterable[Years]) -> set[int]:
    """Return the years in which one of the rows is the first time there, or the first time not."""
    ends = {(years.first, years.last + 1 if years.last else None) for years in held}
    return {year for pair in ends for year in pair if year}


def refuse(what: str, faults: Iterable[str]) -> None:
    """Raise `TableError` with every fault found of a table or a rule-set, where there is one."""
    if sentences := " ".join(faults):
        raise TableError(f"{what}: {sentences}")


CONFIDENCES: Final = (
    "primary",
    "official_page",
    "scheme",
    "scheme_dated",
    "secondary",
    "secondary_old",
    "third_party",
    "ours",
    "from memory",
    "unverified",
    "unknown",
)
"""In this order: read in the law; on a page of the authority; of the scheme, now or long ago; reported by others, now
or long ago; in somebody's data; a choice of ours; from memory; not verified; nothing found.
"""
NONE: Final = "none"
"""Where no row of a table applies and the family of a material is used as its category."""


def word(text: str) -> str:
    """Return the word of the vocabulary with which a confidence begins."""
    return text.partition(", ")[0]


def is_confidence(text: str) -> bool:
    """Return whether a cell states its row's confidence in the words of the vocabulary."""
    return word(text) in CONFIDENCES
