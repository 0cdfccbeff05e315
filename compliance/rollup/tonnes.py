"""Figures: tonnes by market, year, half and category, and what could not be counted (rollup.md, step 6).

Figures add up over SKUs: a large portfolio is rolled up in blocks of SKUs, whose figures `combined` adds, so that
memory follows the block. Figures stay exact here; `compliance.rollup.exact` rounds them when written.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.rollup.exact import COUNT, GRAMS, times_units, within_reach
from compliance.rollup.lines import BASIS, UNCOUNTED_SCHEMA, Prepared, categories, lines_of, prepared
from compliance.rollup.portfolio import Portfolio
from compliance.ruleset import RuleSet

TONNES_SCHEMA: Final = pl.Schema({
    "market": pl.String(), "year": pl.Int32(), "half": pl.Int8(), "category_code": pl.String(),
    "category_name": pl.String(), "basis": BASIS, "grams": GRAMS, "single_use_grams": GRAMS, "units": COUNT,
    "skus": pl.UInt32(),
})  # fmt: skip
_PERIOD: Final = ("year", "half")


class Figures(NamedTuple):
    """Both frames are sorted by market, year, half, then by category code, or by SKU code and reason.

    `tonnes` has `TONNES_SCHEMA`: exact grams, those of them of SKUs that are not reusable, units and SKUs once per
    category, the least sure basis. `uncounted` has `UNCOUNTED_SCHEMA`: one row per SKU and reason; units are null
    where they are not known; `fields` are the facts to give, in the order of the parts.
    """

    tonnes: pl.DataFrame
    uncounted: pl.DataFrame


def rollup(portfolio: Portfolio, jurisdictions: Iterable[Jurisdiction], rules: RuleSet) -> Figures:
    """The figures of every market, year and half that the volumes hold; half 0 is the calendar year.

    Raises `ValueError` for a market without a row in the catalogue, `OverflowError` beyond 10^14 tonnes.
    """
    ready = prepared(portfolio, jurisdictions, rules)
    return combined(_figures(market, ready) for market in ready.volumes["market"].unique().sort())


def combined(blocks: Iterable[Figures]) -> Figures:
    """The figures of several blocks, no SKU of which is in two of them for one market.

    Raises `OverflowError` beyond 10^14 tonnes.
    """
    every = list(blocks)
    key = ("market", "year", "half", "category_code", "category_name")
    tonnes = pl.concat([pl.DataFrame(schema=TONNES_SCHEMA), *(each.tonnes for each in every)])
    within_reach(tonnes["grams"])
    uncounted = pl.concat([pl.DataFrame(schema=UNCOUNTED_SCHEMA), *(each.uncounted for each in every)])
    return Figures(
        tonnes=tonnes.group_by(key)
        .agg(pl.col("basis").max(), pl.col("grams", "single_use_grams", "units", "skus").sum())
        .select(pl.col(name).cast(dtype) for name, dtype in TONNES_SCHEMA.items())
        .sort("market", "year", "half", "category_code"),
        uncounted=uncounted.sort("market", "year", "half", "sku_code", "reason"),
    )


def _figures(market: str, ready: Prepared) -> Figures:
    lines, counting, uncounted = lines_of(market, ready)
    category_of = categories(ready.jurisdictions[market])
    grams = _grams(lines, counting.join(ready.skus.select("sku", "reusable"), on="sku", how="inner"), category_of)
    found = grams.join(_units(lines, counting, category_of), on=[*_PERIOD, "category_code"], how="inner")
    return Figures(
        found.with_columns(pl.lit(market).alias("market")).select(
            pl.col(name).cast(dtype) for name, dtype in TONNES_SCHEMA.items()
        ),
        uncounted,
    )


def _grams(lines: pl.DataFrame, counting: pl.DataFrame, category_of: pl.DataFrame) -> pl.DataFrame:
    """Grams by category with its basis, the least sure that occurs, and the name that the surest row gives it.

    They are summed by path first, which is one row per line and period; a path has one category.
    """
    single_use = pl.col("grams").filter(pl.col("reusable").ne_missing(pl.lit(value=True)))
    by_path = (
        counting.lazy()
        .join(lines.lazy().select("sku", "path", "grams"), on="sku", how="inner")
        .with_columns(times_units("grams"))
        .group_by(*_PERIOD, "path")
        .agg(pl.col("grams").sum(), single_use.sum().alias("single_use_grams"))
        .collect()
    )
    names = category_of.sort("basis").unique("category_code", keep="first", maintain_order=True)
    return (
        by_path.join(category_of.drop("category_name"), on="path", how="inner")
        .group_by(*_PERIOD, "category_code")
        .agg(pl.col("basis").max(), pl.col("grams", "single_use_grams").sum())
        .join(names.select("category_code", "category_name"), on="category_code", how="inner")
    )


def _units(lines: pl.DataFrame, counting: pl.DataFrame, category_of: pl.DataFrame) -> pl.DataFrame:
    """Units and SKUs by category, a SKU once in each however many of its lines fall into it.

    A SKU's categories are the bits of one number, so that what is grouped is a row per SKU and period.
    """
    codes = category_of["category_code"].unique().sort()
    bits = pl.DataFrame(
        {"category_code": codes, "bit": pl.Series([1 << n for n in range(len(codes))], dtype=pl.UInt64)}
    )
    bit_of = category_of.join(bits, on="category_code", how="inner").select("path", pl.col("bit").alias("held"))
    of_sku = lines.lazy().join(bit_of.lazy(), on="path", how="inner").group_by("sku").agg(pl.col("held").bitwise_or())
    by_bits = (
        counting.lazy()
        .join(of_sku, on="sku", how="inner")
        .group_by(*_PERIOD, "held")
        .agg(pl.col("units").cast(COUNT).sum(), pl.len().alias("skus"))
        .collect()
    )
    return (
        by_bits.join(bits, how="cross")
        .filter(pl.col("held") & pl.col("bit") > 0)
        .group_by(*_PERIOD, "category_code")
        .agg(pl.col("units", "skus").sum())
    )
