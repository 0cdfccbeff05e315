"""Resolves the fields that a mapping names: finds the field, its constant, and the values of its cells' texts.

`mapping.py` checks a mapping as a whole. A value that its field cannot contain is refused here, before the file is
read: in the file it would be a fault of every line.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from typing import Final, TypeAlias

import polars as pl

from pipelines.reading.columns import field_column, recognise
from pipelines.reading.fields import Column, Table, fields_of
from pipelines.reading.grid import MOST_COLUMNS
from pipelines.reading.material_texts import read_material
from pipelines.reading.refusal import refuse
from pipelines.reading.units import unit_of
from pipelines.reading.values import LIST_SEPARATOR, MATERIALS, read_values
from schemas.fields import SKU_CODE
from schemas.messages import Message, from_json
from schemas.normalise import shown
from schemas.words import fold

Words: TypeAlias = Mapping[str, Mapping[str, object]]
"""A company's own words: by field, the value that a text in its files means; null for an empty cell."""

_OF_PARTS: Final = {"material": "material_family", "material_subtype": "polymer_or_grade"}
"""The fields of a part that a column of the SKU's may turn out to be, once the layout is known."""
_CLEARS: Final = ("null", "NULL")
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
        named, plain = (read_material(text, str(self.column.field.vocabulary)) for text in (cell, to))
        return named is not None and named.detail is not None and plain == (named.family, None)

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
    if column is None:
        near = ", ".join(_nearest(name, table))
        message = Message(
            "The mapping is wrong: there is no field {name}. The nearest are: {near}.", name=shown(name), near=near
        )
        raise refuse("invalid_mapping", message, "mapping")
    return column


def constant_column(name: str, value: object, table: Table, at: int) -> Column:
    """Return a column with the same cell in every line; its position is behind the table, as the `at`-th of those."""
    column = named_field(name, table)
    if column.field == SKU_CODE:
        raise refuse(
            "invalid_mapping", Message("The mapping is wrong: sku_code cannot be a constant."), "mapping.constants"
        )
    text = _cell_text(value)
    if text is None:
        message = Message("A constant is a text, a number, true or false, or an array of texts.")
        raise refuse("invalid_mapping", message, f"mapping.constants.{name}")
    _check_value(column, text, f"mapping.constants.{name}")
    return replace(column, position=MOST_COLUMNS + at, header="", exact=False, mapped=True, constant=text)


def check_rewriting(name: str, texts: object, table: Table) -> Rewriting:
    """Check the values that a mapping gives for the texts of a field's cells."""
    column, place = named_field(name, table), f"mapping.values.{name}"
    if not isinstance(texts, Mapping):
        raise refuse(
            "invalid_mapping", Message("The values of a field are an object of text in the file: value."), place
        )
    cells: dict[str, str | None] = {}
    for text, value in texts.items():
        if not text.strip():
            message = Message("An empty cell has no text that could mean something; give a constant, or leave it out.")
            raise refuse("invalid_mapping", message, place)
        cell = _cell_text(value)
        if value is not None and cell is None:
            message = Message(
                "A value is a text, a number, true or false, an array of texts, or null for an empty cell."
            )
            raise refuse("invalid_mapping", message, place)
        if cells.setdefault(fold(text), cell) != cell:
            message = Message(
                "{text} is written in two ways that differ only in case, accents or spaces; keep one.", text=shown(text)
            )
            raise refuse("invalid_mapping", message, place)
        if cell is not None:
            _check_value(column, cell, place)
    return Rewriting(column, cells, texts)


def with_own_words(rewritings: Iterable[Rewriting], words: Words, table: Table) -> tuple[Rewriting, ...]:
    """Add the company's own words to a mapping's replacements, which count where both have a text.

    Fields that the table lacks are left out. A word was checked when the company stored it; if its value has left the
    vocabulary since, the cell is a fault like any other.
    """
    found = {rewriting.column.name: rewriting for rewriting in rewritings}
    for name, values in words.items():
        if (column := field_column(name, table)) is None:
            continue
        of_mapping = found.get(column.name) or Rewriting(column, {}, {})
        own = {text: value for text, value in values.items() if fold(text) not in of_mapping.cells}
        cells = {fold(text): _cell_text(value) for text, value in own.items()}
        found[column.name] = replace(of_mapping, cells={**cells, **of_mapping.cells}, own={**of_mapping.own, **own})
    return tuple(found.values())


def with_names(columns: Iterable[Column], rewritings: Iterable[Rewriting]) -> tuple[Column, ...]:
    """Return the columns, those of references with the names that the company's records have."""
    own = [each for each in rewritings if each.column.field.kind == "uuid" and each.own]
    return tuple(
        replace(column, names=tuple(name for each in own if each.applies_to(column) for name in each.own))
        if column.field.kind == "uuid"
        else column
        for column in columns
    )


def _check_value(column: Column, text: str, place: str) -> None:
    """Refuse a value that the field cannot contain."""
    if text in _CLEARS and column.field.nullable:
        return
    if column.field.name == "weight_unit" and unit_of(text, "g") is None:
        message = Message("{text} is no unit of mass; write g, kg, mg, t, oz or lb.", text=shown(text))
        raise refuse("invalid_mapping", message, place)
    if column.field.name in MATERIALS and read_material(text, str(column.field.vocabulary)) is not None:
        return
    faults = read_values(pl.Series([text]), column, ".", None).faults
    if faults.height:
        raise refuse("invalid_mapping", from_json(faults["message"][0]), place)


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


def _nearest(name: str, table: Table) -> list[str]:
    """Return names of fields that may be meant: the one with this name as a usual header, and similar ones."""
    own = recognise(name, 0, table)
    meant = [] if own is None or own.group is not None else [own.name]
    alike = get_close_matches(fold(name).replace(" ", "_"), _all_field_names(table), n=_NEAREST, cutoff=0.0)
    return list(dict.fromkeys([*meant, *alike]))[:_NEAREST]


@cache
def _all_field_names(table: Table) -> list[str]:
    """Return every field's own name; beside the SKU's fields those of components have a prefix."""
    own = list(fields_of(table))
    more = [f"component_{name}" for name in fields_of("component")] if table == "sku" else []
    return [name for name in (*own, *more) if field_column(name, table) is not None]
