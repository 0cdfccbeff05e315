"""A components table -> the graph of each SKU it names, as JSON text, and the SKUs whose graph has a fault.

A fault in one line rejects the whole graph: a graph is replaced as a whole or not at all.
"""

import json
from dataclasses import dataclass

import polars as pl

from pipelines.steps.reading.cells import TypedSheet
from pipelines.steps.reading.json_text import joined, members
from pipelines.steps.reading.typed import faults_where
from pipelines.steps.substances import COLUMN_UNITS
from schemas.vocabularies import SUBSTANCES


@dataclass(frozen=True, slots=True)
class Graphs:
    """`texts` has a row per SKU without fault: `sku_code`, `components` (JSON array text), `line` (its first).

    `faulty` are the SKUs that are rejected, `nameless` the number of lines that name none.
    """

    texts: pl.DataFrame
    faulty: frozenset[str]
    nameless: int
    typed: TypedSheet | None = None


NONE = Graphs(pl.DataFrame(schema={"sku_code": pl.String, "components": pl.String, "line": pl.Int64}), frozenset(), 0)


def read_graphs(typed: TypedSheet) -> Graphs:
    """The graphs of a typed components table, lines in their order."""
    typed = _complete(typed)
    code, lines = typed.values["sku_code"], typed.sheet.table["line"]
    table = pl.DataFrame({"sku_code": code, "line": lines, "text": _objects(typed)})
    faulty = set(table["sku_code"].gather(typed.faults["at"].unique()).drop_nulls())
    faulty |= {fault.sku_code for fault in typed.sheet.faults if fault.sku_code is not None}
    texts = (
        table.filter(pl.col("sku_code").is_not_null() & ~pl.col("sku_code").is_in(list(faulty)))
        .group_by("sku_code", maintain_order=True)
        .agg(pl.concat_str(pl.lit("["), pl.col("text").str.join(","), pl.lit("]")).first().alias("components"),
             pl.col("line").first())
    )  # fmt: skip
    return Graphs(texts, frozenset(faulty), code.null_count(), typed)


def _complete(typed: TypedSheet) -> TypedSheet:
    """Faults of lines that lack what a component needs beside its type: a family or a library component."""
    known = [typed.given[name] for name in ("material_family", "component_id") if name in typed.given]
    nothing = pl.Series([True]).new_from_index(0, typed.sheet.table.height)
    for given in known:
        nothing &= ~given
    message = "A component needs its material_family, or the component_id of a library component that has one."
    typed = typed.with_faults("material_family", faults_where(nothing, "required", message))
    for name in SUBSTANCES:
        status, value = f"{name}_status", f"{name}_value"
        if value in typed.given:
            alone = typed.given[value] & ~typed.given[status] if status in typed.given else typed.given[value]
            message = f"A measured value needs its status beside it; write {status} as well."
            typed = typed.with_faults(value, faults_where(alone, "required", message))
    return typed


def _objects(typed: TypedSheet) -> pl.Series:
    """Each line as a JSON object of the values it gives."""
    parts = []
    for column in typed.sheet.columns:
        values = typed.values[column.name]
        if column.name == "sku_code" or column.name.endswith(("_status", "_value")):
            continue
        if column.field.kind == "codes":
            parts.append(_arrays(column.name, values))
        else:
            parts.append(members(column.name, values, values.is_not_null()))
    if (substances := _substances(typed)) is not None:
        parts.append(substances)
    return joined(parts, "{", "}").fill_null("{}")


def _arrays(name: str, literals: pl.Series) -> pl.Series:
    """Array literals (`{a,b}`) as members with a JSON array."""
    distinct = literals.drop_nulls().unique(maintain_order=True)
    texts = [f'"{name}":' + json.dumps([code for code in text.strip("{}").split(",") if code]) for text in distinct]
    return literals.replace_strict(distinct, texts, default=None, return_dtype=pl.String)


def _substances(typed: TypedSheet) -> pl.Series | None:
    """The substance columns of each line as one member, null where none is given."""
    entries = []
    for name in SUBSTANCES:
        keys = {key: typed.values.get(f"{name}_{key}") for key in ("status", "value")}
        found = [members(key, values, values.is_not_null()) for key, values in keys.items() if values is not None]
        if keys["value"] is not None and name in COLUMN_UNITS:
            units = pl.Series([COLUMN_UNITS[name]]).new_from_index(0, len(keys["value"]))
            found.append(members("unit", units, keys["value"].is_not_null()))
        if found:
            entry = joined(found, "{", "}")
            entries.append(
                pl.DataFrame({"entry": entry}).select(pl.concat_str(pl.lit(f'"{name}":'), "entry")).to_series()
            )
    if not entries:
        return None
    return joined(entries, '"substances":{', "}")
