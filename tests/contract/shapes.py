"""What records look like by the contract, and whether an answer's record does.

The table `fields.csv` is written from the contract and not from the service's own field tables: the two are meant to
be compared. A record may hold more fields than the table, since v1 is additive.
"""

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

with Path(__file__).with_name("fields.csv").open(encoding="utf-8", newline="") as file:
    FIELDS = list(csv.DictReader(file))

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def _reads(read: Callable[[Any], object]) -> Callable[[Any], bool]:
    def readable(value: Any) -> bool:
        try:
            return isinstance(value, str) and read(value) is not None
        except ValueError:
            return False

    return readable


_TYPES: dict[str, Callable[[Any], bool]] = {
    "uuid": _reads(UUID),
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "strings": lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "date": _reads(date.fromisoformat),
    "instant": _reads(lambda value: datetime.fromisoformat(value) if _INSTANT.fullmatch(value) else None),
}


def faults(kind: str, record: Mapping[str, Any], *, since: Iterable[str] = ("1.4.1", "1.8.0")) -> list[str]:
    """The fields that the record lacks or that have another type than the contract's."""
    versions, found = set(since), []
    fields = [row for row in FIELDS if row["record"] == kind and row["since"] in versions]
    assert fields, kind
    for row in fields:
        name = row["field"]
        if name not in record:
            found.append(f"{kind}.{name} is missing")
        elif record[name] is None:
            found += [] if row["nullable"] == "yes" else [f"{kind}.{name} is null"]
        elif not _fits(row["type"], record[name]):
            found.append(f"{kind}.{name} is {record[name]!r}, not {row['type']}")
    return found


def _fits(name: str, value: Any) -> bool:
    return _TYPES[name](value) if name in _TYPES else value in name.split("|")


def vocabulary(kind: str, field: str) -> list[str]:
    """The codes that the contract lists for a field."""
    (row,) = [row for row in FIELDS if (row["record"], row["field"]) == (kind, field)]
    return row["type"].split("|")
