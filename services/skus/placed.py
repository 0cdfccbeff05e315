"""Computes what was placed of one SKU, by market and calendar year: by the rollup that every figure comes from.

It reads the SKU's record as a snapshot would, archived or not. A portfolio's figures are `pipelines.figures`.
"""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple
from uuid import UUID

import polars as pl

from compliance.rollup.exact import written_tonnes
from compliance.rollup.parts import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS, Portfolio
from compliance.rollup.tonnes import rollup
from compliance.ruleset import RuleSet
from pipelines.figures import loaded_catalogue
from warehouse.figures.source import Tables, tables
from warehouse.operate.sessions import Connection

_PERIOD: Final = ("market", "year")
_YEAR: Final = 0


class PlacedYear(NamedTuple):
    """Units of a SKU placed on a market in a calendar year, and their tonnes; None where no part of it has a weight.

    `is_whole` says that `tonnes` are all of it: nothing of the SKU is uncounted there.
    """

    market: str
    year: int
    units: int
    tonnes: Decimal | None
    is_whole: bool


def placed_years(conn: Connection, sku_id: UUID, today: date, rules: RuleSet) -> list[PlacedYear]:
    """Return what was placed of a SKU of the session's company, the latest year first; none without units."""
    return [year for found in tables(conn, today, rules, [sku_id]) for year in _years(conn, _portfolio(found), rules)]


def _portfolio(found: Tables) -> Portfolio:
    columns = (SKU_COLUMNS, COMPONENT_COLUMNS, VOLUME_COLUMNS)
    return Portfolio(*(table.select(names.names()) for table, names in zip(found, columns, strict=True)))


def _years(conn: Connection, portfolio: Portfolio, rules: RuleSet) -> Iterator[PlacedYear]:
    if not portfolio.volumes["units_placed"].sum():
        return
    figures = rollup(portfolio, loaded_catalogue(conn).entries, rules)
    units = _sums(portfolio.volumes, "units_placed")
    grams, gaps = _sums(figures.tonnes, "grams"), set(figures.uncounted.select(_PERIOD).rows())
    for period in sorted({period for period in units if units[period]}, key=lambda each: (-each[1], each[0])):
        tonnes = written_tonnes(grams[period]) if period in grams else None
        yield PlacedYear(*period, int(units[period]), tonnes, period not in gaps)


def _sums(rows: pl.DataFrame, column: str) -> dict[tuple[str, int], Decimal]:
    """Sum a column by market and calendar year: of the year's own rows, else of its halves."""
    of_year = pl.col(column).filter(pl.col("half") == _YEAR)
    whole = pl.when(of_year.len() > 0).then(of_year.sum()).otherwise(pl.col(column).sum())
    return {(market, year): value for market, year, value in rows.group_by(_PERIOD).agg(whole).iter_rows()}
