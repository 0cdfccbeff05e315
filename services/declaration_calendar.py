"""Lists what is due: the periods of each market that are overdue, open, kept, and what comes next.

The tables have each market's rhythm of reporting, and due days where a source states one
(`compliance.due_days`); of the others only the source of the rhythm is named.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date
from typing import Final, Literal, NamedTuple
from uuid import UUID

from compliance.catalogue import Jurisdiction
from compliance.due_days import DueDay, due_days
from compliance.rollup.periods import HALF_YEARLY

HALF_RHYTHM: Final = "half-yearly"
_SECOND_HALF_BEGINS: Final = 7

State = Literal["overdue", "open", "coming", "kept"]
"""Overdue where each day that a source states has passed; open where the period has ended, coming where it has not."""
_ORDER: Final[tuple[State, ...]] = ("overdue", "open", "coming", "kept")


class Due(NamedTuple):
    """A period of a market; `rhythms` is empty where the tables have none, `kept` the newest declaration of it."""

    market: str
    year: int
    half: int
    rhythms: tuple[str, ...]
    kept: UUID | None
    source_url: str | None
    days: tuple["Day", ...]
    state: State


class Day(NamedTuple):
    """A day that a source states for a period."""

    on: date
    stated: DueDay

    def has_passed(self, today: date) -> bool:
        """Return whether the duty is late on a day."""
        return self.on < today or (self.on == today and self.stated.bound == "before")


def due(
    entries: Mapping[str, Jurisdiction],
    placed: Iterable[tuple[str, int]],
    kept: Mapping[tuple[str, int, int], UUID],
    today: date,
) -> list[Due]:
    """Return what is due of the markets and years with tonnes (`placed`): overdue first, each by its first day.

    Of periods with a kept declaration only the last one is listed, of those that have not ended the running one.
    """
    years: dict[str, set[int]] = {}
    for market, year in placed:
        years.setdefault(market, set()).add(year)
    found = [
        row
        for market, of_market in years.items()
        for row in _of_market(entries.get(market), market, of_market, kept, today)
    ]
    return sorted(found, key=lambda row: (_ORDER.index(row.state), _first_day(row), row.market, -row.year, -row.half))


def _of_market(
    entry: Jurisdiction | None,
    market: str,
    years: Collection[int],
    kept: Mapping[tuple[str, int, int], UUID],
    today: date,
) -> Iterator[Due]:
    rhythms = entry.reporting_period if entry else ()
    by_half = tuple(each for each in rhythms if each == HALF_RHYTHM and market in HALF_YEARLY)
    by_year = tuple(each for each in rhythms if each not in by_half)
    source = entry.source_url if entry else None
    for halves, of_rhythm in (((1, 2), by_half), ((0,), by_year)):
        if not of_rhythm and (halves == (1, 2) or by_half):
            continue
        periods = [(year, half) for year in _reported(years, today) for half in halves]
        last_kept = max((each for each in periods if (market, *each) in kept), default=None)
        running = next((each for each in sorted(periods) if not _has_ended(*each, today)), None)
        for year, half in periods:
            declaration, days = kept.get((market, year, half)), _days(market, year, half)
            state: State = "open"
            if declaration is not None:
                state = "kept"
            elif not _has_ended(year, half, today):
                state = "coming"
            elif days and all(day.has_passed(today) for day in days):
                state = "overdue"
            if (state == "kept" and (year, half) != last_kept) or (state == "coming" and (year, half) != running):
                continue
            yield Due(market, year, half, of_rhythm, declaration, source, days, state)


def _reported(years: Collection[int], today: date) -> list[int]:
    """Return the years with tonnes, and this year where there were some last year: its report comes."""
    comes = {today.year} if today.year - 1 in years else set()
    return sorted({year for year in years if year <= today.year} | comes)


def _has_ended(year: int, half: int, today: date) -> bool:
    """Return whether a year, or its half, is over."""
    return year < today.year or (half == 1 and year == today.year and today.month >= _SECOND_HALF_BEGINS)


def _first_day(row: Due) -> date:
    return row.days[0].on if row.days else date.max


def _days(market: str, year: int, half: int) -> tuple[Day, ...]:
    """Return the days for a market's report about a year or its half, the first one first."""
    stated = (each for each in due_days().get(market, ()) if each.half == half)
    return tuple(sorted((Day(each.after(year), each) for each in stated), key=lambda day: day.on))
