"""Writes the files that an import reads back: the template, the whole portfolio, and a change of chosen SKUs.

The template has the same bytes each time, so that nobody needs to fetch it again.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import (
    Any,  # Any: XlsxWriter ships no types
    Final,  # Any: XlsxWriter ships no types
    NamedTuple,
    Self,
)

import orjson
import xlsxwriter

from compliance.marks import is_doubtful
from pipelines.imports.submissions import csv_of
from pipelines.reading.grid import (
    ARTICLE,
    BESIDE,
    PART_HELPERS,
    SKU_HELPERS,
    SUBSTANCE_DETAILS,
    VOLUME,
    VOLUME_YEAR,
    Table,
    fields_of,
)
from pipelines.reading.mapping import Words
from pipelines.reading.sheet import MOST_ROWS
from pipelines.reading.values import EMPTY_LIST, LIST_SEPARATOR
from pipelines.reading.words import read_material
from pipelines.writing.json_fields import LEGACY, PARTS, array_values
from pipelines.writing.workbooks import Sheet, Workbook, plain_workbook
from schemas.fields import COMPONENT_FIELDS, NAME, SKU_CODE, SKU_FIELDS, Field
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.messages import Message, header, meaning, word
from schemas.normalise import quote
from schemas.refusals import Refused
from schemas.skus.types import Component, Substances
from schemas.texts import as_cell
from schemas.vocabularies import SUBSTANCES, VOCABULARIES
from schemas.words import fold
from warehouse import beside, suppliers
from warehouse.imports import words
from warehouse.operate.sessions import Connection
from warehouse.skus import portfolio
from warehouse.skus.queries import StoredSku

_UNITS: Final = {"percent": "%", "um": "µm", "g/cm3": "g/cm³"}
"""Units as they are shown, where that differs from their name."""
_STORAGE: Final = 10**9
_MARKETS: Final = ("FR", "DE")
"""Markets whose volumes have a column; their comment explains how to name others."""
_HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `name` is the import's own name of it, `choices` are the words of its drop-down list."""

    name: str
    field: Field
    header: str
    comment: str
    choices: tuple[str, ...] = ()


def columns(table: Table, lang: str) -> list[Column]:
    """Return the columns of a sheet in the order of the field table, without deprecated, rare and helping ones."""
    helpers = SKU_HELPERS if table == "sku" else PART_HELPERS
    unwanted = {field.name for field in (*helpers, *SUBSTANCE_DETAILS)}
    fields = [field for field in fields_of(table).values() if not field.deprecated and field.name not in unwanted]
    own_columns = [
        Column(f.name, f, _header(table, f, lang), _comment(table, f, lang), choices(f, lang)) for f in fields
    ]
    return own_columns if table == "component" else [*own_columns, *_volumes(lang)]


def _volumes(lang: str) -> Iterator[Column]:
    field = VOLUME
    for market in _MARKETS:
        title = f"{header('sku', field.name, lang)} {market}"
        yield Column(f"{field.name}_{market.lower()}", field, title, _comment("sku", field, lang))
    yield Column(VOLUME_YEAR.name, VOLUME_YEAR, _header("sku", VOLUME_YEAR, lang), _comment("sku", VOLUME_YEAR, lang))


def choices(field: Field, lang: str) -> tuple[str, ...]:
    """Return the words for the values of a field with a closed vocabulary."""
    if field.kind == "truth":
        return word("truth", "true", lang), word("truth", "false", lang)
    if field.vocabulary is None:
        return ()
    return tuple(word(field.vocabulary, code, lang) for code in VOCABULARIES[field.vocabulary])


def _header(table: Table, field: Field, lang: str) -> str:
    title = header(table, field.name, lang)
    return f"{title} ({_UNITS.get(field.unit, field.unit)})" if field.unit else title


def _comment(table: Table, field: Field, lang: str) -> str:
    """Return meaning, unit and limits, a line each."""
    lines = [meaning(table, field, lang)]
    if field.required:
        lines.append(phrase("required", lang))
    if field.unit:
        lines.append(phrase("unit", lang).format(_UNITS.get(field.unit, field.unit)))
    low, high = _bound(field.minimum), _bound(field.maximum)
    if low is not None and high is not None:
        lines.append(phrase("between", lang).format(low, high))
    elif low is not None:
        lines.append(phrase("at_least", lang).format(low))
    if field.max_length is not None:
        lines.append(phrase("longest", lang).format(field.max_length))
    if field.kind in ("codes", "markets"):
        lines.append(phrase("several", lang))
    return "\n".join(lines)


def _bound(limit: float | None) -> float | None:
    """Return a limit that concerns packaging; None for the widest number that can be stored."""
    return None if limit is None or abs(limit) >= _STORAGE else limit


@cache
def phrase(name: str, lang: str) -> str:
    """Return a sentence of the template's own, with a place for each number."""
    with (_HERE / "phrases.csv").open(encoding="utf-8", newline="") as file:
        return next(row["text"] for row in csv.DictReader(file) if (row["phrase"], row["lang"]) == (name, lang))


_MADE: Final = datetime(2026, 1, 1)  # noqa: DTZ001  (a workbook's dates have no zone; this one only has to stay)
_MAIN, _LISTS = "SKU", "lists"
_TEXTS: Final = ("text", "gtin", "uuid", "markets", "ppm")
"""Kinds whose cells are text, so that a spreadsheet keeps leading zeros."""
_NARROWEST: Final = 12
"""The least width of a column, in characters."""
_COMMENT: Final = {"x_scale": 2.2, "y_scale": 1.6}


@cache
def template(lang: str) -> bytes:
    """Write the workbook in one of `schemas.messages.LANGUAGES`."""
    target = io.BytesIO()
    with xlsxwriter.Workbook(target, {"in_memory": True}) as book:
        book.set_properties({"created": _MADE})
        lists = _Lists(book)
        _write(book, lists, _MAIN, "sku", lang)
        _write(book, lists, word("sheet", "components", lang).capitalize(), "component", lang)
        lists.finish()
    return target.getvalue()


def _write(book: Any, lists: "_Lists", name: str, table: Table, lang: str) -> None:
    sheet = book.add_worksheet(name)
    head = book.add_format({"bold": True, "bottom": 1, "bg_color": "#E8EEF4"})
    needed = book.add_format({"bold": True, "bottom": 1, "bg_color": "#F6D9A8"})
    text, example = book.add_format({"num_format": "@"}), book.add_format({"italic": True, "font_color": "#666666"})
    own = columns(table, lang)
    for at, column in enumerate(own):
        width = max(_NARROWEST, len(column.header) + 2)
        sheet.set_column(at, at, width, text if column.field.kind in _TEXTS else None)
        sheet.write_string(0, at, column.header, needed if column.field.required else head)
        sheet.write_comment(0, at, column.comment, _COMMENT)
        if column.choices:
            sheet.data_validation(1, at, MOST_ROWS, at, lists.rule(column))
    for line, record in enumerate(_examples(table, lang), 1):
        for at, column in enumerate(own):
            if column.name in record:
                sheet.write(line, at, _example_value(column, record[column.name], lang), example)
    sheet.freeze_panes(1, 1)


def _examples(table: Table, lang: str) -> Iterator[dict[str, str]]:
    """Yield the lines of the example. Their code is a word for an example, by which an import skips them."""
    with (Path(__file__).parent / "example.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["sheet"] == table and row["lang"] in ("*", lang)]
    for line in dict.fromkeys(row["line"] for row in rows):
        values = {row["field"]: row["value"] for row in rows if row["line"] == line}
        yield {"sku_code": f"{word('line', 'example', lang).upper()}-001", **values}


def _example_value(column: Column, value: str, lang: str) -> str | float:
    """Return a value of the example as people of the language write it."""
    kind = column.field.kind
    if kind in ("number", "integer"):
        return float(value)
    if kind == "truth":
        return word("truth", value, lang)
    if kind in ("code", "codes") and column.field.vocabulary:
        return word(column.field.vocabulary, value, lang)
    return value


class _Lists:
    """The words of the drop-downs, on a hidden sheet: a rule itself has room for a list of 255 characters."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._of: dict[tuple[str, ...], int] = {}

    def rule(self, column: Column) -> dict[str, object]:
        """Return the rule of a column. It only advises: the import also takes codes, other words, and several."""
        at = self._of.setdefault(column.choices, len(self._of))
        letters = xlsxwriter.utility.xl_col_to_name(at, col_abs=True)
        source = f"={_LISTS}!{letters}$1:{letters}${len(column.choices)}"
        return {
            "validate": "list",
            "source": source,
            "error_type": "warning",
            "show_error": column.field.kind != "codes",
        }

    def finish(self) -> None:
        """Write the lists, behind the sheets that people fill in."""
        sheet = self._book.add_worksheet(_LISTS)
        for choices, at in self._of.items():
            sheet.write_column(0, at, choices)
        sheet.hide()


Cell = str | float
Cells = dict[str, Cell]

_LONGEST: Final = 32_767
"""The most characters of a workbook's cell."""
_BLANK: Final = re.compile(r"[^\S\x1c-\x1f]*\Z")
_PLAIN: Final[Mapping[Table, tuple[Field, ...]]] = {
    "sku": (
        *(field for field in SKU_FIELDS if not field.deprecated and field.name != "substances_source"),
        *BESIDE["printed"],
        *BESIDE["roles"],
    ),
    "component": (*COMPONENT_FIELDS, ARTICLE),
}
"""Fields of the record, and those of what is stored beside it."""
_VOLUME: Final = VOLUME.name


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
    return {**_fields("sku", values), **_entries(entries), **_volume_cells(row["volumes"])}


def component_cells(row: StoredSku, numbers: Mapping[tuple[str, str], str] = MappingProxyType({})) -> Iterator[Cells]:
    """Yield the cells of each component of a SKU, in the order of its graph.

    `numbers` are those under which suppliers sell parts, by the ids of both.
    """
    graph: list[Component] = orjson.loads(row["components"] or "[]")
    code = {SKU_CODE.name: _text(row["sku_code"])}
    for line in graph:
        number = numbers.get((line["id"], line.get("supplier_id") or ""))
        own = _fields("component", {**line, ARTICLE.name: number})
        yield {**code, **own, **_entries(line.get("substances", {}))}


class _Beside(NamedTuple):
    """What is stored beside the records of a company: marks and roles by code, suppliers' numbers of parts."""

    printed: Mapping[str, Mapping[str, Any]]
    roles: Mapping[str, Mapping[str, Any]]
    numbers: Mapping[tuple[str, str], str]

    @classmethod
    def read(cls, conn: Connection) -> Self:
        """Read it for the session's company."""
        return cls(beside.every(conn, beside.MARKS), beside.every(conn, beside.ROLES), suppliers.every_number(conn))

    def cells(self, code: str) -> Cells:
        """Return the cells of what is printed on a SKU and of who is who, in the columns that an import reads.

        Claims, digital marks, and marks whose names or answers one cell cannot say have no column.
        """
        printed, roles = self.printed.get(code, {}), self.roles.get(code, {})
        marks = printed.get("marks")
        names = [mark["mark"] for mark in marks or () if mark["carrier"] == "printed"]
        answers = {mark["of_epr"] for mark in marks or () if is_doubtful(mark["mark"])}
        values: dict[str, Any] = {f"role_{name}": value for name, value in roles.items()}
        values["marks_of_epr"] = answers.pop() if len(answers) == 1 else None
        values["artwork_changes_on"] = printed.get("changes_on")
        values |= {name: printed.get(name) for name in ("artwork_reference", "artwork_state")}
        if marks is not None and not any(LIST_SEPARATOR.search(name) for name in names):
            values["printed_marks"] = "; ".join(names) or EMPTY_LIST
        return _fields("sku", values)


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
        values: dict[str, Any] = {part: entry[part] for part in PARTS if part in entry}
        if "evidence" in values:
            values["evidence"] = _text(values["evidence"])
        cells |= {f"{substance}_{part}": value for part, value in values.items()}
        if "below" in entry:
            cells[LEGACY[substance]] = f"<{entry['below']:.15g}"
    return cells


def _volume_cells(stored: str | None) -> Cells:
    """Return units by market, year and half."""
    cells: Cells = {}
    for key, units in orjson.loads(stored or "{}").items():
        market, year, half = key.split("/")
        name = f"{_VOLUME}_{market.lower().replace('-', '_')}_{year}"
        cells[name if half == "0" else f"{name}_h{half}"] = units
    return cells


_SKUS, _COMPONENTS = "SKU", "components"


@dataclass(frozen=True, slots=True)
class Exported:
    """How many SKUs, components and volume rows were written."""

    skus: int
    components: int
    volumes: int


def export(conn: Connection, path: str) -> Exported:
    """Write the portfolio of the session's company, SKUs by code, as it is at one instant."""
    used: dict[Table, set[str]] = {"sku": {"sku_code", "name"}, "component": set()}
    with portfolio.every(conn) as walk:
        more = _Beside.read(conn)
        for row in walk():
            used["sku"].update(sku_cells(row), more.cells(row["sku_code"]))
            used["component"].update(*component_cells(row, more.numbers))
        places = {table: _places(table, names) for table, names in used.items()}
        with Workbook(path, {"constant_memory": True}) as book:
            skus = Sheet(book, _SKUS, list(places["sku"]))
            parts = Sheet(book, _COMPONENTS, list(places["component"])) if places["component"] else None
            plain, volumes = set(order("sku")), 0
            for row in walk():
                cells = sku_cells(row)
                skus.add(_line(places["sku"], cells | more.cells(row["sku_code"])))
                volumes += len(cells.keys() - plain)
                for component in component_cells(row, more.numbers):
                    assert parts is not None, "the columns of components were found in the same rows"
                    parts.add(_line(places["component"], component))
            return Exported(skus.lines, parts.lines if parts else 0, volumes)


def _places(table: Table, names: set[str]) -> dict[str, int]:
    """Return the place of each column that is used, volumes last."""
    plain = order(table)
    ordered = [*(name for name in plain if name in names), *sorted(names.difference(plain))]
    return {column: at for at, column in enumerate(ordered)}


def _line(places: dict[str, int], cells: Cells) -> Iterator[tuple[int, Cell]]:
    """Yield the cells with their places. A workbook's numbers have 16 digits; a text has all of them."""
    for name, cell in cells.items():
        yield places[name], cell if isinstance(cell, str) or float(f"{cell:.16G}") == cell else repr(cell)


_OF_PART: Final = ("supplier_id", "polymer_or_grade")
_NOTHING_LACKS: Final = Message("No part of these items lacks what you set, so nothing would change.")


@dataclass(frozen=True, slots=True)
class ChangeFile:
    """A file that changes chosen SKUs, its name, and the mapping with which an import reads it as it was meant."""

    data: bytes
    filename: str
    mapping: JsonObject


def change_file(conn: Connection, codes: Sequence[str], fields: Mapping[str, Any]) -> ChangeFile:
    """Return the file that sets the fields (`schemas.skus.inputs.CHANGED_FIELDS`) of the SKUs of these codes.

    A field of a part is filled in where a part has none; no line of a file changes a part alone, so the graph of its
    SKU is written whole. Raise `Refused` where the polymer is not known, and where nothing would change.
    """
    entries = {f"{substance}_status": fields[substance] for substance in SUBSTANCES if substance in fields}
    cells = _fields("sku", fields) | entries
    parts = {name: fields[name] for name in _OF_PART if name in fields}
    graphs = dict(_filled_graphs(conn, codes, parts)) if parts else {}
    changed = codes if cells else list(graphs)
    if not changed:
        raise Refused([Issue("required", _NOTHING_LACKS, "fields")])
    rows: list[Cells] = [{SKU_CODE.name: _text(code), **cells} for code in changed]
    lines = [line for graph in graphs.values() for line in graph]
    own_words = words.for_reading(conn)
    mapping = _mapping_of(rows, own_words)
    mapping["columns"] = {SKU_CODE.name: SKU_CODE.name, NAME.name: None}
    filename = f"change of {len(changed)} item{'s' if len(changed) > 1 else ''}"
    if not lines:
        return ChangeFile(csv_of(rows).encode(), f"{filename}.csv", mapping)
    book = plain_workbook({_SKUS: rows, _COMPONENTS: lines})
    mapping |= {"sheet": _SKUS, "components": {"sheet": _COMPONENTS, **_mapping_of(lines, own_words)}}
    return ChangeFile(book, f"{filename}.xlsx", mapping)


def _filled_graphs(
    conn: Connection, codes: Sequence[str], parts: Mapping[str, str]
) -> Iterator[tuple[str, list[Cells]]]:
    """Yield code and lines of each SKU with a part that lacks one of the fields, filled in.

    A polymer or grade is filled in where the part is of its material family.
    """
    polymer = parts.get("polymer_or_grade")
    material = None if polymer is None else read_material(polymer, "material_family")
    if polymer is not None and material is None:
        sentence = Message("{text} is no known polymer or grade; write for example PP or PET.", text=quote(polymer))
        raise Refused([Issue("not_in_vocabulary", sentence, "polymer_or_grade")])
    for row in portfolio.of_codes(conn, codes):
        lines, is_filled = list(component_cells(row)), False
        for line in lines:
            for name, value in parts.items():
                is_meant = name != "polymer_or_grade" or (material and line.get("material_family") == material.family)
                if name not in line and is_meant:
                    line[name], is_filled = _text(value), True
        if is_filled:
            yield row["sku_code"], lines


def _mapping_of(rows: Sequence[Cells], own_words: Words) -> JsonObject:
    """Return the mapping by which a sheet is read line by line, and each text as what it says.

    Else a code like “total” would end the table, and the company's own words would change what was set.
    """
    texts: dict[str, dict[str, str]] = {}
    for name in own_words.keys() & {name for row in rows for name in row}:
        own = {fold(text) for text in own_words[name]}
        cells = {cell for row in rows if isinstance(cell := row.get(name), str)}
        parts = {fold(part): part for cell in cells for part in (cell, *LIST_SEPARATOR.split(cell))}
        if literal := {part: part for folded, part in parts.items() if folded in own}:
            texts[name] = literal
    return {"header_row": 1, "lines": {f"2-{len(rows) + 1}": "read"}, **({"values": texts} if texts else {})}
