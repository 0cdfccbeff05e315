"""Lists what is due: for each market with tonnes the last period that has ended, and whether a declaration is kept.

The tables have each market's rhythm of reporting, and due days where a source states one
(`compliance.due_days`); of the others only the source of the rhythm is named.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Final, NamedTuple
from uuid import UUID

from compliance.catalogue import Jurisdiction
from compliance.due_days import DueDay, due_days
from compliance.rollup.periods import HALF_YEARLY

HALF_RHYTHM: Final = "half-yearly"
_SECOND_HALF_BEGINS: Final = 7


class Due(NamedTuple):
    """A period of a market; `rhythms` is empty where the tables have none, `kept` the newest declaration of it."""

    market: str
    year: int
    half: int
    rhythms: tuple[str, ...]
    kept: UUID | None
    source_url: str | None
    days: tuple["Day", ...]


class Day(NamedTuple):
    """A day that a source states for a period."""

    on: date
    stated: DueDay


def due(
    entries: Mapping[str, Jurisdiction],
    markets: Iterable[str],
    kept: Mapping[tuple[str, int, int], UUID],
    today: date,
) -> Iterator[Due]:
    """Yield the last period that has ended of each market; of a market with halves the half and the year."""
    for market in markets:
        entry = entries.get(market)
        rhythms = entry.reporting_period if entry else ()
        by_half = tuple(each for each in rhythms if each == HALF_RHYTHM and market in HALF_YEARLY)
        by_year = tuple(each for each in rhythms if each not in by_half)
        source = entry.source_url if entry else None
        if by_half:
            year, half = last_half(today)
            yield Due(market, year, half, by_half, kept.get((market, year, half)), source, _days(market, year, half))
        if by_year or not by_half:
            year = today.year - 1
            yield Due(market, year, 0, by_year, kept.get((market, year, 0)), source, _days(market, year, 0))


def _days(market: str, year: int, half: int) -> tuple[Day, ...]:
    """Return the days for a market's report about a year or its half, the first one first."""
    stated = (each for each in due_days().get(market, ()) if each.half == half)
    return tuple(sorted((Day(each.after(year), each) for each in stated), key=lambda day: day.on))


def last_half(today: date) -> tuple[int, int]:
    """Return the year and number of the last half of a year that has ended."""
    return (today.year, 1) if today.month >= _SECOND_HALF_BEGINS else (today.year - 1, 2)
