"""Sums the figures of each market's latest calendar year, as runs show them, by the names of filings."""

from decimal import Decimal

import polars as pl

from compliance.declarations.document import halves_there
from compliance.declarations.totals import of_latest_years, totals_by_period
from compliance.rollup.exact import written_tonnes
from compliance.rollup.tonnes import Figures
from pipelines.declarations.filing import Filing


def tonnes_by_period(found: Figures, this_year: int) -> dict[str, float]:
    """Return tonnes of each market's latest year with figures, and of its declared halves: GB-2026-H1."""
    return {
        Filing(each["market"], each["year"], each["half"]).name: float(each["tonnes"])
        for each in totals_by_period(of_latest_years(found.tonnes, this_year))
    }


def halves_by_year(found: Figures) -> dict[str, list[int]]:
    """Return the halves that are there, of each calendar year of a half-yearly market: of one half a lower bound."""
    years = found.halves.select("market", "year").iter_rows()
    return {Filing(market, year, 0).name: halves_there(found, market, year, 0) or [] for market, year in years}


def tonnes_of_latest_years(found: Figures, this_year: int) -> float:
    """Sum the latest years of all markets, each year once: halves count only where there is no whole year."""
    latest = of_latest_years(found.tonnes, this_year)
    whole = latest.filter((pl.col("half") == 0).any().over("market") == (pl.col("half") == 0))
    return float(written_tonnes(sum(whole["grams"], Decimal(0))))
