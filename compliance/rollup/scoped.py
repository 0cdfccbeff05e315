"""Computes which part of the grams is in a category's or duty's scope, and which facts are missing (steps 6 and 7a).

Grams come summed by path and standing (rollup.md). `compliance.rollup.standings` defines what a standing means to a
scope.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import polars as pl

from compliance.rollup.exact import GRAMS
from compliance.rollup.lines import BIT
from compliance.scopes import ASK, IN, Standing

MISSING_SCHEMA: Final = pl.Schema(
    {
        "market": pl.String(),
        "year": pl.Int32(),
        "half": pl.Int8(),
        "sku_code": pl.String(),
        "units": pl.Int64(),
        "category_codes": pl.List(pl.String()),
        "fields": pl.List(pl.String()),
        "archived": pl.Boolean(),
    }
)
STANDING_SCHEMA: Final = pl.Schema(
    {"market": pl.String(), "year": pl.Int32(), "category_code": pl.String(), "standing": pl.String(), "grams": GRAMS}
)
"""Grams of a calendar year by category and `Standing.code`."""
QUESTION_SCHEMA: Final = pl.Schema(
    {
        "market": pl.String(),
        "year": pl.Int32(),
        "half": pl.Int8(),
        "fields": pl.List(pl.String()),
        "grams": GRAMS,
    }
)
"""Undecided grams of a period by the facts that would decide whether their categories are about them."""
_YEAR: Final = 0


def category_grams(grams: pl.DataFrame, judged: pl.DataFrame, known: Sequence[Standing]) -> pl.DataFrame:
    """Return, by period and category: all grams, those of single use, in scope and undecided; the least sure basis.

    `judged` are the `judgements` of the known standings by the scopes of the market's categories.
    """
    single_use = [number for number, standing in enumerate(known) if standing.is_single_use]
    verdict = pl.col("verdict")
    return (
        grams.join(judged.select("standing", "scope_key", "verdict"), on=["standing", "scope_key"], how="inner")
        .group_by("year", "half", "category_code")
        .agg(
            pl.col("basis").max(),
            pl.col("grams").sum(),
            pl.col("grams").filter(pl.col("standing").is_in(single_use)).sum().alias("single_use_grams"),
            pl.col("grams").filter(verdict == IN).sum().alias("in_scope_grams"),
            pl.col("grams").filter(verdict == ASK).sum().alias("undecided_grams"),
        )
    )


def standing_grams(market: str, grams: pl.DataFrame, known: Sequence[Standing]) -> pl.DataFrame:
    """Return grams of the calendar years by category and standing, in rows that are still to be summed."""
    names = {number: standing.code for number, standing in enumerate(known)}
    return grams.filter(pl.col("half") == _YEAR).select(
        pl.lit(market).alias("market"),
        "year",
        "category_code",
        pl.col("standing").replace_strict(names, return_dtype=pl.String),
        "grams",
    )


def question_grams(market: str, grams: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Return the undecided grams of each period by the facts that they lack, in rows that are still to be summed."""
    asked = judged.filter(pl.col("verdict") == ASK).select("standing", "scope_key", "fields")
    return grams.join(asked, on=["standing", "scope_key"], how="inner").select(
        pl.lit(market).alias("market"), *list(QUESTION_SCHEMA)[1:]
    )


def missing_facts(
    market: str, placed: pl.DataFrame, judged: pl.DataFrame, by_code: pl.DataFrame, skus: pl.DataFrame
) -> pl.DataFrame:
    """Return one row per SKU, period and set of fields that would decide (`MISSING_SCHEMA`).

    `placed` has `sku`, `year`, `half`, `units`, `standing` and `held`, the SKU's categories by their bits.
    """
    of_scope = by_code.group_by("scope_key").agg(pl.col("bit").bitwise_or().alias("of_scope"))
    by_fields = (
        judged.filter(pl.col("verdict") == ASK)
        .join(of_scope, on="scope_key", how="inner")
        .group_by("standing", "fields")
        .agg(pl.col("of_scope").bitwise_or())
    )
    if by_fields.is_empty():
        return pl.DataFrame(schema=MISSING_SCHEMA)
    undecided = (
        placed.join(by_fields.select("standing", "fields", "of_scope"), on="standing", how="inner")
        .with_columns((pl.col("held") & pl.col("of_scope")).alias("undecided"))
        .filter(pl.col("undecided") > 0)
    )
    return (
        undecided.join(_codes(undecided["undecided"].unique(), by_code), on="undecided", how="inner")
        .join(skus.select("sku", "sku_code", "archived"), on="sku", how="inner")
        .select(pl.lit(market).alias("market"), *list(MISSING_SCHEMA)[1:])
    )


def _codes(numbers: Iterable[int], by_code: pl.DataFrame) -> pl.DataFrame:
    """Return the category codes whose bits each number has, sorted."""
    bits = by_code.select("category_code", "bit").rows()
    rows = [(number, [code for code, bit in bits if number & bit]) for number in numbers]
    return pl.DataFrame(rows, schema={"undecided": BIT, "category_codes": pl.List(pl.String)}, orient="row")
