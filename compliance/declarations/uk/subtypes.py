"""Fills the subtypes of the file: the shape of plastic, the name of other material, where one is needed (step 5)."""

from typing import Final

import polars as pl

from compliance.declarations.uk.conditions import Row
from compliance.declarations.uk.rules import standing
from compliance.declarations.uk.tables import codes
from compliance.material_path import material_paths
from compliance.rollup.parts import PATH

_FACE: Final = ("type", "class", "material", "candidate")
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
    faces = parts.select(_FACE).unique()
    asks = pl.Series("asks_subtype", [_standing(blank, *face) for face in faces.iter_rows()], dtype=pl.String)
    parts = parts.join(faces.with_columns(asks), on=_FACE, how="left", nulls_equal=True)
    missing = (pl.col("asks_subtype") == "needed") & pl.col("candidate").is_null()
    return parts.with_columns(
        pl.when(pl.col("asks_subtype") != "refused").then(pl.col("candidate")).fill_null("").alias("subtype"),
        pl.when(missing).then(pl.lit("plastic_shape_missing")).alias("lacking"),
    )


def _standing(blank: Row, kind: str, packaging_class: str, material: str, candidate: str | None) -> str:
    """Return a subtype's standing; a rating is filled in, so that a missing one does not look like its error."""
    row = {
        **blank,
        "packaging_type": kind,
        "packaging_class": packaging_class,
        "packaging_material": material,
        "ram_rag_rating": next(iter(codes("ram_rag_rating"))),
    }
    return standing(row, "packaging_material_subtype", candidate or _ANY_SHAPE)
