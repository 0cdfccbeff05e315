"""The columns that grading in arrays reads, and how stored rows become these columns.

What belongs here: shapes. What the values mean is the kernel's.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

import polars as pl

from compliance.grading.rows import GRADED_INPUTS, Inputs
from schemas.sku import Component, Sku

SKU_COLUMNS: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "material": pl.String,
    "material_subtype": pl.String,
    "packaging_format": pl.String,
    "packaging_level": pl.String,
    "weight_grams": pl.Float64,
    "use_contexts": pl.String,
    "svhc": pl.String,
}
"""A row a SKU: `use_contexts` is Postgres array text, `svhc` the status alone."""
PART_WORDS: Final = (
    "component_type",
    "material_family",
    "colour",
    "attachment",
    "adhesive_type",
    "ink_type",
    "coating_type",
)
PART_TRUTHS: Final = ("separable", "metallised", "direct_print")
PART_NUMBERS: Final = ("coverage_percent", "density_g_cm3", "thickness_um")
COMPONENT_COLUMNS: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "sku": pl.UInt32,
    "weight_g": pl.Float64,
    "polymer_or_grade": pl.String,
    "additives": pl.List(pl.String),
    "svhc": pl.String,
    **dict.fromkeys(PART_WORDS, pl.String),
    **dict.fromkeys(PART_TRUTHS, pl.Boolean),
    **dict.fromkeys(PART_NUMBERS, pl.Float64),
}
"""A row a component, in the order of the graphs: `sku` is the place of its SKU, `svhc` the component's own status."""
_LINE: Final = {name: kind for name, kind in COMPONENT_COLUMNS.items() if name not in ("sku", "svhc")}
_STATUS: Final = pl.Struct({"svhc": pl.Struct({"status": pl.String})})


def columns_of(rows: Iterable[Inputs]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return stored rows (`GRADED_INPUTS`) as the two frames."""
    shape = {name: pl.Float64 if name == "weight_grams" else pl.String for name in GRADED_INPUTS}
    stored = pl.DataFrame(list(rows), schema=shape, orient="row", strict=False)
    skus = stored.select(
        *(pl.col(name) for name in SKU_COLUMNS if name != "svhc"),
        pl.col("svhc").str.json_decode(pl.Struct({"status": pl.String})).struct.field("status").alias("svhc"),
    )
    line = pl.Struct({**_LINE, "substances": _STATUS})
    graphs = stored.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("sku"),
        pl.col("components").str.json_decode(pl.List(line)),
    ).filter(pl.col("components").list.len() > 0)
    lines = graphs.explode("components").unnest("components")
    status = pl.col("substances").struct.field("svhc").struct.field("status").alias("svhc")
    return skus, lines.with_columns(status).select(*COMPONENT_COLUMNS)


def with_bodies(skus: pl.DataFrame, components: pl.DataFrame) -> pl.DataFrame:
    """Return the components with the one body that the material of a SKU without a graph implies (step 2).

    Its weight is 1 g or 0: alone, only whether it has one counts.
    """
    bare = skus.with_row_index("sku").filter(
        ~pl.col("sku").is_in(components["sku"].implode())
        & ((pl.col("material").fill_null("") != "") | (pl.col("material_subtype").fill_null("") != ""))
    )
    if bare.is_empty():
        return components
    bodies = bare.select(
        pl.col("sku"),
        (pl.col("weight_grams") > 0).cast(pl.Float64).alias("weight_g"),
        pl.lit("body").alias("component_type"),
        pl.col("material").alias("material_family"),
        pl.col("material_subtype").alias("polymer_or_grade"),
    )
    return pl.concat([components, bodies], how="diagonal").sort("sku", maintain_order=True)


def record_at(skus: pl.DataFrame, lines: Sequence[Component], place: int) -> Sku:
    """Return one SKU of the frames as the kernel takes it."""
    row = skus.row(place, named=True)
    contexts, svhc, weight = row["use_contexts"], row["svhc"], row["weight_grams"]
    return {
        "material": row["material"],
        "material_subtype": row["material_subtype"],
        "packaging_format": row["packaging_format"],
        "packaging_level": row["packaging_level"],
        "weight_grams": weight if weight is None else float(weight > 0),
        "use_contexts": contexts.strip("{}").split(",") if contexts else (),
        "svhc": {"status": svhc} if svhc else None,
        "components": lines,
    }


def line_of(row: Mapping[str, object]) -> Component:
    """Return a row of the components as a line of a graph."""
    given = {name: value for name, value in row.items() if value is not None and name in _LINE}
    if row["svhc"] is not None:
        given["substances"] = {"svhc": {"status": row["svhc"]}}
    return cast(Component, given)
