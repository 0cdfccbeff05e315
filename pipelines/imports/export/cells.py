"""Turns a stored SKU into cells, under the import's own column names: one line of the SKUs, a line for each component.

A value has the one form that the reader takes back as the same value. An empty cell is left out: an import leaves such
a field as it is. Values that do not fit into a cell, such as a text longer than a cell, are left out too.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final  # Any: a field's kind says its type

import orjson

from pipelines.reading.fields import Table, volume_field
from pipelines.reading.values import EMPTY_LIST
from pipelines.writing.patch import array_values
from pipelines.writing.substances import LEGACY, PARTS
from schemas.fields import COMPONENT_FIELDS, SKU_CODE, SKU_FIELDS, Field
from schemas.formulas import as_cell
from schemas.sku import Component, Substances
from schemas.vocabularies import SUBSTANCES
from warehouse.skus.detail import StoredSku

Cell = str | float
Cells = dict[str, Cell]

_LONGEST: Final = 32_767
"""The most characters of a workbook's cell."""
_BLANK: Final = re.compile(r"[^\S\x1c-\x1f]*\Z")
_PLAIN: Final[Mapping[Table, tuple[Field, ...]]] = {
    "sku": tuple(field for field in SKU_FIELDS if not field.deprecated and field.name != "substances_source"),
    "component": COMPONENT_FIELDS,
}
_VOLUME: Final = volume_field().name


def order(table: Table) -> list[str]:
    """Return the columns of a sheet in their order, without volumes."""
    own = [field.name for field in _PLAIN[table] if field.kind not in ("substances", "components")]
    entries = [f"{substance}_{part}" for substance in SUBSTANCES for part in PARTS]
    return [*([] if table == "sku" else [SKU_CODE.name]), *own, *entries, LEGACY["heavy_metals"]]


def sku_cells(row: StoredSku) -> Cells:
    """Return the cells of a SKU from its value columns; lists, entries and volumes are in their stored text form."""
    lists = {"markets": array_values(row["markets"]) or None, "use_contexts": array_values(row["use_contexts"]) or None}
    values = {**row, **lists}
    entries: Substances = {name: orjson.loads(text) for name in SUBSTANCES if (text := row[name])}
    return {**_fields("sku", values), **_entries(entries), **_volumes(row["volumes"])}


def component_cells(row: StoredSku) -> Iterator[Cells]:
    """Yield the cells of each component of a SKU, in the order of its graph."""
    graph: list[Component] = orjson.loads(row["components"] or "[]")
    for line in graph:
        code = {SKU_CODE.name: _text(row["sku_code"])}
        yield {**code, **_fields("component", line), **_entries(line.get("substances", {}))}


def _fields(table: Table, values: Mapping[str, Any]) -> Cells:
    cells: Cells = {}
    for field in _PLAIN[table]:
        value = values.get(field.name)
        if value is None or field.kind in ("substances", "components"):
            continue
        if field.kind in ("codes", "markets"):
            value = ";".join(value) or EMPTY_LIST
        elif field.kind == "truth":
            value = "true" if value else "false"
        if isinstance(value, str):
            value = _text(value)
            if len(value) > _LONGEST:
                continue
        cells[field.name] = value
    return cells


def _text(text: str) -> str:
    return f"'{text}" if _BLANK.match(text) else as_cell(text)


def _entries(entries: Substances) -> Cells:
    """Return the columns of substance entries."""
    cells: Cells = {}
    for substance, entry in entries.items():
        if entry is None:
            continue
        given: dict[str, Any] = {part: entry[part] for part in PARTS if part in entry}
        if "evidence" in given:
            given["evidence"] = _text(given["evidence"])
        cells |= {f"{substance}_{part}": value for part, value in given.items()}
        if "below" in entry:
            cells[LEGACY[substance]] = f"<{entry['below']:.15g}"
    return cells


def _volumes(stored: str | None) -> Cells:
    """Return units by market, year and half."""
    cells: Cells = {}
    for key, units in orjson.loads(stored or "{}").items():
        market, year, half = key.split("/")
        name = f"{_VOLUME}_{market.lower().replace('-', '_')}_{year}"
        cells[name if half == "0" else f"{name}_h{half}"] = units
    return cells
