"""Reads one market's figures of its latest calendar year: tonnes by category, obligations, and undecided tonnes.

They are the company's stored figures (`warehouse.figures`), with an `as_of` of their own. `readiness` decides which of
its SKUs may be sold there.
"""

from decimal import Decimal
from typing import Final, NamedTuple

import polars as pl

from compliance import coverage
from compliance.declarations.totals import latest_year
from schemas.json_values import JsonObject
from warehouse.figures import StoredFigures

_CATEGORY: Final = (
    "category_code",
    "category_name",
    "basis",
    "tonnes",
    "in_scope_tonnes",
    "undecided_tonnes",
    "out_of_scope_tonnes",
    "units",
    "skus",
    "scope_key",
    "confidence",
)
_WORST: Final = 10
"""The most SKUs with a missing fact that are listed, by units."""
_SKUS: Final = pl.col("sku_code").n_unique()
"""How many items some rows are about: one may have several rows."""
_YEAR: Final = 0


class Placed(NamedTuple):
    """One market and period: tonnes by category, every SKU that is not counted with its reason, and verdicts.

    `grams` are the exact ones of each category, from which sums of several are rounded.
    `halves` are those that are there, of a half-yearly market's calendar year, else None.
    """

    year: int
    halves: list[int] | None
    periods: list[tuple[int, int]]
    tonnes: list[JsonObject]
    grams: dict[str, Decimal]
    uncounted: list[JsonObject]
    scope_missing: int
    obligations: list[JsonObject]


def covered_packaging(market: str) -> dict[str, object] | None:
    """Return the packaging that the market's duties cover; None where the tables do not have the market."""
    found = coverage.coverages().get(market)
    return found.as_dict() if found else None


def figures_in(figures: StoredFigures, market: str, this_year: int) -> dict[str, object] | None:
    """Return the market's figures of its `latest_year`; None where nothing is counted or listed.

    Tonnes are as they were written, to six places.
    """
    here = (pl.col("market") == market) & (pl.col("half") == _YEAR)
    tonnes, listed = (pl.read_parquet(path).filter(here) for path in (figures.tonnes, figures.uncounted))
    year = latest_year({*tonnes["year"], *listed["year"]}, this_year)
    if year is None:
        return None
    of_year = here & (pl.col("year") == year)
    missing = pl.scan_parquet(figures.scope_missing).filter(of_year)
    worst = missing.sort("units", "sku_code", descending=[True, False]).head(_WORST).collect()
    uncounted = listed.filter(of_year)
    verdicts = pl.read_parquet(figures.obligations).filter((pl.col("market") == market) & (pl.col("year") == year))
    return {
        "as_of": figures.origin.as_of.isoformat().replace("+00:00", "Z"),
        "ruleset_version": figures.origin.ruleset_version,
        "year": year,
        "halves": _halves(tonnes.filter(of_year), uncounted),
        "tonnes": _plain(tonnes.filter(of_year).select(_CATEGORY)),
        "uncounted": uncounted.height,
        "scope_missing": missing.select(_SKUS).collect().item(),
        "scope_missing_first": _plain(worst.select("sku_code", "units", "category_codes", "fields", "archived")),
        "obligations": _plain(verdicts.drop("market", "year", "halves")),
    }


def placed_in(figures: StoredFigures, market: str, year: int | None, half: int, this_year: int) -> Placed:
    """Return what is counted, and not counted, of one market in a year or a half of it; tonnes to six places.

    Without a year it is the latest that is not ahead. `periods` are all that have a figure. A market that is held by
    the year has no half: the caller asks for half 0 then.
    """
    here = pl.col("market") == market
    tonnes = pl.read_parquet(figures.tonnes).filter(here)
    uncounted = pl.read_parquet(figures.uncounted).filter(here)
    periods = sorted({*tonnes.select("year", "half").rows(), *uncounted.select("year", "half").rows()})
    if year is None:
        year = latest_year({each for each, _ in periods}, this_year) or this_year
    of_period = (pl.col("year") == year) & (pl.col("half") == half)
    left_out = uncounted.filter(of_period).sort("units", "sku_code", descending=[True, False], nulls_last=True)
    verdicts = pl.read_parquet(figures.obligations).filter(here & (pl.col("year") == year))
    missing = pl.scan_parquet(figures.scope_missing).filter(here & of_period).select(_SKUS).collect().item()
    of_year = (pl.col("year") == year) & (pl.col("half") == _YEAR)
    return Placed(
        year,
        _halves(tonnes.filter(of_year), uncounted.filter(of_year)) if half == _YEAR else None,
        periods,
        _plain(tonnes.filter(of_period).select(_CATEGORY)),
        dict(tonnes.filter(of_period).select("category_code", "grams").rows()),
        _plain(left_out.select("sku_code", "units", "reason", "fields", "archived")),
        missing,
        _plain(verdicts.drop("market", "year", "halves")),
    )


def _halves(tonnes: pl.DataFrame, uncounted: pl.DataFrame) -> list[int] | None:
    """Return the halves that the rows of one market's year name; None where they name none, or there are no rows."""
    rows = pl.concat([frame.select("halves") for frame in (tonnes, uncounted)])
    return rows.row(0)[0] if rows.height else None


def _plain(frame: pl.DataFrame) -> list[dict[str, object]]:
    """Return rows for an answer: decimals as numbers."""
    decimals = [name for name, dtype in frame.schema.items() if dtype.base_type() == pl.Decimal]
    return frame.with_columns(pl.col(decimals).cast(pl.Float64)).to_dicts()
