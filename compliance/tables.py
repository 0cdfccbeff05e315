"""Reads CSV tables of facts, from a file or a text; no other module of this package opens a file.

`compliance.ruleset` and `compliance.catalogue` define the meaning of the columns.
"""

import csv
import io
from pathlib import Path
from typing import Final

RULES = Path(__file__).parent / "rules"
"""The folder with one sub-folder for each published rule-set, and `catalogue` with the EPR tables."""


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
        found = list(csv.DictReader(io.StringIO(content, newline="")))
    except csv.Error:
        raise TableError(f"{name} is no CSV file in UTF-8; save it as one.") from None
    for number, row in enumerate(found, start=2):
        if None in row:
            raise TableError(f"{name}, line {number}: more cells than the header has.")
    return [{key: (value or "").strip() for key, value in row.items()} for row in found]


def words(cell: str) -> tuple[str, ...]:
    """Return the values of a cell with several, separated by `|`."""
    return tuple(word for word in cell.split("|") if word)


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
