"""Makes the lines that count in each market, and lists what is not counted (steps 1 to 5).

Markets are computed one after the other, each over the SKUs with units there. `compliance.rollup.tonnes` adds up the
tonnes of lines.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.material_path import material_paths
from compliance.rollup.categories import BASES, category
from compliance.rollup.composites import (
    LINE_COLUMNS,
    judged_lines,
    plain_and_judged,
    with_riders,
)
from compliance.rollup.exact import beyond_reach
from compliance.rollup.parts import PATH, Parts, field_of, parts_of
from compliance.rollup.periods import units_placed, volume_rows
from compliance.rollup.portfolio import Portfolio
from compliance.rollup.standings import Standings, standings
from compliance.ruleset import RuleSet

BASIS: Final = pl.Enum(BASES)
UNCOUNTED_SCHEMA: Final = pl.Schema(
    {
        "market": pl.String(),
        "year": pl.Int32(),
        "half": pl.Int8(),
        "sku_code": pl.String(),
        "units": pl.Int64(),
        "reason": pl.String(),
        "fields": pl.List(pl.String()),
        "archived": pl.Boolean(),
    }
)
_CATEGORY_SCHEMA: Final = pl.Schema(
    {
        "path": PATH,
        "category_code": pl.String(),
        "category_name": pl.String(),
        "basis": BASIS,
        "scope_key": pl.String(),
        "confidence": pl.String(),
    }
)
BIT: Final = pl.UInt64()
"""The bit of one category of a jurisdiction: the categories of a SKU are one number."""


class Prepared(NamedTuple):
    """The prepared portfolio from which each market is computed: SKUs, normalised volumes, parts.

    A SKU's number is its row in `skus`, so that its facts are gathered by index: a join costs five times as much.
    `lines` are those that are the same in every market, `materials` those of the units that each market judges,
    `standings` the SKUs' answers to the facts that decide a scope.
    """

    skus: pl.DataFrame
    volumes: pl.DataFrame
    parts: Parts
    lines: pl.DataFrame
    materials: pl.DataFrame
    standings: Standings
    jurisdictions: Mapping[str, Jurisdiction]


class MarketLines(NamedTuple):
    """The lines of one market that count, and what does not count.

    `lines` are `LINE_COLUMNS` of one unit, a rider's weight as a row of its own; `counting` has `sku`, `year`, `half`,
    `units` (more than 0); `uncounted` has `UNCOUNTED_SCHEMA`.
    """

    lines: pl.DataFrame
    counting: pl.DataFrame
    uncounted: pl.DataFrame


def prepare_lines(portfolio: Portfolio, jurisdictions: Iterable[Jurisdiction], rules: RuleSet) -> Prepared:
    """Compute once what does not depend on the market.

    Raise `ValueError` for a market without a row in the catalogue.
    """
    by_code = {entry.code: entry for entry in jurisdictions}
    archived = pl.col("archived").fill_null(value=False)
    skus = portfolio.skus.sort("sku_code").with_row_index("sku").with_columns(archived)
    numbered = portfolio.volumes.join(skus.select("sku_code", "sku"), on="sku_code", how="inner")
    volumes = volume_rows(numbered, by_code)
    parts = parts_of(portfolio, skus, rules)
    lines, materials = plain_and_judged(parts, rules)
    stand = standings(skus, rules)
    return Prepared(skus, volumes, parts, lines.select(LINE_COLUMNS), materials, stand, by_code)


def lines_of(market: str, ready: Prepared) -> MarketLines:
    """Return one market's lines of all its years and halves."""
    jurisdiction = ready.jurisdictions[market]
    periods = units_placed(ready.volumes.filter(pl.col("market") == market), market)
    counting = periods.filter(pl.col("units") > 0).drop("reason", "fields")
    is_there = pl.repeat(value=False, n=ready.skus.height, eager=True).scatter(counting["sku"], values=True)
    every = (ready.lines, ready.materials, ready.parts.riders, ready.parts.gaps, ready.parts.own)
    same, materials, riders, gaps, own = (frame.filter(is_there.gather(frame["sku"])) for frame in every)
    lines = pl.concat([judged_lines(materials, jurisdiction).select(LINE_COLUMNS), same])
    has_category = bit_of_path(jurisdiction) > 0
    unspecified = _unspecified(lines.filter(~has_category), own)
    counted = with_riders(lines.filter(has_category), riders)
    beyond = beyond_reach(counted, counting)
    listed = pl.concat([_listed(pl.concat([gaps, unspecified]), periods), _impossible(beyond)])
    named = listed.with_columns(ready.skus[name].gather(listed["sku"]) for name in ("sku_code", "archived"))
    return MarketLines(
        lines=counted,
        counting=counting if beyond.is_empty() else counting.join(beyond, on=["sku", "year", "half"], how="anti"),
        uncounted=named.select(pl.lit(market).alias("market"), *list(UNCOUNTED_SCHEMA)[1:]),
    )


@lru_cache(maxsize=1024)
def categories(jurisdiction: Jurisdiction) -> pl.DataFrame:
    """Return the category (`_CATEGORY_SCHEMA` and its `bit`) of every path that has one in the jurisdiction."""
    found = [(path, *each) for path in material_paths() if (each := category(path, jurisdiction))]
    bits = {code: 1 << place for place, code in enumerate(sorted({code for _, code, *_ in found}))}
    return pl.DataFrame(found, schema=_CATEGORY_SCHEMA, orient="row").with_columns(
        pl.col("category_code").replace_strict(bits, return_dtype=BIT).alias("bit")
    )


@lru_cache(maxsize=1024)
def codes(jurisdiction: Jurisdiction) -> pl.DataFrame:
    """Return the categories of a jurisdiction by code: `category_code` and `bit`, then the cells of its surest path."""
    surest = categories(jurisdiction).sort("basis").unique("category_code", keep="first", maintain_order=True)
    return surest.select("category_code", "bit", "category_name", "scope_key", "confidence").sort("category_code")


def bit_of_path(jurisdiction: Jurisdiction) -> pl.Expr:
    """Return the bit of the category of a column `path`, or 0: gathered by the path's place in its table."""
    bits = dict(categories(jurisdiction).select("path", "bit").iter_rows())
    return pl.lit(pl.Series([bits.get(path, 0) for path in material_paths()], dtype=BIT)).gather(
        pl.col("path").to_physical()
    )


def _unspecified(lines: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    """Return the facts that would give these lines a category: those that their path's row names."""
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


def _impossible(beyond: pl.DataFrame) -> pl.DataFrame:
    """Return entries of SKUs whose weight times units exceeds any company's: one of the two is wrong; none counts."""
    return beyond.select(
        "sku",
        "year",
        "half",
        "units",
        pl.lit("weight_missing").alias("reason"),
        pl.concat_list(pl.lit("volumes")).alias("fields"),
    )


def _listed(gaps: pl.DataFrame, periods: pl.DataFrame) -> pl.DataFrame:
    """Return one row per SKU, period and reason: gaps of placed SKUs, and faults of the periods themselves."""
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
