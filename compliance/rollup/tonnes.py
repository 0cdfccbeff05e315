"""Figures: tonnes by market, year, half and category, and what could not be counted (rollup.md, step 6).

Figures add up over SKUs: a large portfolio is rolled up in blocks of SKUs, whose figures `combined` adds, so that
memory follows the block. Within a block markets are worked out one after the other, each over the SKUs that have
units there. Figures stay exact here; `compliance.rollup.exact` rounds them when written.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.material_path import material_paths
from compliance.rollup.categories import BASES, category
from compliance.rollup.composites import LINE_COLUMNS, bodies, body_lines, unit_lines, with_riders
from compliance.rollup.exact import COUNT, GRAMS, times_units, within_reach
from compliance.rollup.parts import PATH, Parts, composed, field_of, parts_of
from compliance.rollup.periods import held, placed
from compliance.rollup.portfolio import Portfolio
from compliance.ruleset import RuleSet

BASIS: Final = pl.Enum(BASES)
TONNES_SCHEMA: Final = pl.Schema({
    "market": pl.String(), "year": pl.Int32(), "half": pl.Int8(), "category_code": pl.String(),
    "category_name": pl.String(), "basis": BASIS, "grams": GRAMS, "single_use_grams": GRAMS, "units": COUNT,
    "skus": pl.UInt32(),
})  # fmt: skip
UNCOUNTED_SCHEMA: Final = pl.Schema({
    "market": pl.String(), "year": pl.Int32(), "half": pl.Int8(), "sku_code": pl.String(), "units": pl.Int64(),
    "reason": pl.String(), "fields": pl.List(pl.String()),
})  # fmt: skip


class Figures(NamedTuple):
    """Both frames are sorted by market, year, half, then by category code, or by SKU code and reason.

    `tonnes` has `TONNES_SCHEMA`: exact grams, those of them of SKUs that are not reusable, units and SKUs once per
    category, the least sure basis. `uncounted` has `UNCOUNTED_SCHEMA`: one row per SKU and reason; units are null
    where they are not known; `fields` are the facts to give, in the order of the parts.
    """

    tonnes: pl.DataFrame
    uncounted: pl.DataFrame


class Prepared(NamedTuple):
    """A portfolio as its markets are worked out from: numbered SKUs, held volumes, parts and materials of bodies."""

    skus: pl.DataFrame
    volumes: pl.DataFrame
    parts: Parts
    materials: pl.DataFrame
    jurisdictions: Mapping[str, Jurisdiction]


class MarketLines(NamedTuple):
    """What of one market counts, and what does not.

    `lines` are `LINE_COLUMNS` of one unit with `category_code`, `category_name` and `basis`, a rider's weight as a row
    of its own; `counting` has `sku`, `year`, `half`, `units` (more than 0); `uncounted` has `UNCOUNTED_SCHEMA`.
    """

    lines: pl.DataFrame
    counting: pl.DataFrame
    uncounted: pl.DataFrame


def rollup(portfolio: Portfolio, jurisdictions: Iterable[Jurisdiction], rules: RuleSet) -> Figures:
    """The figures of every market, year and half that the volumes hold; half 0 is the calendar year.

    Raises `ValueError` for a market without a row in the catalogue, `OverflowError` beyond 10^14 tonnes, and what
    Polars raises for a part of 10^15 g or more.
    """
    ready = prepared(portfolio, jurisdictions, rules)
    return combined(_figures(market, ready) for market in ready.volumes["market"].unique().sort())


def prepared(portfolio: Portfolio, jurisdictions: Iterable[Jurisdiction], rules: RuleSet) -> Prepared:
    """What does not depend on the market, worked out once. Raises as `rollup`."""
    by_code = {entry.code: entry for entry in jurisdictions}
    skus = portfolio.skus.sort("sku_code").with_row_index("sku")
    numbered = portfolio.volumes.join(skus.select("sku_code", "sku"), on="sku_code", how="inner")
    volumes = held(numbered, by_code)
    parts = parts_of(portfolio, skus, rules)
    return Prepared(skus, volumes, parts, bodies(composed(parts.layers, rules)), by_code)


def market_lines(market: str, ready: Prepared) -> MarketLines:
    """One market's lines of all its years and halves."""
    periods = placed(ready.volumes.filter(pl.col("market") == market), market)
    counting = periods.filter(pl.col("units") > 0).drop("reason", "fields")
    there = counting.select("sku").unique()
    here = Parts(*(frame.join(there, on="sku", how="semi") for frame in ready.parts))
    materials = ready.materials.join(there, on="sku", how="semi")
    lines, unspecified = category_lines(here, materials, ready.jurisdictions[market])
    listed = _listed(pl.concat([here.gaps, unspecified]), periods)
    named = listed.join(ready.skus.select("sku", "sku_code"), on="sku", how="inner")
    return MarketLines(lines, counting, named.select(pl.lit(market).alias("market"), *list(UNCOUNTED_SCHEMA)[1:]))


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


def category_lines(
    parts: Parts, materials: pl.DataFrame, jurisdiction: Jurisdiction
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The lines of a market with `category_code` and `basis`, riders added; and the gaps of those without category."""
    lines = pl.concat([body_lines(materials, jurisdiction), unit_lines(parts.units)]).select(LINE_COLUMNS)
    lines = lines.join(_categories(jurisdiction), on="path", how="left")
    counted = with_riders(lines.filter(pl.col("category_code").is_not_null()), parts.riders)
    return counted, _unspecified(lines.filter(pl.col("category_code").is_null()), parts.own)


def _figures(market: str, ready: Prepared) -> Figures:
    lines, counting, uncounted = market_lines(market, ready)
    return Figures(_tonnes(lines, counting, ready.skus, ready.jurisdictions[market]), uncounted)


def _tonnes(
    lines: pl.DataFrame, counting: pl.DataFrame, skus: pl.DataFrame, jurisdiction: Jurisdiction
) -> pl.DataFrame:
    of_one_unit = lines.group_by("sku", "category_code").agg(pl.col("grams").sum(), pl.col("basis").max())
    each = (
        counting.select("sku", "year", "half", "units")
        .join(skus.select("sku", "reusable"), on="sku", how="inner")
        .join(of_one_unit, on="sku", how="inner")
        .with_columns(times_units("grams"), pl.col("units").cast(COUNT))
    )
    within_reach(each["grams"])
    summed = each.group_by("year", "half", "category_code").agg(
        pl.col("basis").max(),
        pl.col("grams", "units").sum(),
        pl.col("grams").filter(pl.col("reusable").ne_missing(pl.lit(value=True))).sum().alias("single_use_grams"),
        pl.len().alias("skus"),
    )
    names = _categories(jurisdiction).sort("basis").unique("category_code", keep="first", maintain_order=True)
    return (
        summed.join(names.select("category_code", "category_name"), on="category_code", how="inner")
        .with_columns(pl.lit(jurisdiction.code).alias("market"))
        .select(pl.col(name).cast(dtype) for name, dtype in TONNES_SCHEMA.items())
    )


def _categories(jurisdiction: Jurisdiction) -> pl.DataFrame:
    """The category of every path that has one in the jurisdiction; the code as an enumeration, to group by."""
    found = [(path, each) for path in material_paths() if (each := category(path, jurisdiction))]
    codes = pl.Enum(sorted({each.code for _, each in found}))
    return pl.DataFrame(
        {
            "path": [path for path, _ in found],
            "category_code": [each.code for _, each in found],
            "category_name": [each.name for _, each in found],
            "basis": [each.basis for _, each in found],
        },
        schema={"path": PATH, "category_code": codes, "category_name": pl.String, "basis": BASIS},
    )


def _unspecified(lines: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    """The facts that would give these lines a category: those that their path's row names."""
    missing = pl.DataFrame(
        [(path, name) for path, row in material_paths().items() for name in row.fields_missing],
        schema={"path": PATH, "name": pl.String},
        orient="row",
    )
    named = lines.join(missing, on="path", how="inner").join(
        own.with_columns(pl.lit(value=True).alias("is_own")), on="sku", how="left"
    )
    return named.with_columns(pl.col("is_own").fill_null(value=False), pl.col("line").alias("position")).select(
        "sku",
        pl.lit("material_unspecified").alias("reason"),
        "position",
        pl.when(pl.col("name") == "packaging_format")
        .then(pl.col("name"))
        .otherwise(field_of("polymer_or_grade", "material_subtype"))
        .alias("field"),
    )


def _listed(gaps: pl.DataFrame, periods: pl.DataFrame) -> pl.DataFrame:
    """One row per SKU, period and reason: gaps of what was placed, and what is wrong with the periods themselves."""
    by_reason = (
        gaps.sort("sku", "reason", "position", "field")
        .group_by("sku", "reason", maintain_order=True)
        .agg(pl.col("field").unique(maintain_order=True).alias("fields"))
    )
    counting = periods.filter(pl.col("units") > 0).drop("reason", "fields")
    columns = ["sku", "year", "half", "units", "reason", "fields"]
    return pl.concat(
        [
            counting.join(by_reason, on="sku", how="inner").select(columns),
            periods.filter(pl.col("reason").is_not_null()).select(columns),
        ]
    )
