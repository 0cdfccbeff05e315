"""Which part of the grams a category or a duty is about, and what is missing to know it (rollup.md, steps 6 and 7a).

Grams come summed by path and standing. What a standing means to a scope is `compliance.rollup.standings`.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import polars as pl

from compliance.rollup.exact import GRAMS
from compliance.rollup.standings import Standings, judgements
from compliance.scopes import ASK, IN, Standing

MISSING_SCHEMA: Final = pl.Schema({
    "market": pl.String(), "year": pl.Int32(), "half": pl.Int8(), "sku_code": pl.String(), "units": pl.Int64(),
    "category_codes": pl.List(pl.String()), "fields": pl.List(pl.String()),
})  # fmt: skip
STANDING_SCHEMA: Final = pl.Schema({
    "market": pl.String(), "year": pl.Int32(), "category_code": pl.String(), "standing": pl.String(), "grams": GRAMS,
})  # fmt: skip
"""Grams of a calendar year by category and `Standing.code`."""
_YEAR: Final = 0


class Judged(NamedTuple):
    """What the scopes of a market's categories say of the known standings, as `standings.judgements`."""

    by_scope: pl.DataFrame
    known: tuple[Standing, ...]


def judged_in(category_of: pl.DataFrame, standings: Standings) -> Judged:
    """By the scopes of these categories."""
    return Judged(judgements(standings.known, category_of["scope_key"].unique().sort()), standings.known)


def category_grams(grams: pl.DataFrame, judged: Judged) -> pl.DataFrame:
    """By period and category: all grams, those of single use, those in scope and undecided; the least sure basis."""
    single_use = [number for number, standing in enumerate(judged.known) if standing.is_single_use]
    verdict = pl.col("verdict")
    return (
        grams.join(judged.by_scope, on=["standing", "scope_key"], how="inner")
        .group_by("year", "half", "category_code")
        .agg(
            pl.col("basis").max(),
            pl.col("grams").sum(),
            pl.col("grams").filter(pl.col("standing").is_in(single_use)).sum().alias("single_use_grams"),
            pl.col("grams").filter(verdict == IN).sum().alias("in_scope_grams"),
            pl.col("grams").filter(verdict == ASK).sum().alias("undecided_grams"),
        )
    )


def standing_grams(market: str, grams: pl.DataFrame, judged: Judged) -> pl.DataFrame:
    """Grams of the calendar years by category and standing."""
    codes = pl.DataFrame({
        "standing": pl.Series(range(len(judged.known)), dtype=grams.schema["standing"]),
        "code": pl.Series([standing.code for standing in judged.known], dtype=pl.String),
    })  # fmt: skip
    return (
        grams.filter(pl.col("half") == _YEAR)
        .group_by("year", "category_code", "standing")
        .agg(pl.col("grams").sum())
        .join(codes, on="standing", how="inner")
        .select(pl.lit(market).alias("market"), "year", "category_code", pl.col("code").alias("standing"), "grams")
    )


def missing(
    market: str, counting: pl.DataFrame, judged: Judged, bits: pl.DataFrame, skus: pl.DataFrame
) -> pl.DataFrame:
    """One row per SKU, period and set of fields that would decide (`MISSING_SCHEMA`).

    `counting` has `sku`, `year`, `half`, `units`, `standing` and `held`, the SKU's categories by their bits.
    """
    asks = judged.by_scope.filter(pl.col("verdict") == ASK).select("standing", "scope_key", "fields")
    if asks.is_empty():
        return pl.DataFrame(schema=MISSING_SCHEMA)
    of_scope = bits.group_by("scope_key").agg(pl.col("bit").bitwise_or().alias("of_scope"))
    by_fields = (
        asks.join(of_scope, on="scope_key", how="inner")
        .group_by("standing", "fields")
        .agg(pl.col("of_scope").bitwise_or())
    )
    open_there = (
        counting.join(by_fields, on="standing", how="inner")
        .with_columns((pl.col("held") & pl.col("of_scope")).alias("open"))
        .filter(pl.col("open") > 0)
    )
    return (
        open_there.join(_codes(open_there["open"].unique(), bits), on="open", how="inner")
        .join(skus.select("sku", "sku_code"), on="sku", how="inner")
        .select(pl.lit(market).alias("market"), *list(MISSING_SCHEMA)[1:])
    )


def _codes(numbers: Iterable[int], bits: pl.DataFrame) -> pl.DataFrame:
    """The category codes that each number holds the bits of, sorted."""
    rows = [(number, [code for code, bit in bits.select("category_code", "bit").iter_rows() if number & bit])
            for number in numbers]  # fmt: skip
    return pl.DataFrame(rows, schema={"open": pl.UInt64, "category_codes": pl.List(pl.String)}, orient="row")
