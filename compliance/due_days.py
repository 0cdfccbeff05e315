"""Loads the days by which reports of a year or half are due, each with its source and how sure it is.

The rows are `rules/catalogue/due_days.csv`: only days that a source states. A jurisdiction without a row has no known
day. A day is the first one of its date after the period, which is our reading: most sources give only day and month.
"""

from calendar import monthrange
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from compliance import catalogue
from compliance.confidence import is_confidence
from compliance.tables import RULES, Row, TableError, rows

PINNED: Final = RULES / "catalogue" / "due_days.csv"
DUTIES: Final = ("annual_report", "half_report", "scheme_report", "simplified_report", "completeness_declaration")
BOUNDS: Final = ("by", "before")
"""Whether the day itself is still in time."""
HALVES: Final = {"": 0, "1": 1, "2": 2}
_LAST: Final = "last"
_LEAP_YEAR: Final = 2024


@dataclass(frozen=True, slots=True)
class DueDay:
    """A day by or before which a duty is due; `day` is None for the last one of the month.

    `half` is the half of the year that the duty is about, 0 for the whole year.
    """

    duty: str
    half: int
    bound: str
    month: int
    day: int | None
    confidence: str
    source_url: str
    note: str | None

    def after(self, year: int) -> date:
        """Return the day on which the report about a calendar year or its half is due: one of the next year.

        The first half is reported in the year itself.
        """
        due = year if self.half == 1 else year + 1
        return date(due, self.month, self.day or monthrange(due, self.month)[1])


@lru_cache(maxsize=1)
def due_days() -> Mapping[str, Sequence[DueDay]]:
    """Return the days that come with the release, by jurisdiction code."""
    return read(PINNED)


def read(path: Path) -> Mapping[str, Sequence[DueDay]]:
    """Return the days of a file. Raise `TableError` with every fault."""
    table, known = rows(path), {entry.code for entry in catalogue.pinned()}
    faults = [f"line {number}: {fault}." for number, row in enumerate(table, start=2) for fault in _faults(row, known)]
    if faults:
        raise TableError(f"{path.name}: " + " ".join(faults))
    found: dict[str, list[DueDay]] = {}
    for row in table:
        found.setdefault(row["code"], []).append(_due_day(row))
    return MappingProxyType(found)


def _due_day(row: Row) -> DueDay:
    return DueDay(
        row["duty"],
        HALVES[row["half"]],
        row["bound"],
        int(row["month"]),
        None if row["day"] == _LAST else int(row["day"]),
        row["confidence"],
        row["source_url"],
        row["note"] or None,
    )


def _faults(row: Row, known: set[str]) -> list[str]:
    faults = []
    if row["code"] not in known:
        faults.append(f"{row['code']} is not in the catalogue")
    if row["duty"] not in DUTIES or row["bound"] not in BOUNDS:
        faults.append("duty or bound is unknown")
    if row["half"] not in HALVES or (row["duty"] == "half_report") != bool(row["half"]):
        faults.append("a half is said of the report of a half, and of nothing else")
    if not is_confidence(row["confidence"]) or not row["source_url"].startswith("http"):
        faults.append("a day needs its source and how sure it is")
    try:
        date(_LEAP_YEAR, int(row["month"]), 1 if row["day"] == _LAST else int(row["day"]))
        if (row["month"], row["day"]) == ("2", "29"):
            faults.append("the last day of February is written “last”")
    except ValueError:
        faults.append("month and day are no day of a year")
    return faults
