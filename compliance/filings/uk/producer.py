"""A producer's statements about itself and its submission, which packaging data cannot supply."""

from dataclasses import dataclass
from typing import Final

import polars as pl

from compliance.filings.uk.rules import FileRefused, Row, standing, stated_faults
from compliance.filings.uk.tables import LARGE, MARKETPLACE, codes, columns
from compliance.material_path import material_paths
from compliance.rollup.parts import PATH, Parts

_STATED: Final = frozenset(
    {"organisation_id", "subsidiary_id", "organisation_size", "submission_period", "packaging_activity"}
)


@dataclass(frozen=True, slots=True)
class Producer:
    """Codes of `rules/uk_packaging_data/codes.csv`; `household_type` is the type of sales and shipment packaging."""

    organisation_id: str
    organisation_size: str = LARGE
    activity: str = "SO"
    household_type: str = "HH"
    subsidiary_id: str = ""

    @property
    def is_large(self) -> bool:
        """Whether the organisation is large: it reports by half, with types, shapes and ratings; others by year."""
        return self.organisation_size == LARGE

    @property
    def is_marketplace(self) -> bool:
        """Whether the reported packaging was sold through an online marketplace of the producer's."""
        return self.activity == MARKETPLACE

    def row(self, period: str) -> dict[str, str]:
        """Return a row of the file with only the producer's statements."""
        return dict.fromkeys(columns(), "") | {
            "organisation_id": self.organisation_id,
            "subsidiary_id": self.subsidiary_id,
            "organisation_size": self.organisation_size,
            "submission_period": period,
            "packaging_activity": self.activity,
        }


def submission(producer: Producer, year: int, half: int) -> str:
    """Return the code of a period, `half` 0 for the year. Raise `FileRefused` with every error code that applies."""
    period = f"{year}-H{half}" if half else f"{year}-P0"
    if refused := stated_faults(producer.row(period), _STATED):
        raise FileRefused(refused)
    return period


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


_SUBTYPE_FACE: Final = ("type", "class", "material", "candidate")
_PLASTIC: Final = "PL"
_OTHER: Final = "OT"
_ANY_SHAPE: Final = "Rigid"


def with_subtypes(parts: pl.DataFrame, blank: Row) -> pl.DataFrame:
    """Return the parts with `subtype`, and `lacking` where plastic must have a shape and has none.

    `blank` is the row of the file with the producer's statements.
    """
    names = pl.DataFrame(
        [(path, row.uk_other_name or row.family.replace("_", "-")) for path, row in material_paths().items()],
        schema={"path": PATH, "other_name": pl.String},
        orient="row",
    )
    candidate = (
        pl.when(pl.col("material") == _OTHER)
        .then(pl.col("other_name"))
        .when(pl.col("material") == _PLASTIC)
        .then(pl.col("shape"))
    )
    parts = parts.join(names, on="path", how="left").with_columns(candidate.alias("candidate"))
    faces = parts.select(_SUBTYPE_FACE).unique()
    asks = pl.Series("asks_subtype", [_subtype_standing(blank, *face) for face in faces.iter_rows()], dtype=pl.String)
    parts = parts.join(faces.with_columns(asks), on=_SUBTYPE_FACE, how="left", nulls_equal=True)
    missing = (pl.col("asks_subtype") == "needed") & pl.col("candidate").is_null()
    return parts.with_columns(
        pl.when(pl.col("asks_subtype") != "refused").then(pl.col("candidate")).fill_null("").alias("subtype"),
        pl.when(missing).then(pl.lit("plastic_shape_missing")).alias("lacking"),
    )


def _subtype_standing(blank: Row, kind: str, packaging_class: str, material: str, candidate: str | None) -> str:
    """Return a subtype's standing; a rating is filled in, so that a missing one does not look like its error."""
    row = {
        **blank,
        "packaging_type": kind,
        "packaging_class": packaging_class,
        "packaging_material": material,
        "ram_rag_rating": next(iter(codes("ram_rag_rating"))),
    }
    return standing(row, "packaging_material_subtype", candidate or _ANY_SHAPE)
