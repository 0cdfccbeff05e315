"""Reading CSV tables of facts: the one place that opens a file in this room.

What the columns mean is the business of `compliance.ruleset` and `compliance.catalogue`.
"""

import csv
from pathlib import Path

RULES = Path(__file__).parent / "rules"
"""The folder with one sub-folder for each published rule-set, and `catalogue` with the EPR tables."""


class TableError(ValueError):
    """A table is missing or contradicts itself or another; the message names the file and the row."""


def rows(path: Path) -> list[dict[str, str]]:
    """All rows of one table, cells stripped, an absent cell as the empty text.

    Raises `TableError` where the file cannot be read as CSV or a row is longer than the header.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            found = list(csv.DictReader(file))
    except OSError as error:
        raise TableError(f"{path.name} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise TableError(f"{path.name} is no CSV file in UTF-8; save it as one.") from None
    for number, row in enumerate(found, start=2):
        if None in row:
            raise TableError(f"{path.name}, line {number}: more cells than the header has.")
    return [{key: (value or "").strip() for key, value in row.items()} for row in found]


def words(cell: str) -> tuple[str, ...]:
    """The values of a cell that holds several, separated by `|`."""
    return tuple(word for word in cell.split("|") if word)
