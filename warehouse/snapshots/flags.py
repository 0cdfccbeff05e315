"""Finds the format bans of a block of SKUs together.

`compliance.annex_v` judges one record. Records with the same face and body are judged once: nearly all bodies have one
layer, whose weight then does not matter.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast  # Any: a row of the snapshot, before it is a SKU

import orjson
import polars as pl

from compliance import annex_v
from compliance.rule_rows import RuleSet
from schemas.sku import Component, Sku
from warehouse.snapshots.columns import FLAG

_FACE: Final = ("packaging_level", "reusable", "use_contexts", "packaging_format", "additives")
"""What bans ask for besides markets and layers: the same for many SKUs. `additives` are those of the body's components,
a sorted text as `a|b`, null where there are none."""
_BETWEEN: Final = "|"
"""Stands between the markets of a SKU where they are one text."""
_LAYER: Final = ("component_type", "material_family", "polymer_or_grade", "separable", "thickness_um")


def flags(skus: pl.DataFrame, components: pl.DataFrame, rules: RuleSet) -> pl.Series:
    """Return the flags of each SKU by the active rules, as a read of it shows them; `components` are theirs.

    `use_contexts` and `components` of a SKU are JSON texts; a component has a list of `additives` besides the columns
    of a snapshot. Markets are those in effect. The body's layers matter only for SKUs in the Union whose face a ban
    concerns.
    """
    skus = skus.with_columns(pl.col("markets_in_effect").list.join(_BETWEEN).alias("markets"))
    skus = skus.join(_additives(components), on="sku_code", how="left", maintain_order="left")
    rows = skus.with_row_index("place").join(_concerned(skus, rules), on=("markets", *_FACE), nulls_equal=True)
    layers = components.filter(pl.col("component_type").is_in(annex_v.LAYERS)).select(
        "sku_code", "position", *_LAYER, "weight_g"
    )
    lines = layers.join(rows.select("place", "sku_code"), on="sku_code")
    several = lines.filter(pl.len().over("place") > 1).sort("place", "position")
    bodies = _bodies(rows, lines, several)
    distinct = bodies.select(*_FACE, *_LAYER).unique()
    judged = [_judged(body, [_layer(body)] if body["component_type"] else [], rules) for body in distinct.to_dicts()]
    found = bodies.join(
        distinct.with_columns(pl.Series("flags", judged, dtype=pl.List(FLAG))), on=(*_FACE, *_LAYER), nulls_equal=True
    )
    none = pl.lit([], dtype=pl.List(FLAG))
    all_found = pl.concat([found.select("place", "flags"), _one_by_one(rows, several, rules)])
    placed = skus.with_row_index("place").select("place").join(all_found, on="place", how="left", maintain_order="left")
    return placed.select(pl.col("flags").fill_null(none)).to_series()


def _concerned(skus: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return the combinations of markets and faces that a ban may concern."""
    markets, faces = skus.select("markets").unique(), skus.select(_FACE).unique()
    inside = [annex_v.may_be_in_the_union(text.split(_BETWEEN) if text else None) for text in markets.to_series()]
    spoken_of = [annex_v.depend_on_body(_record(face), rules) for face in faces.to_dicts()]
    return markets.filter(pl.Series(inside)).join(faces.filter(pl.Series(spoken_of)), how="cross")


def _additives(components: pl.DataFrame) -> pl.DataFrame:
    """Return the additives of each SKU that has some on a body component."""
    given = components.filter(pl.col("component_type") == "body", pl.col("additives").list.len() > 0)
    together = pl.col("additives").explode().unique().sort().str.join("|")
    return given.group_by("sku_code").agg(together)


def _bodies(rows: pl.DataFrame, lines: pl.DataFrame, several: pl.DataFrame) -> pl.DataFrame:
    """Return the SKUs with the one layer of their body, null without a body, except SKUs whose body has several."""
    has_graph = pl.col("components").is_not_null()
    own = rows.filter(~has_graph).select(
        "place",
        *_FACE,
        pl.when(pl.any_horizontal(pl.col("material", "material_subtype").is_not_null()))
        .then(pl.lit("body"))
        .alias("component_type"),
        pl.col("material").alias("material_family"),
        pl.col("material_subtype").alias("polymer_or_grade"),
        pl.lit(None, pl.Boolean).alias("separable"),
        pl.lit(None, pl.Float64).alias("thickness_um"),
    )
    graphs = rows.filter(has_graph).join(several, on="place", how="anti").select("place", *_FACE)
    return pl.concat([own, graphs.join(lines.select("place", *_LAYER), on="place", how="left")])


def _one_by_one(rows: pl.DataFrame, several: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Judge the SKUs whose bodies have several layers, where the weights decide."""
    faces = {face["place"]: face for face in rows.select("place", *_FACE).to_dicts()}
    graphs: dict[int, list[Component]] = {}
    for line in several.to_dicts():
        graphs.setdefault(line["place"], []).append(_layer(line))
    found = [_judged(faces[place], graph, rules) for place, graph in graphs.items()]
    return pl.DataFrame({"place": list(graphs), "flags": found}, schema={"place": pl.UInt32, "flags": pl.List(FLAG)})


def _judged(face: Mapping[str, Any], components: list[Component], rules: RuleSet) -> list[dict[str, object]]:
    return [
        {
            "code": ban.code,
            "certainty": "depends" if open_facts else "certain",
            "applies_from": ban.applies_from,
            "text": ban.flag_text,
        }
        for ban, open_facts in annex_v.bans(_record(face, components), rules)
    ]


def _layer(row: Mapping[str, object]) -> Component:
    """A layer of a body, from a row that has `_LAYER`."""
    return cast(Component, row)


def _record(face: Mapping[str, Any], layers: Sequence[Component] = ({"component_type": "body"},)) -> Sku:
    """Return a record of a face in the Union with these layers; body layers have the additives of all bodies."""
    contexts, additives = face["use_contexts"], face["additives"].split("|") if face["additives"] else []
    return {
        "packaging_level": face["packaging_level"],
        "reusable": face["reusable"],
        "packaging_format": face["packaging_format"],
        "use_contexts": orjson.loads(contexts) if contexts else [],
        "components": [
            {**line, "additives": additives} if line["component_type"] == "body" else line for line in layers
        ],
    }
