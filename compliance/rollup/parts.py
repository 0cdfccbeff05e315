"""Makes the parts of a SKU with their material paths (rollup.md, steps 2 and 3), once for all markets.

A part is a layer of the body, a unit of its own or a rider, which has no path and counts with the body. Parts without
weight or material are left out here and listed. `compliance.rollup.lines` combines layers.
"""

from typing import Final, NamedTuple

import polars as pl

from compliance.material_path import material_path, material_paths
from compliance.rollup.exact import grams
from compliance.ruleset import RuleSet

SKU_COLUMNS: Final = pl.Schema(
    {
        "sku_code": pl.String(),
        "material": pl.String(),
        "material_subtype": pl.String(),
        "weight_grams": pl.Float64(),
        "packaging_format": pl.String(),
        "reusable": pl.Boolean(),
        "packaging_level": pl.String(),
        "reuse_deposit_system": pl.Boolean(),
        "use_contexts": pl.List(pl.String()),
        "archived": pl.Boolean(),
    }
)
"""`archived` marks a SKU that has left the lists: what was placed on a market of it stays placed (decisions §13)."""
COMPONENT_COLUMNS: Final = pl.Schema(
    {
        "sku_code": pl.String(),
        "position": pl.UInt32(),
        "component_type": pl.String(),
        "material_family": pl.String(),
        "polymer_or_grade": pl.String(),
        "weight_g": pl.Float64(),
        "separable": pl.Boolean(),
    }
)
"""`position` is the place in the SKU's list of components, from 0."""
VOLUME_COLUMNS: Final = pl.Schema(
    {"sku_code": pl.String(), "market": pl.String(), "year": pl.Int32(), "half": pl.Int8(), "units_placed": pl.Int64()}
)


class Portfolio(NamedTuple):
    """The three frames, in any order of rows; weights in grams, units placed on the market."""

    skus: pl.DataFrame
    components: pl.DataFrame
    volumes: pl.DataFrame


PATH: Final = pl.Enum(list(material_paths()))
"""A material path, one of all paths in the order of their table."""
WEIGHTLESS: Final = ("ink", "adhesive", "varnish")
"""Riders whose weight is not required."""
LAYERS: Final = ("coating", "liner", "tie_layer")
"""Parts that are layers of the body where they are not separable; the body itself always is one."""
_FACE: Final = ("component_type", "family", "text", "packaging_format")
"""The fields that decide a path."""
_PART: Final = ("sku", "position", "component_type", "packaging_format", "path", "grams")


class Parts(NamedTuple):
    """The parts that have a weight and a material, and the gaps of the others.

    `layers`, `units`: `sku`, `position`, `component_type`, `packaging_format`, `path`, `grams`. `riders`: `sku`,
    `grams` of all riders together. `gaps`: `sku`, `reason`, `position`, `field`, one row for each missing fact, and the
    `grams` that have no path for it. `own` are the SKUs without components, whose one body is the SKU itself.
    """

    layers: pl.DataFrame
    units: pl.DataFrame
    riders: pl.DataFrame
    gaps: pl.DataFrame
    own: pl.DataFrame


def parts_of(portfolio: Portfolio, skus: pl.DataFrame, rules: RuleSet) -> Parts:
    """Return the parts of numbered SKUs (`skus` is the portfolio's with a column `sku`)."""
    own, every = part_rows(portfolio, skus)
    is_rider = pl.col("component_type").is_in(WEIGHTLESS) | (
        (pl.col("component_type") == "coating") & pl.col("family").eq_missing(pl.lit("other"))
    )
    riders, others = every.filter(is_rider), every.filter(~is_rider)
    only_riders = riders.join(others, on="sku", how="anti").group_by("sku").agg(pl.col("grams").sum())
    riders = riders.join(only_riders, on="sku", how="anti")
    weighed = others.filter(pl.col("grams").is_not_null())
    with_path = _with_paths(weighed, rules)
    of_path = with_path.filter(pl.col("path").is_not_null())
    is_layer = (pl.col("component_type") == "body") | (
        pl.col("component_type").is_in(LAYERS) & pl.col("separable").ne_missing(pl.lit(value=True))
    )
    return Parts(
        layers=of_path.filter(is_layer).select(_PART),
        units=of_path.filter(~is_layer).select(_PART),
        riders=riders.filter(pl.col("grams") > 0).group_by("sku").agg(pl.col("grams").sum()),
        gaps=pl.concat(
            [
                _gap(
                    own.filter(pl.col("material").is_null()).with_columns(grams("weight_grams").alias("grams")),
                    "material_missing",
                    pl.lit("material"),
                ),
                _gap(only_riders, "material_missing", pl.lit("components")),
                _gap(
                    pl.concat([others, riders.filter(~pl.col("component_type").is_in(WEIGHTLESS))]).filter(
                        pl.col("grams").is_null()
                    ),
                    "weight_missing",
                    field_of("weight_g", "weight_grams"),
                ),
                _gap(
                    with_path.filter(pl.col("path").is_null()),
                    "material_unspecified",
                    field_of("polymer_or_grade", "material_subtype"),
                ),
            ]
        ),
        own=own.select("sku"),
    )


def part_rows(portfolio: Portfolio, skus: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the numbered SKUs without components, and every part: the components, and the body that such a SKU is.

    A part has `sku`, `position`, `component_type`, `family`, `text`, `packaging_format`, exact `grams`, `separable`,
    `is_own`.
    """
    graph = _graph(portfolio.components, skus)
    own = skus.join(graph.select("sku").unique(), on="sku", how="anti")
    return own, pl.concat([graph, _own_bodies(own)])


def field_of(of_component: str, of_sku: str) -> pl.Expr:
    """Return the name of a part's fact in the caller's body: `components[1].weight_g`, or a field of the SKU."""
    field = pl.format("components[{}]." + of_component, pl.col("position"))
    return pl.when(pl.col("is_own")).then(pl.lit(of_sku)).otherwise(field)


def _graph(components: pl.DataFrame, skus: pl.DataFrame) -> pl.DataFrame:
    lines = components.join(skus.select("sku", "sku_code", "packaging_format"), on="sku_code", how="inner")
    return lines.select(
        "sku",
        pl.col("position").cast(pl.UInt32),
        "component_type",
        pl.col("material_family").alias("family"),
        pl.col("polymer_or_grade").alias("text"),
        "packaging_format",
        grams("weight_g").alias("grams"),
        "separable",
        pl.lit(value=False).alias("is_own"),
    )


def _own_bodies(own: pl.DataFrame) -> pl.DataFrame:
    return own.filter(pl.col("material").is_not_null()).select(
        "sku",
        pl.lit(0, pl.UInt32).alias("position"),
        pl.lit("body").alias("component_type"),
        pl.col("material").alias("family"),
        pl.col("material_subtype").alias("text"),
        "packaging_format",
        grams("weight_grams").alias("grams"),
        pl.lit(None, pl.Boolean).alias("separable"),
        pl.lit(value=True).alias("is_own"),
    )


def _with_paths(parts: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Look up each distinct face once, however many parts have it."""
    faces = parts.select(_FACE).unique()
    paths = [material_path(kind, family, text, form, rules) for kind, family, text, form in faces.iter_rows()]
    return parts.join(faces.with_columns(pl.Series("path", paths, dtype=PATH)), on=_FACE, how="left", nulls_equal=True)


def _gap(parts: pl.DataFrame, reason: str, field: pl.Expr) -> pl.DataFrame:
    position = pl.col("position") if "position" in parts.columns else pl.lit(0, pl.UInt32).alias("position")
    return parts.select("sku", pl.lit(reason).alias("reason"), position, field.alias("field"), "grams")
