"""Lines: what of a SKU is declared together in a market (rollup.md, step 5).

Layers of the body make one unit. It is one material, or a composite, which each jurisdiction counts by its own rule:
by constituents, by the predominant material, or in a category of its own. Every other part is a line by itself.
"""

from typing import Final

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.material_path import material_paths
from compliance.rollup.categories import takes
from compliance.rollup.exact import exceeds
from compliance.rollup.parts import PATH

CONSTITUENTS: Final = "constituents"
COMPOSITE: Final = "composite"
UNSPLIT: Final = "composite/unsplit"
"""The path of an undivided composite where constituents are counted."""
LINE_COLUMNS: Final = ("sku", "line", "first", "path", "grams", "has_body")
"""A line: the position of the part that names it, the first position among its parts, path, grams, whether it holds
a body."""


def bodies(layers: pl.DataFrame) -> pl.DataFrame:
    """One row per SKU and material of its body's layers, with what of the whole body decides, and how many there are.

    `position` and `path` are those of the material's heaviest layer, the first of equals; `main_…` those of the
    heaviest material, of equals the one that stands first in the order of the components.
    """
    same = {path: row.same_material for path, row in material_paths().items()}
    ranked = layers.with_columns(
        pl.col("path").cast(pl.String).replace_strict(same, return_dtype=pl.String).alias("same_material")
    ).sort("sku", "same_material", "grams", "position", descending=[False, False, True, False])
    materials = ranked.group_by("sku", "same_material", maintain_order=True).agg(
        pl.col("position").first(),
        pl.col("position").min().alias("first"),
        pl.col("path").first(),
        pl.col("grams").sum(),
        pl.col("is_body").any().alias("has_body"),
        pl.col("shape", "is_beverage_carton").first(),
    )
    heaviest_first = materials.sort("sku", "grams", "first", descending=[False, True, False])
    units = heaviest_first.group_by("sku", maintain_order=True).agg(
        pl.col("position").first().alias("main_position"),
        pl.col("path").first().alias("main_path"),
        pl.col("same_material").first().alias("main_material"),
        pl.col("grams").first().alias("main_grams"),
        pl.col("grams").sum().alias("total_grams"),
        pl.len().alias("materials"),
    )
    return _with_composite_paths(materials.join(units, on="sku", how="inner"))


def is_plain() -> pl.Expr:
    """Which rows of `bodies` are of bodies that are one material, and no composite, in every market."""
    return (pl.col("materials") == 1) & (pl.col("main_material") != COMPOSITE)


def plain_lines(materials: pl.DataFrame) -> pl.DataFrame:
    """The lines of plain bodies, the same in every market."""
    return materials.select(
        "sku", pl.col("position").alias("line"), "first", pl.col("main_path").alias("path"), "grams", "has_body"
    )


def body_lines(materials: pl.DataFrame, jurisdiction: Jurisdiction) -> pl.DataFrame:
    """The lines of the bodies in a market; `materials` are rows of `bodies`, all of each SKU."""
    is_main = pl.col("position") == pl.col("main_position")
    others = pl.col("total_grams") - pl.col("main_grams")
    weighed = pl.col("grams") if jurisdiction.composite_rule == CONSTITUENTS else others
    significant = ~is_main & exceeds(weighed, pl.col("total_grams"), jurisdiction.composite_threshold_percent)
    whole = [path for path in material_paths() if path.startswith(COMPOSITE) and takes(path, jurisdiction)]
    judged = materials.with_columns(significant.alias("significant")).with_columns(
        (pl.col("significant").any().over("sku") | (pl.col("main_material") == COMPOSITE)).alias("is_composite"),
        pl.col("composite_path").is_in(pl.Series(whole, dtype=PATH).implode()).alias("is_taken_whole"),
    )
    split = (
        pl.col("is_composite") & ~pl.col("is_taken_whole") & pl.lit(jurisdiction.composite_rule == CONSTITUENTS)
    )  # fmt: skip
    stands_alone = split & pl.col("significant")
    of_whole = {CONSTITUENTS: "main_path", "predominant": "predominant_path", "own_category": "composite_path"}
    path = (
        pl.when(stands_alone)
        .then(_unsplit("path", "same_material"))
        .when(split)
        .then(_unsplit("main_path", "main_material"))
        .when(pl.col("is_composite") & pl.col("is_taken_whole"))
        .then(pl.col("composite_path"))
        .when(pl.col("is_composite"))
        .then(pl.col(of_whole[jurisdiction.composite_rule]))
        .otherwise(pl.col("main_path"))
    )
    line = pl.when(stands_alone).then(pl.col("position")).otherwise(pl.col("main_position"))
    return (
        judged.select("sku", line.alias("line"), "first", path.alias("path"), "grams", "has_body")
        .group_by("sku", "line")
        .agg(pl.col("first").min(), pl.col("path").first(), pl.col("grams").sum(), pl.col("has_body").any())
    )


def unit_lines(units: pl.DataFrame) -> pl.DataFrame:
    """The lines of the parts that are units of their own."""
    return units.select(
        "sku",
        pl.col("position").alias("line"),
        pl.col("position").alias("first"),
        "path",
        "grams",
        pl.lit(value=False).alias("has_body"),
    )


def with_riders(lines: pl.DataFrame, riders: pl.DataFrame) -> pl.DataFrame:
    """The lines, and the riders' weight as one more row of the line that carries it.

    It is the heaviest line that holds a body, else the heaviest; the first of equals. Give only lines that count:
    where nothing of a SKU does, its riders do not either.
    """
    carrying = lines.join(riders.select("sku"), on="sku", how="semi").sort(
        "sku", "has_body", "grams", "first", descending=[False, True, True, False]
    )
    carrier = carrying.unique("sku", keep="first", maintain_order=True).drop("grams")
    return pl.concat([lines, carrier.join(riders, on="sku", how="inner").select(lines.columns)])


def _unsplit(path: str, material: str) -> pl.Expr:
    return pl.when(pl.col(material) == COMPOSITE).then(pl.lit(UNSPLIT, PATH)).otherwise(pl.col(path))


def _with_composite_paths(materials: pl.DataFrame) -> pl.DataFrame:
    """Each distinct (main path, shape, carton or not) is worked out once."""
    deciding = ["main_path", "shape", "is_beverage_carton"]
    faces = materials.select(deciding).unique()
    rows = list(faces.iter_rows())
    faces = faces.with_columns(
        pl.Series("composite_path", [_composite_path(main, carton) for main, _, carton in rows], dtype=PATH),
        pl.Series("predominant_path", [_predominant_path(main, shape) for main, shape, _ in rows], dtype=PATH),
    )
    return materials.join(faces, on=deciding, how="left").drop("shape", "is_beverage_carton")


def _composite_path(main_path: str, is_beverage_carton: bool) -> str:
    """The path of the unit as a composite of this main material."""
    main = material_paths()[main_path]
    if is_beverage_carton and main.same_material == "paper":
        return "composite/beverage_carton"
    return main_path if main.family == COMPOSITE else f"composite/{main.composite_as}"


def _predominant_path(main_path: str, shape: str) -> str:
    """The path of the main material; of an undivided composite the one it is mainly made of, where that is known."""
    return (material_paths()[main_path].main_material or main_path).replace("{shape}", shape)
