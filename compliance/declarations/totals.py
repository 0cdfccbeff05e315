"""Sums the tonnes of whole periods: all scheme categories of one market in a year or a half.

A total is rounded from the exact sum, never summed from rounded rows (rollup.md, step 6). The overview, the pages, the
assistants' tools and Dagster's runs show these totals; a declaration's own is the same sum (`document.totals`).
"""

from collections.abc import Collection, Iterator
from typing import Final

import polars as pl

from compliance.declarations.document import ScopedTonnes, scoped_tonnes

_PERIOD: Final = ("market", "year", "half")
_GRAMS: Final = ("grams", "in_scope_grams", "undecided_grams")


class PeriodTonnes(ScopedTonnes):
    """The tonnes of one market in a period; `half` is 0 for the calendar year."""

    market: str
    year: int
    half: int


def totals_by_period(tonnes: pl.DataFrame) -> list[PeriodTonnes]:
    """Return the total of each period that has figures (`compliance.rollup.tonnes`), by market, year and half."""
    summed = tonnes.group_by(_PERIOD).agg(pl.col(_GRAMS).sum()).sort(_PERIOD)
    return [
        {"market": row["market"], "year": row["year"], "half": row["half"], **scoped_tonnes(row)}
        for row in summed.iter_rows(named=True)
    ]


def latest_year(years: Collection[int], this_year: int) -> int | None:
    """Return the latest of the years that is not ahead, else the first that is; None of none."""
    return max((year for year in years if year <= this_year), default=min(years, default=None))


def of_latest_years(tonnes: pl.DataFrame, this_year: int) -> pl.DataFrame:
    """Return the figures of each market's latest year and its halves."""
    return pl.concat([tonnes.clear(), *_latest_of_each(tonnes, this_year)])


def _latest_of_each(tonnes: pl.DataFrame, this_year: int) -> Iterator[pl.DataFrame]:
    for market in sorted(set(tonnes["market"])):
        of_market = tonnes.filter(pl.col("market") == market)
        yield of_market.filter(pl.col("year") == latest_year(set(of_market["year"]), this_year))
