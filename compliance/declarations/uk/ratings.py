"""Fills the recyclability ratings of the file: each part's rating, and where one is required (step 6).

A rating comes from the producer's own assessment (`--ram`), never from the recyclability grade of the Union's rules.
"""

from typing import Final

import polars as pl

from compliance.declarations.uk.conditions import Row
from compliance.declarations.uk.rules import standing
from compliance.declarations.uk.tables import codes
from compliance.rollup.parts import Parts

RATINGS: Final = pl.Schema({"sku_code": pl.String(), "component_type": pl.String(), "rating": pl.String()})
"""The producer's ratings: one for each SKU and component type."""
_FACE: Final = ("type", "class", "material", "subtype")


def with_ratings(parts: pl.DataFrame, ratings: pl.DataFrame, blank: Row) -> pl.DataFrame:
    """Return the parts with `rating`, blank where none is allowed or given; `lacking` says where one is required.

    `ratings` are `given` for parts by `sku` and `position`, which for a part is its `line`; `blank` is the row of the
    file with the producer's statements.
    """
    faces = parts.select(_FACE).unique()
    rating = pl.Series("asks_rating", [_standing(blank, *face) for face in faces.iter_rows()], dtype=pl.String)
    joined = parts.join(faces.with_columns(rating), on=_FACE, how="left", nulls_equal=True).join(
        ratings, left_on=["sku", "line"], right_on=["sku", "position"], how="left"
    )
    missing = (pl.col("asks_rating") == "needed") & pl.col("given").is_null()
    return joined.with_columns(
        pl.when(pl.col("asks_rating") != "refused").then(pl.col("given")).fill_null("").alias("rating"),
        pl.coalesce("lacking", pl.when(missing).then(pl.lit("rating_missing"))).alias("lacking"),
    )


def given_ratings(parts: Parts, skus: pl.DataFrame, ratings: pl.DataFrame) -> pl.DataFrame:
    """Return `sku`, `position`, `given`, `named`: each part's rating, and the component type that it is asked for by.

    A body has one rating: the first that one of its layers has.
    """
    layers = parts.layers.with_columns(pl.lit(value=True).alias("is_layer"))
    units = parts.units.with_columns(pl.lit(value=False).alias("is_layer"))
    each = (
        pl.concat([layers, units])
        .join(skus.select("sku", "sku_code"), on="sku", how="left")
        .join(ratings, on=["sku_code", "component_type"], how="left")
        .sort("sku", "position")
    )
    of_body = (
        each.filter(pl.col("is_layer"))
        .group_by("sku")
        .agg(
            pl.col("rating").drop_nulls().first().alias("of_body"),
            (pl.col("component_type") == "body").any().alias("has_body"),
            pl.col("component_type").first().alias("first_layer"),
        )
    )
    name = pl.when(pl.col("has_body")).then(pl.lit("body")).otherwise(pl.col("first_layer"))
    return each.join(of_body, on="sku", how="left").select(
        "sku",
        "position",
        pl.when(pl.col("is_layer")).then(pl.col("of_body")).otherwise(pl.col("rating")).alias("given"),
        pl.when(pl.col("is_layer")).then(name).otherwise(pl.col("component_type")).alias("named"),
    )


def _standing(blank: Row, kind: str, packaging_class: str, material: str, subtype: str | None) -> str:
    row = {
        **blank,
        "packaging_type": kind,
        "packaging_class": packaging_class,
        "packaging_material": material,
        "packaging_material_subtype": subtype or "",
    }
    return standing(row, "ram_rag_rating", next(iter(codes("ram_rag_rating"))))
