"""Checks the mapping of the caller, which describes the file where detection is not enough; applies its values.

`{"columns": {field: header | letter | [headers] | null}, "constants": {field: value}, "values": {field: {text: value}},
"sheet"?, "header_row"?, "units"?, "lists"?, "lines"?, "quantity"?, "decimal"?: "," | ".", "layout"?, "sheets"?,
"encoding"?, "create"?, "components"?: {what is about one sheet, of the components sheet}}`; decisions §4 and §13.
Fields and their values are checked here (`named_fields.py`); `header.py` looks for the columns in the file.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias  # Any: members of JSON, checked by what they must be
from uuid import UUID, uuid4

import polars as pl

from pipelines.reading.fields import Column, Table
from pipelines.reading.grammar import Sense, measure_of
from pipelines.reading.grid import TEXT
from pipelines.reading.named_fields import (
    Rewriting,
    Words,
    check_rewriting,
    constant_column,
    named_field,
    with_own_words,
)
from pipelines.reading.refusal import ReadingRefused, refuse
from schemas.json_values import JsonMapping, JsonObject
from schemas.messages import Message
from schemas.normalise import shown

Replaced: TypeAlias = Mapping[str, Mapping[str, tuple[str, int]]]
"""By column, the texts that were replaced: the cell that is read instead, and the number of rows."""
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
    sheets = _member(mapping, "sheets", lambda given: given == "all" or _are_texts(given), must)
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
        raise _invalid_mapping(
            Message("{key} is none of its keys: {keys}", key=shown(unknown[0]), keys=", ".join(keys))
        )


def _check_sheet(mapping: JsonMapping, table: Table) -> JsonObject:
    """Return the members of `SheetMapping` for one sheet."""
    sheet = _member(mapping, "sheet", _is_text, Message("sheet must be the name of a sheet"))
    must = Message("header_row must be a line number, counted from 1, or 0 where there is no header")
    row = _member(mapping, "header_row", lambda given: type(given) is int and given >= 0, must)
    columns, off = _check_columns(_object_at(mapping, "columns", _COLUMNS), table)
    given = _object_at(mapping, "constants", Message("constants must be an object of field: value"))
    constants = tuple(constant_column(name, value, table, at) for at, (name, value) in enumerate(given.items()))
    _check_unique(constants)
    of_columns = [named_field(name, table) for name in columns]
    if both := next((one for one in constants if any(same_field(one, other) for other in of_columns)), None):
        raise _invalid_mapping(Message("{name} has a column and a constant; say one of them", name=both.name))
    sent_values = _object_at(
        mapping, "values", Message("values must be an object of field: {{text in the file: value}}")
    )
    values = tuple(check_rewriting(name, texts, table) for name, texts in sent_values.items())
    lists = _choices(mapping, "lists", Message("lists must be an object of column: one of {lists}", lists=_or(LISTS)))
    quantity = _choices(
        mapping,
        "quantity",
        Message("quantity must be an object of column: one of {uses}", uses=_or(QUANTITIES)),
    )
    units = _object_at(mapping, "units", _UNITS)
    if not all(isinstance(unit, str) and unit.strip() for unit in units.values()):
        raise _invalid_mapping(_UNITS)
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
        wrong = Message("{unit} is no unit of {name} that can be converted", unit=shown(unit), name=name)
        raise refuse("invalid_mapping", Message("The mapping is wrong: {wrong}.", wrong=wrong), f"mapping.units.{name}")
    return column, said


def _or(names: Sequence[str]) -> str:
    return ", ".join(names)


def _choices(mapping: JsonMapping, key: str, must: Message) -> dict[str, str]:
    """Return what the mapping chooses for columns, named by header or letter."""
    known = LISTS if key == "lists" else QUANTITIES
    chosen = _object_at(mapping, key, must)
    if not all(choice in known for choice in chosen.values()):
        raise _invalid_mapping(must)
    return {column: str(choice) for column, choice in chosen.items()}


def _lines(given: Mapping[str, object]) -> tuple[MappedLines, ...]:
    lines = []
    for text, use in given.items():
        found = _RANGE.fullmatch(text)
        if found is None or use not in ("skip", "read"):
            raise _invalid_mapping(_LINES_MUST)
        sheet, first, last = found.groups()
        lines.append(MappedLines(int(first), int(last or first), use == "read", sheet))
    return tuple(lines)


def _check_columns(given: Mapping[str, object], table: Table) -> tuple[dict[str, tuple[str, ...]], tuple[Column, ...]]:
    """Return the headers of each field that is mapped, and the fields that are switched off."""
    columns: dict[str, tuple[str, ...]] = {}
    off: list[Column] = []
    fields = {name: named_field(name, table) for name in given}
    _check_unique(fields.values())
    for name, to in given.items():
        headers = to if isinstance(to, list) else [to]
        if to is None:
            off.append(fields[name])
        elif not headers or not all(isinstance(header, str) and header.strip() for header in headers):
            raise _invalid_mapping(_COLUMNS)
        else:
            columns[name] = tuple(map(str, headers))
    if needed := next((column.name for column in off if column.field.name == "sku_code"), None):
        raise _invalid_mapping(Message("{name} cannot be switched off; each line needs it", name=needed))
    return columns, tuple(off)


def _check_unique(columns: Iterable[Column]) -> None:
    """Refuse two spellings of one field: they would leave it open which one is meant."""
    seen: set[tuple[str, str]] = set()
    for column in columns:
        if (column.table, column.name) in seen:
            raise _invalid_mapping(Message("{name} is named twice; name it once", name=column.name))
        seen.add((column.table, column.name))


def _object_at(mapping: JsonMapping, key: str, must: Message) -> JsonMapping:
    return _member(mapping, key, _is_object, must) or {}


def _member(mapping: JsonMapping, key: str, fits: Callable[[Any], bool], must: Message) -> Any:
    """Return a member of the mapping, None where it is not given. Refuse one that does not fit."""
    given = mapping.get(key)
    if given is not None and not fits(given):
        raise _invalid_mapping(must)
    return given


def _is_object(given: object) -> bool:
    return isinstance(given, Mapping)


def _is_text(given: object) -> bool:
    return isinstance(given, str)


def _are_texts(given: object) -> bool:
    return isinstance(given, list) and bool(given) and all(map(_is_text, given))


def _invalid_mapping(what: Message) -> ReadingRefused:
    return refuse("invalid_mapping", Message("The mapping is wrong: {wrong}.", wrong=what), "mapping")


def apply_rewritings(
    cells: pl.DataFrame, kinds: pl.DataFrame | None, columns: Iterable[Column], mapped: SheetMapping
) -> tuple[pl.DataFrame, pl.DataFrame | None, Words, Replaced]:
    """Return the cells with the values that the mapping gives for their texts; a replaced cell is a text.

    The third member are the company's own words that were replaced, by field; the fourth is every replaced text.
    """
    used: dict[str, dict[str, object]] = {}
    replaced: dict[str, dict[str, tuple[str, int]]] = {}
    for column in columns:
        for rewriting in mapped.values:
            if rewriting.applies_to(column):
                before = cells[column.name]
                after = rewriting.apply(before)
                if words := rewriting.own_words_in(before):
                    used.setdefault(rewriting.column.name, {}).update(words)
                changed = before.ne_missing(after)
                pairs = pl.DataFrame({"text": before, "cell": after}).filter(changed & after.is_not_null())
                counted = pairs.group_by("text", "cell", maintain_order=True).len().iter_rows()
                replaced.setdefault(column.name, {}).update({text: (cell, rows) for text, cell, rows in counted})
                cells = cells.with_columns(after.alias(column.name))
                if kinds is not None:
                    kinds = kinds.with_columns(kinds[column.name].set(changed, TEXT).alias(column.name))
    return cells, kinds, used, replaced
