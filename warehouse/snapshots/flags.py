"""The format bans that SKUs point to, found for a block of them (`compliance.annex_v` decides)."""

from datetime import date
from typing import Any, Final

import orjson
import polars as pl

from compliance import annex_v
from compliance import ruleset as rulesets
from warehouse.snapshots.columns import FLAG

_FACE: Final = ("markets", "packaging_level", "reusable", "use_contexts", "packaging_format", "ruleset_version")
"""What bans ask for besides the body: the same for many SKUs."""
_BODY: Final = ("material", "material_subtype", "weight_grams", "components")


def with_flags(skus: pl.DataFrame) -> pl.DataFrame:
    """The SKUs with `flags`, by the rule-set version that graded each; `components` is the graph as JSON.

    Each face is judged once. Only of SKUs whose face a ban speaks of is the graph read, one by one.
    """
    faces = skus.select(_FACE).unique()
    spoken_of = [annex_v.depend_on_body(face, rulesets.load(face["ruleset_version"])) for face in faces.to_dicts()]
    chosen = faces.filter(pl.Series(spoken_of, dtype=pl.Boolean))
    rows = skus.with_row_index("place").join(chosen, on=_FACE, how="semi", nulls_equal=True)
    flags: list[list[dict[str, Any]] | None] = [[]] * skus.height
    for row in rows.select("place", *_FACE, *_BODY).iter_rows(named=True):
        flags[row["place"]] = _flags(row)
    return skus.with_columns(pl.Series("flags", flags, dtype=pl.List(FLAG)))


def _flags(row: dict[str, Any]) -> list[dict[str, Any]]:
    record = row | {"components": orjson.loads(row["components"]) if row["components"] else []}
    return [
        {
            "code": flag["code"],
            "certainty": flag["certainty"],
            "applies_from": date.fromisoformat(str(flag["applies_from"])),
        }
        for flag in annex_v.flags(record, rulesets.load(row["ruleset_version"]))
    ]
