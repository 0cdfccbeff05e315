"""Checks the mapping of the caller, which describes the file where detection is not enough; applies its values.

`{"columns": {field: header | letter | [headers] | null}, "constants": {field: value}, "values": {field: {text: value}},
"sheet"?, "header_row"?, "units"?, "lists"?, "lines"?, "quantity"?, "decimal"?: "," | ".", "layout"?, "sheets"?,
"encoding"?, "create"?, "components"?: {what is about one sheet, of the components sheet}}`; decisions §4 and §13.
Fields and their values are checked here (`mapping.py`); `header.py` looks for the columns in the file.

How a table was read is published with the effect of the mapping. Where a needed column is not known, the table is
refused with its outline, so that a person can name it. An outline has the form of the source of a file that was read:
what each header alone says, and samples of the cells. No row is read.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias  # Any: members of JSON, checked by what they must be
from uuid import UUID, uuid4

import polars as pl

from pipelines.reading.columns import field_column, recognise
from pipelines.reading.grammar import Sense, measure_of
from pipelines.reading.grid import (
    CLEARED,
    MOST_COLUMNS,
    Column,
    Grid,
    ReadingRefused,
    Table,
    cut,
    fields_of,
    invalid_mapping,
    letter,
)
from pipelines.reading.questions import NOTHING_READ
from pipelines.reading.values import LIST_SEPARATOR, MATERIALS, read_values
from pipelines.reading.words import read_material, unit_of
from schemas.fields import SKU_CODE
from schemas.imports.types import ImportSource, SourceSheet
from schemas.json_values import JsonMapping, JsonObject
from schemas.messages import Message, from_json
from schemas.normalise import quote
from schemas.words import fold

Words: TypeAlias = Mapping[str, Mapping[str, object]]
"""A company's own words: by field, the value that a text in its files means; null for an empty cell."""

_OF_PARTS: Final = {"material": "material_family", "material_subtype": "polymer_or_grade"}
"""The fields of a part that a column of the SKU's may turn out to be, once the layout is known."""
_LISTS: Final = ("codes", "markets")
_NEAREST: Final = 3


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Replacements of texts in a field's cells: folded text -> the cell that is read instead, null for an empty one.

    `sent` are those of the caller's mapping as it was sent, `own` those of the company's own words.
    """

    column: Column
    cells: Mapping[str, str | None]
    sent: Mapping[str, object]
    own: Mapping[str, object] = field(default_factory=dict)

    def applies_to(self, column: Column) -> bool:
        """Return whether the column contains the field, in any of the groups of components side by side.

        A column of the SKU's material is the parts' where the lines of a SKU are its parts.
        """
        if self.column.table == "component" and _OF_PARTS.get(column.field.name) == self.column.field.name:
            return column.constant is None
        if column.table != self.column.table or column.constant is not None:
            return False
        if self.column.field.name == "component_type" and column.field.name == "shape":
            return True  # a shape gives the type of its part
        one = (self.column.name, f"component_{self.column.name}")
        in_group = column.group is not None and self.column.group is None
        return column.name in one or (in_group and column.field == self.column.field)

    def apply(self, cells: pl.Series) -> pl.Series:
        """Return the cells with their texts replaced; a text that names more than its replacement stays."""
        distinct = cells.drop_nulls().unique(maintain_order=True)
        read = [cell if self._says_more(cell) else self._cell(cell) for cell in distinct]
        return cells.replace_strict(distinct, read, default=None, return_dtype=pl.String)

    def _says_more(self, cell: str) -> bool:
        """Return whether a material's text names the family that replaces it, and its kind: `Weißblech` for metal."""
        if self.column.field.name not in MATERIALS or (to := self.cells.get(fold(cell))) is None:
            return False
        material, plain = (read_material(text, str(self.column.field.vocabulary)) for text in (cell, to))
        return material is not None and material.detail is not None and plain == (material.family, None)

    def own_words_in(self, cells: pl.Series) -> dict[str, object]:
        """Return the company's own words that occur in the cells, with their values."""
        if not self.own:
            return {}
        texts = {fold(cell) for cell in cells.drop_nulls().unique()}
        if self.column.field.kind in _LISTS:
            texts |= {fold(part) for cell in cells.drop_nulls().unique() for part in LIST_SEPARATOR.split(cell)}
        return {text: value for text, value in self.own.items() if fold(text) in texts}

    def _cell(self, cell: str) -> str | None:
        if (folded := fold(cell)) in self.cells:
            return self.cells[folded]
        if self.column.field.kind not in _LISTS:
            return cell
        parts = [self.cells.get(fold(part), part) for part in LIST_SEPARATOR.split(cell)]
        return ";".join(part for part in parts if part is not None)


def named_field(name: str, table: Table) -> Column:
    """Return the column of a field's own name. Raises `ReadingRefused` with the nearest names."""
    column = field_column(name, table)
    if column is None:  # the name may be a usual header of a field, or be like others
        own = recognise(name, 0, table)
        meant = [] if own is None or own.group is not None else [own.name]
        alike = get_close_matches(fold(name).replace(" ", "_"), _all_field_names(table), n=_NEAREST, cutoff=0.0)
        near = ", ".join(list(dict.fromkeys([*meant, *alike]))[:_NEAREST])
        message = Message(
            "The mapping is wrong: there is no field {name}. The nearest are: {near}.", name=quote(name), near=near
        )
        raise invalid_mapping(message)
    return column


def constant_column(name: str, value: object, table: Table, at: int) -> Column:
    """Return a column with the same cell in every line; its position is behind the table, as the `at`-th of those."""
    column = named_field(name, table)
    if column.field == SKU_CODE:
        raise invalid_mapping(Message("The mapping is wrong: sku_code cannot be a constant."), "mapping.constants")
    text = _cell_text(value)
    if text is None:
        message = Message("A constant is a text, a number, true or false, or an array of texts.")
        raise invalid_mapping(message, f"mapping.constants.{name}")
    _check_value(column, text, f"mapping.constants.{name}")
    return replace(column, position=MOST_COLUMNS + at, header="", exact=False, mapped=True, constant=text)


def check_rewriting(name: str, texts: object, table: Table) -> Rewriting:
    """Check the values that a mapping gives for the texts of a field's cells."""
    column, place = named_field(name, table), f"mapping.values.{name}"
    if not isinstance(texts, Mapping):
        raise invalid_mapping(Message("The values of a field are an object of text in the file: value."), place)
    cells: dict[str, str | None] = {}
    for text, value in texts.items():
        if not text.strip():
            message = Message("An empty cell has no text that could mean something; give a constant, or leave it out.")
            raise invalid_mapping(message, place)
        cell = _cell_text(value)
        if value is not None and cell is None:
            message = Message(
                "A value is a text, a number, true or false, an array of texts, or null for an empty cell."
            )
            raise invalid_mapping(message, place)
        if cells.setdefault(fold(text), cell) != cell:
            message = Message(
                "{text} is written in two ways that differ only in case, accents or spaces; keep one.", text=quote(text)
            )
            raise invalid_mapping(message, place)
        if cell is not None:
            _check_value(column, cell, place)
    return Rewriting(column, cells, texts)


def with_own_words(rewritings: Iterable[Rewriting], words: Words, table: Table) -> tuple[Rewriting, ...]:
    """Add the company's own words to a mapping's replacements, which count where both have a text.

    Fields that the table lacks are left out. A word was checked when the company stored it; if its value has left the
    vocabulary since, the cell is a fault like any other.
    """
    by_name = {rewriting.column.name: rewriting for rewriting in rewritings}
    for name, values in words.items():
        if (column := field_column(name, table)) is None:
            continue
        of_mapping = by_name.get(column.name) or Rewriting(column, {}, {})
        own = {text: value for text, value in values.items() if fold(text) not in of_mapping.cells}
        # A record's name that others have, too, stands for itself: it is known, and its cell is a fault that says so.
        replaced = {text: value for text, value in own.items() if column.field.kind != "uuid" or value != text}
        cells = {fold(text): _cell_text(value) for text, value in replaced.items()}
        by_name[column.name] = replace(of_mapping, cells={**cells, **of_mapping.cells}, own={**of_mapping.own, **own})
    return tuple(by_name.values())


def with_names(columns: Iterable[Column], rewritings: Iterable[Rewriting]) -> tuple[Column, ...]:
    """Return the columns, those of references with the names that the company's records have."""
    own = [rewriting for rewriting in rewritings if rewriting.column.field.kind == "uuid" and rewriting.own]
    return tuple(
        replace(
            column, names=tuple(name for rewriting in own if rewriting.applies_to(column) for name in rewriting.own)
        )
        if column.field.kind == "uuid"
        else column
        for column in columns
    )


def _check_value(column: Column, text: str, place: str) -> None:
    """Refuse a value that the field cannot contain."""
    if text in CLEARED and column.field.nullable:
        return
    if column.field.name == "weight_unit" and unit_of(text, "g") is None:
        message = Message("{text} is no unit of mass; write g, kg, mg, t, oz or lb.", text=quote(text))
        raise invalid_mapping(message, place)
    if column.field.name in MATERIALS and read_material(text, str(column.field.vocabulary)) is not None:
        return
    faults = read_values(pl.Series([text]), column, ".", None).faults
    if faults.height:
        raise invalid_mapping(from_json(faults["message"][0]), place)


def _cell_text(value: object) -> str | None:
    """Return a value of the mapping as cell text; None for a value that no cell can contain."""
    match value:
        case bool() | int() | float():
            return json.dumps(value)
        case str() if value.strip():
            return value
        case list() if value and all(isinstance(part, str) for part in value):
            return ";".join(value)
    return None


@cache
def _all_field_names(table: Table) -> list[str]:
    """Return every field's own name; beside the SKU's fields those of components have a prefix."""
    own = list(fields_of(table))
    more = [f"component_{name}" for name in fields_of("component")] if table == "sku" else []
    return [name for name in (*own, *more) if field_column(name, table) is not None]


LAYOUTS: Final = ("rows", "long", "wide", "materials")
LISTS: Final = ("iso", "uk_rpd", "uk_nations", "us_states", "97_129", "ours")
QUANTITIES: Final = ("multiply", "divide", "ignore")
_OF_SHEET: Final = ("columns", "constants", "values", "sheet", "header_row", "units", "lists", "lines", "quantity")
_KEYS: Final = (*_OF_SHEET, "decimal", "layout", "components", "sheets", "encoding", "create")
_RANGE: Final = re.compile(r"(?:(.+)!)?([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?", re.DOTALL)
_UNITS: Final = Message("units must be an object of field: unit, such as g, kg/1000, per case of 12 or fraction")
_LINES_MUST: Final = Message('lines must be an object of line or range, such as 12 or 12-18: "skip" or "read"')
_COLUMNS: Final = Message("columns must be an object of field: header, column letter, array of headers, or null")


class MappedLines(NamedTuple):
    """Lines of the file, the last one included, that the mapping says to read or to skip; on each sheet or on one."""

    first: int
    last: int
    read: bool
    sheet: str | None


@dataclass(frozen=True, slots=True)
class SheetMapping:
    """The part of a mapping for one sheet; everything is optional.

    `columns` are the headers or letters of each field, of which the first that the file has counts; `off` are fields
    that are read from no column; `constants` are columns with the same cell in every line, as the caller wrote it;
    `values` give the meaning of a field's cells. `units` are the units of fields as a person writes them, `lists` the
    code lists and `quantity` the use of columns, by header or letter; `lines` are read or skipped by the mapping.
    """

    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    off: tuple[Column, ...] = ()
    constants: tuple[Column, ...] = ()
    values: tuple[Rewriting, ...] = ()
    sheet: str | None = None
    header_row: int | None = None
    units: tuple[tuple[Column, Sense], ...] = ()
    lists: Mapping[str, str] = field(default_factory=dict)
    quantity: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[MappedLines, ...] = ()

    def reads(self, column: Column) -> bool:
        """Return whether the column of a field may be read: neither switched off nor given as a constant."""
        return not any(same_field(column, other) for other in (*self.off, *self.constants))

    def unit_of(self, column: Column) -> Sense | None:
        """Return the unit that is given for the field of a column; that of a part's field holds in each group too."""
        for of, unit in self.units:
            of_parts = column.table == "component" and of.group is None and column.field == of.field
            if column.table == of.table and (column.name == of.name or of_parts):
                return unit
        return None


@dataclass(frozen=True, slots=True)
class CheckedMapping(SheetMapping):
    """A mapping whose parts have the right types: for the sheet of SKUs, and for the whole file.

    `words` are the company's own, which apply to every table. `sheets` are the sheets of one table, or all that have
    its header; `encoding` is that of a text; with `create`, suppliers, brands and sites are made by their names, with
    ids of the namespace `new_ids`. With `without_components` no sheet of components is read: `{"components": null}`.
    """

    decimal: Literal[",", "."] | None = None
    words: Words = field(default_factory=dict)
    layout: str | None = None
    components: SheetMapping | None = None
    sheets: tuple[str, ...] | Literal["all"] | None = None
    encoding: str | None = None
    create: bool = False
    new_ids: UUID | None = None
    without_components: bool = False

    def of_table(self, table: Table) -> SheetMapping:
        """Return the part for the sheet of SKUs or of components, with the company's own words."""
        part = self if table == "sku" else self.components or SheetMapping()
        return replace(part, values=with_own_words(part.values, self.words, table)) if self.words else part


def same_field(column: Column, other: Column) -> bool:
    """Return whether both are of one field; a SKU's and a component's field of one name are different fields."""
    return (column.table, column.name) == (other.table, other.name)


def merged(earlier: JsonMapping, answer: JsonMapping) -> dict[str, object]:
    """Return an earlier mapping with the pieces of an answer, which count where both say something."""
    both = dict(earlier)
    for key, piece in answer.items():
        before = both.get(key)
        both[key] = merged(before, piece) if isinstance(before, Mapping) and isinstance(piece, Mapping) else piece
    return both


def check_mapping(mapping: Mapping[str, object] | None, words: Words | None = None) -> CheckedMapping:
    """Return the mapping as the reader uses it. Raises `ReadingRefused` with `invalid_mapping`."""
    words = words or {}
    if mapping is None:
        return CheckedMapping(words=words)
    _check_keys(mapping, _KEYS)
    decimal = _member(mapping, "decimal", (",", ".").__contains__, Message('decimal must be "," or "."'))
    layouts = Message("layout must be one of: {layouts}", layouts=", ".join(LAYOUTS))
    layout = _member(mapping, "layout", LAYOUTS.__contains__, layouts)
    must = Message("components must be an object with columns, constants, values, sheet or header_row")
    if (parts := _member(mapping, "components", _is_object, must)) is not None:
        _check_keys(parts, _OF_SHEET)
    components = None if parts is None else SheetMapping(**_check_sheet(parts, "component"))
    main = _check_sheet(mapping, "sku")
    return CheckedMapping(
        **main, decimal=decimal, words=words, layout=layout, components=components, **_check_file(mapping)
    )


def _check_file(mapping: JsonMapping) -> JsonObject:
    """Return the members of `CheckedMapping` that are about the whole file."""
    must = Message('sheets must be an array of names of sheets, or "all"')
    sheets = _member(
        mapping,
        "sheets",
        lambda value: value == "all" or (isinstance(value, list) and bool(value) and all(map(_is_text, value))),
        must,
    )
    must = Message("encoding must be the name of an encoding, such as windows-1250")
    encoding = _member(mapping, "encoding", _is_text, must)
    create = _member(mapping, "create", (True, False).__contains__, Message("create must be true or false"))
    off = "components" in mapping and mapping["components"] is None
    return {
        "sheets": tuple(sheets) if isinstance(sheets, list) else sheets,
        "encoding": encoding,
        "create": bool(create),
        "new_ids": uuid4() if create else None,
        "without_components": off,
    }


def _check_keys(mapping: Mapping[str, object], keys: Sequence[str]) -> None:
    if unknown := sorted(set(mapping) - set(keys)):
        raise _wrong_mapping(Message("{key} is none of its keys: {keys}", key=quote(unknown[0]), keys=", ".join(keys)))


def _check_sheet(mapping: JsonMapping, table: Table) -> JsonObject:
    """Return the members of `SheetMapping` for one sheet."""
    sheet = _member(mapping, "sheet", _is_text, Message("sheet must be the name of a sheet"))
    must = Message("header_row must be a line number, counted from 1, or 0 where there is no header")
    row = _member(
        mapping, "header_row", lambda number: type(number) in (int, float) and number >= 0 == number % 1, must
    )
    row = None if row is None else int(row)  # JSON has one kind of number: 1.0 is 1
    columns, off = _check_columns(_object_at(mapping, "columns", _COLUMNS), table)
    sent_constants = _object_at(mapping, "constants", Message("constants must be an object of field: value"))
    constants = tuple(
        constant_column(name, value, table, at) for at, (name, value) in enumerate(sent_constants.items())
    )
    _check_unique(constants)
    of_columns = [named_field(name, table) for name in columns]
    if both := next((one for one in constants if any(same_field(one, other) for other in of_columns)), None):
        raise _wrong_mapping(Message("{name} has a column and a constant; say one of them", name=both.name))
    sent_values = _object_at(
        mapping, "values", Message("values must be an object of field: {{text in the file: value}}")
    )
    values = tuple(check_rewriting(name, texts, table) for name, texts in sent_values.items())
    must = Message("lists must be an object of column: one of {lists}", lists=", ".join(LISTS))
    lists = _choices(mapping, "lists", LISTS, must)
    must = Message("quantity must be an object of column: one of {uses}", uses=", ".join(QUANTITIES))
    quantity = _choices(mapping, "quantity", QUANTITIES, must)
    units = _object_at(mapping, "units", _UNITS)
    if not all(isinstance(unit, str) and unit.strip() for unit in units.values()):
        raise _wrong_mapping(_UNITS)
    return {
        "columns": columns,
        "off": off,
        "constants": constants,
        "values": values,
        "sheet": sheet,
        "header_row": row,
        "units": tuple(_checked_unit(name, str(unit), table) for name, unit in units.items()),
        "lists": lists,
        "quantity": quantity,
        "lines": _lines(_object_at(mapping, "lines", _LINES_MUST)),
    }


def _checked_unit(name: str, unit: str, table: Table) -> tuple[Column, Sense]:
    """Return a field with its unit, which can be converted into the unit of the field."""
    column = named_field(name, table)
    if (said := measure_of(unit, column.field.unit)) is None:
        wrong = Message("{unit} is no unit of {name} that can be converted", unit=quote(unit), name=name)
        raise _wrong_mapping(wrong, f"mapping.units.{name}")
    return column, said


def _choices(mapping: JsonMapping, key: str, allowed: Sequence[str], must: Message) -> dict[str, str]:
    """Return what the mapping chooses for columns, named by header or letter."""
    chosen = _object_at(mapping, key, must)
    if not all(choice in allowed for choice in chosen.values()):
        raise _wrong_mapping(must)
    return {column: str(choice) for column, choice in chosen.items()}


def _lines(sent: Mapping[str, object]) -> tuple[MappedLines, ...]:
    lines = []
    for text, use in sent.items():
        match = _RANGE.fullmatch(text)
        sheet, first, last = match.groups() if match else (None, 1, 0)
        if use not in ("skip", "read") or int(last or first) < int(first):
            raise _wrong_mapping(_LINES_MUST)
        lines.append(MappedLines(int(first), int(last or first), use == "read", sheet))
    return tuple(lines)


def _check_columns(sent: Mapping[str, object], table: Table) -> tuple[dict[str, tuple[str, ...]], tuple[Column, ...]]:
    """Return the headers of each field that is mapped, and the fields that are switched off."""
    columns: dict[str, tuple[str, ...]] = {}
    off: list[Column] = []
    fields = {name: named_field(name, table) for name in sent}
    _check_unique(fields.values())
    for name, to in sent.items():
        headers = to if isinstance(to, list) else [to]
        if to is None:
            off.append(fields[name])
        elif not headers or not all(isinstance(header, str) and header.strip() for header in headers):
            raise _wrong_mapping(_COLUMNS)
        else:
            columns[name] = tuple(map(str, headers))
    if needed := next((column.name for column in off if column.field.name == "sku_code"), None):
        raise _wrong_mapping(Message("{name} cannot be switched off; each line needs it", name=needed))
    return columns, tuple(off)


def _check_unique(columns: Iterable[Column]) -> None:
    """Refuse two spellings of one field: they would leave it open which one is meant."""
    seen: set[tuple[str, str]] = set()
    for column in columns:
        if (column.table, column.name) in seen:
            raise _wrong_mapping(Message("{name} is named twice; name it once", name=column.name))
        seen.add((column.table, column.name))


def _object_at(mapping: JsonMapping, key: str, must: Message) -> JsonMapping:
    return _member(mapping, key, _is_object, must) or {}


def _member(mapping: JsonMapping, key: str, fits: Callable[[Any], bool], must: Message) -> Any:
    """Return a member of the mapping, None where it is not given. Refuse one that does not fit."""
    value = mapping.get(key)
    if value is not None and not fits(value):
        raise _wrong_mapping(must)
    return value


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _wrong_mapping(what: Message, field: str = "mapping") -> ReadingRefused:
    return invalid_mapping(Message("The mapping is wrong: {wrong}.", wrong=what), field)


Off: TypeAlias = tuple[tuple[str, int | None, str | None], ...]
"""The fields that a mapping switches off, each with the position and header of the column it would be read from."""
Samples: TypeAlias = Mapping[int, list[str]]
"""Texts of a column's cells, by the column's position."""
_SAMPLED_ROWS: Final = 200
_MOST_SAMPLES: Final = 3
_LONGEST_SAMPLE: Final = 60
_MOST_OUTLINED: Final = 500
"""Most columns of an outline: a person looks through them."""


def switched_off(mapped: SheetMapping, recognised: Sequence[Column]) -> Off:
    """Return the fields that the mapping reads from no column, each with the column that it would have had."""
    had = {of.name: next((other for other in recognised if same_field(of, other)), None) for of in mapped.off}
    return tuple((name, None, None) if c is None else (name, c.position, c.header) for name, c in had.items())


def samples_of(cells: pl.DataFrame) -> Samples:
    """Return up to three different texts of each column of a grid (`c0`, `c1`, …), from its first rows."""
    top = cells.head(_SAMPLED_ROWS).to_dict(as_series=False)
    texts = {int(name[1:]): dict.fromkeys(c for c in of_column if c is not None) for name, of_column in top.items()}
    return {at: [cut(text, _LONGEST_SAMPLE) for text in [*some][:_MOST_SAMPLES]] for at, some in texts.items()}


def published_table(
    sheet: str | None,
    header_row: int,
    columns: Iterable[Column],
    ignored: Iterable[tuple[int, str]],
    *,
    samples: Samples,
    mapped: SheetMapping,
    off: Off,
    in_question: Collection[int] = (),
) -> SourceSheet:
    """Return where a table is read from, as `source.components` shows it, with the effect of the mapping.

    Of the `columns`, constants of the mapping are none of the file, and those `in_question` by position are not read.
    `samples` are texts of columns by position, for people who choose the fields; empty columns have none.
    """
    columns = list(columns)
    of_file = [column for column in columns if column.constant is None]
    read = [column for column in of_file if column.position not in in_question]
    table: SourceSheet = {
        "sheet": sheet,
        "header_row": header_row,
        "columns": [{"field": c.name, "column": letter(c.position), "header": cut(c.header)} for c in read],
        "ignored": [{"column": letter(at), "header": cut(header)} for at, header in ignored],
        "decimal_marks": {},
        "hidden": None,
        "samples": {letter(at): texts for at, texts in samples.items() if texts},
        "words": {},
        "mapped": list(dict.fromkeys(column.name for column in of_file if column.mapped)),
        "switched_off": [
            {"field": name, "column": None if at is None else letter(at), "header": header} for name, at, header in off
        ],
        "constants": {c.name: c.constant for c in columns if c.constant is not None},
        "values": {rewriting.column.name: dict(rewriting.sent) for rewriting in mapped.values if rewriting.sent},
    }
    if mapped.header_row is not None:
        table["header_row_mapped"] = True
    return table


def outline_of(
    table: Table,
    sheet: str | None,
    mapped: SheetMapping,
    off: Off,
    *,
    header_row: int,
    cells: Sequence[str | None],
    body: Grid,
    recognised: Sequence[Column],
) -> ImportSource:
    """Return the outline of a table; `cells` is its header, `body` are the lines below.

    A field that several columns fit is given to none of them.
    """
    fitting = Counter((column.table, column.name) for column in recognised)
    columns = [column for column in recognised if fitting[column.table, column.name] == 1][:_MOST_OUTLINED]
    samples, used = samples_of(body.cells), {column.position for column in columns}
    others = [(at, cell or "") for at, cell in enumerate(cells) if at not in used and (cell or samples.get(at))]
    others = others[:_MOST_OUTLINED]
    texts = {at: samples.get(at, []) for at in (*used, *dict(others))}
    every = [*columns, *mapped.constants]
    part = published_table(sheet, header_row, every, others, samples=texts, mapped=mapped, off=off)
    source: ImportSource = {**NOTHING_READ, "components": part} if table == "component" else {**NOTHING_READ, **part}
    source["layout"] = "long" if any(column.table == "component" for column in columns) else "rows"
    return source
