"""Computes units of a period from volume rows (rollup.md, step 1): a half from its row, a year from its row or halves.

A year comes from both halves where it has no row of its own; a year is never added to its halves. The weight of a unit
is not here.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from compliance.catalogue import Jurisdiction

HALF_YEARLY: Final = frozenset({"GB"})
"""The markets whose volumes may be of a half (interface v1, volumes)."""
_NO_REASON: Final = (pl.lit(None, pl.String).alias("reason"), pl.lit(None, pl.List(pl.String)).alias("fields"))


def market_of(code: str, jurisdictions: Mapping[str, Jurisdiction]) -> str:
    """Return the market that a volume row counts for: the country of a subdivision that the catalogue does not serve.

    Raise `ValueError` where the catalogue has no row for the market.
    """
    market = code.strip().upper().replace("_", "-").replace(" ", "-")
    market = "GB" + market[2:] if market.partition("-")[0] == "UK" else market
    entry = jurisdictions.get(market)
    if "-" in market and (entry is None or not entry.served):
        market = market[:2]
    if market not in jurisdictions:
        raise ValueError(f"The catalogue has no row for the market {code}; load one that has, or clear its volumes.")
    return market


def volume_rows(volumes: pl.DataFrame, jurisdictions: Mapping[str, Jurisdiction]) -> pl.DataFrame:
    """Return volume rows (`sku`, `market`, `year`, `half`, `units`) with normalised markets, without null units."""
    found = volumes.filter(pl.col("units_placed").is_not_null())
    markets = {code: market_of(code, jurisdictions) for code in found["market"].unique()}
    found = found.select(
        "sku",
        pl.col("market").replace_strict(markets, return_dtype=pl.String),
        "year",
        "half",
        pl.col("units_placed").cast(pl.Int64).alias("units"),
    )
    if len(set(markets.values())) < len(markets):
        found = found.group_by("sku", "market", "year", "half").agg(pl.col("units").sum())
    return found


def units_placed(rows: pl.DataFrame, market: str) -> pl.DataFrame:
    """Return a row per SKU, year and period of one market: `sku`, `year`, `half`, `units`, `reason`, `fields`.

    `half` is 0 for the calendar year. `units` are more than 0 where the SKU counts, null where they are unknown, and 0
    only beside a conflict; `reason` is null, `half_missing` (nothing counts) or `half_year_conflict` (the year's row
    counts). A SKU without units in the market has no row.
    """
    if market not in HALF_YEARLY:
        years = rows.filter((pl.col("half") == 0) & (pl.col("units") > 0))
        return years.select("sku", "year", _half(0), "units", *_NO_REASON)
    each = rows.group_by("sku", "year").agg(
        *(pl.col("units").filter(pl.col("half") == half).first().alias(f"half_{half}") for half in (0, 1, 2))
    )
    return pl.concat([_year(each), *(_asked_half(each, half) for half in (1, 2))]).filter(
        (pl.col("units") > 0) | pl.col("reason").is_not_null()
    )


def _year(each: pl.DataFrame) -> pl.DataFrame:
    year, first, second = pl.col("half_0"), pl.col("half_1"), pl.col("half_2")
    one = pl.coalesce(first, second)
    both = first + second  # null unless both have a value
    conflict = pl.when(both.is_not_null()).then(year != both).otherwise(year < one)
    missing = year.is_null() & both.is_null() & (one != 0)
    halves = pl.coalesce(both, one)
    return each.select(
        "sku",
        "year",
        _half(0),
        pl.coalesce(year, both).alias("units"),
        pl.when(conflict).then(pl.lit("half_year_conflict")).when(missing).then(pl.lit("half_missing")).alias("reason"),
        pl.when(conflict)
        .then(pl.concat_list(pl.format("year: {}", year), pl.format("halves: {}", halves)))
        .when(missing)
        .then(_volumes())
        .alias("fields"),
    )


def _asked_half(each: pl.DataFrame, half: int) -> pl.DataFrame:
    units = pl.col(f"half_{half}")
    missing = units.is_null() & pl.col("half_0").is_not_null()
    return each.select(
        "sku",
        "year",
        _half(half),
        units.alias("units"),
        pl.when(missing).then(pl.lit("half_missing")).alias("reason"),
        pl.when(missing).then(_volumes()).alias("fields"),
    )


def _half(half: int) -> pl.Expr:
    return pl.lit(half, pl.Int8).alias("half")


def _volumes() -> pl.Expr:
    return pl.concat_list(pl.lit("volumes"))
