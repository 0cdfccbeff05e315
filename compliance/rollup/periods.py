"""Computes units of a period from volume rows (rollup.md, step 1): a half from its row, a year from its row or halves.

A year comes from its halves where it has no row of its own, from one of them while the other is missing; a year is
never added to its halves. The weight of a unit is not here.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import Jurisdiction

HALF_YEARLY: Final = frozenset({"GB"})
"""The markets whose volumes may be of a half (interface v1, volumes)."""
PERIOD_COLUMNS: Final[Mapping[str, pl.DataType]] = {"market": pl.String(), "year": pl.Int32(), "half": pl.Int8()}
"""A market's period; `half` is 0 for the calendar year."""
HALVES_SCHEMA: Final = pl.Schema(
    {
        "market": pl.String(),
        "year": pl.Int32(),
        "first": pl.Boolean(),
        "second": pl.Boolean(),
        "is_needed": pl.Boolean(),
    }
)
"""Which halves of a half-yearly market's year any SKU has a row of; `is_needed` where the year of a SKU comes from one
half alone, so that the year is not recorded whole."""
_NO_REASON: Final = (pl.lit(None, pl.String).alias("reason"), pl.lit(None, pl.List(pl.String)).alias("fields"))


def market_of(code: str, jurisdictions: Mapping[str, Jurisdiction]) -> str:
    """Return the market that a volume row counts for: the country of a subdivision that the catalogue does not serve.

    The catalogue may have no row for it: its units are listed then, and count in no category.
    """
    market = code.strip().upper().replace("_", "-").replace(" ", "-")
    market = "GB" + market[2:] if market.partition("-")[0] == "UK" else market
    entry = jurisdictions.get(market)
    return market[:2] if "-" in market and (entry is None or not entry.served) else market


def volume_rows(volumes: pl.DataFrame, jurisdictions: Mapping[str, Jurisdiction]) -> pl.DataFrame:
    """Return volume rows (`sku`, `market`, `year`, `half`, `units`) with normalised markets, without null units."""
    placed = volumes.filter(pl.col("units_placed").is_not_null())
    markets = {code: market_of(code, jurisdictions) for code in placed["market"].unique()}
    placed = placed.select(
        "sku",
        pl.col("market").replace_strict(markets, return_dtype=pl.String),
        "year",
        "half",
        pl.col("units_placed").cast(pl.Int64).alias("units"),
    )
    if len(set(markets.values())) < len(markets):
        placed = placed.group_by("sku", "market", "year", "half").agg(pl.col("units").sum())
    return placed


def units_placed(rows: pl.DataFrame, market: str) -> pl.DataFrame:
    """Return a row per SKU, year and period of one market: `sku`, `year`, `half`, `units`, `reason`, `fields`.

    `half` is 0 for the calendar year. `units` are more than 0 where the SKU counts, null where they are unknown, and 0
    only beside a conflict; `reason` is null, `half_missing` (of a year the half that is there counts, of a half
    nothing) or `half_year_conflict` (the year's row counts). A SKU without units in the market has no row.
    """
    if market not in HALF_YEARLY:
        years = rows.filter((pl.col("half") == 0) & (pl.col("units") > 0))
        return years.select("sku", "year", _half(0), "units", *_NO_REASON)
    sums = rows.group_by("sku", "year").agg(
        *(pl.col("units").filter(pl.col("half") == half).first().alias(f"half_{half}") for half in (0, 1, 2))
    )
    return pl.concat([_year(sums), *(_asked_half(sums, half) for half in (1, 2))]).filter(
        (pl.col("units") > 0) | pl.col("reason").is_not_null()
    )


class Halves(NamedTuple):
    """The halves of a year that any SKU of the company has a row of, and the one that is missing (step 7, 4a)."""

    there: tuple[int, ...]
    missing: int | None


def recorded_halves(rows: pl.DataFrame, market: str) -> pl.DataFrame:
    """Return which halves of each year the `volume_rows` of a half-yearly market have (`HALVES_SCHEMA`)."""
    if market not in HALF_YEARLY:
        return pl.DataFrame(schema=HALVES_SCHEMA)
    has_year, first, second = ((pl.col("half") == half).any() for half in (0, 1, 2))
    return combine_halves(
        rows.group_by("sku", "year")
        .agg(first.alias("first"), second.alias("second"), (~has_year & (first ^ second)).alias("is_needed"))
        .select(pl.lit(market).alias("market"), *list(HALVES_SCHEMA)[1:])
    )


def combine_halves(recorded: pl.DataFrame) -> pl.DataFrame:
    """Return the halves of several portfolios' SKUs as those of one company, by market and year."""
    any_sku = recorded.group_by("market", "year").agg(pl.col("first", "second", "is_needed").any())
    return any_sku.select(pl.col(name).cast(dtype) for name, dtype in HALVES_SCHEMA.items()).sort("market", "year")


def halves_of(recorded: pl.DataFrame, market: str, year: int) -> Halves | None:
    """Return the halves of a market's year from `recorded_halves` of a whole company; None for other markets.

    A half is there once any SKU has a row of it, and missing where the other alone is there. A year that is recorded
    whole misses none.
    """
    if market not in HALF_YEARLY:
        return None
    rows = recorded.filter((pl.col("market") == market) & (pl.col("year") == year)).rows(named=True)
    first, second, is_needed = (any(row[name] for row in rows) for name in ("first", "second", "is_needed"))
    there = tuple(half for half, is_there in ((1, first), (2, second)) if is_there)
    missing = 3 - there[0] if is_needed and len(there) == 1 else None
    return Halves(there, missing)


def _year(rows: pl.DataFrame) -> pl.DataFrame:
    year, first, second = pl.col("half_0"), pl.col("half_1"), pl.col("half_2")
    one = pl.coalesce(first, second)
    both = first + second  # null unless both have a value
    conflict = pl.when(both.is_not_null()).then(year != both).otherwise(year < one)
    missing = year.is_null() & both.is_null() & (one != 0)
    halves = pl.coalesce(both, one)
    return rows.select(
        "sku",
        "year",
        _half(0),
        pl.coalesce(year, halves).alias("units"),
        pl.when(conflict).then(pl.lit("half_year_conflict")).when(missing).then(pl.lit("half_missing")).alias("reason"),
        pl.when(conflict)
        .then(pl.concat_list(pl.format("year: {}", year), pl.format("halves: {}", halves)))
        .when(missing)
        .then(_volumes())
        .alias("fields"),
    )


def _asked_half(rows: pl.DataFrame, half: int) -> pl.DataFrame:
    units = pl.col(f"half_{half}")
    missing = units.is_null() & pl.col("half_0").is_not_null()
    return rows.select(
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
