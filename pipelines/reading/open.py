"""Asks about columns around whose known term something was not understood, and applies the units that a mapping gives.

Such a column is not read. Where only its unit is open, the answer is the unit, also of a column that the mapping names:
no number is stored in a unit that the header only seems to name (decisions §13 *asked has a protocol*).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pipelines.reading.columns import open_column
from pipelines.reading.fields import Column, Table
from pipelines.reading.grammar import PIECES, names_bundle, names_quantity
from pipelines.reading.grid import letter
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.questions import question
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import shown

_UNITS: Final = {
    "g": ("g", "kg", "mg", "kg/1000", "g/1000"),
    "percent": ("%", "fraction"),
    "um": ("um", "mm"),
    "g/cm3": ("g/cm3", "kg/m3"),
    PIECES: ("units", "1000"),
}
"""The units that are offered for a field in this unit; a mapping may write others."""
_KG: Final = 1000


def open_columns(cells: Sequence[str | None], columns: Sequence[Column], table: Table) -> list[Column]:
    """Return the columns of headers that were not wholly understood, of fields that no other column gives."""
    given, taken = {column.name for column in columns}, {column.position for column in columns}
    found = [
        column
        for at, cell in enumerate(cells)
        if cell is not None and at not in taken and (column := open_column(cell, at, table, loose=True)) is not None
    ]
    has_parts = table == "component" or "component_type" in given
    of_table = [column for column in found if column.table == "sku" or column.group is not None or has_parts]
    return [column for column in of_table if column.name not in given]


def questions_of(columns: Sequence[Column], sheet: str | None, table: Table) -> tuple[Asked, ...]:
    """Return a question for each open column."""
    return tuple(_question(column, sheet, of_components=table == "component") for column in columns)


def with_units_of_mapping(columns: Sequence[Column], mapped: SheetMapping) -> list[Column]:
    """Return the columns in the units that the mapping gives for their fields, in each group of components too."""
    found = list(columns)
    for at, column in enumerate(columns):
        if (said := mapped.unit_of(column)) is not None:
            # What was not understood may be more than the unit, so that a unit alone settles nothing.
            text = None if column.mapped or _is_about_unit(column) else column.open
            found[at] = replace(column, factor=said.factor, per=said.per, has_unit=True, exact=False, open=text)
    return found


def _is_about_unit(column: Column) -> bool:
    """Return whether the unit of an open column is open: a unit or a quantity is among what was not understood."""
    return column.field.unit is not None and (column.mapped or names_quantity(str(column.open)))


def _units_offered(column: Column) -> tuple[str, ...]:
    """Return the units that a question offers: for the weight of a case, those per so many."""
    units = _UNITS.get(column.field.unit or "", ())
    if column.field.unit != "g" or not names_bundle(str(column.open)):
        return units
    unit = "kg" if column.factor == _KG else "g"
    return (*(f"{unit} per case of {count}" for count in (12, 6, 24, 100)), unit)


def _question(column: Column, sheet: str | None, *, of_components: bool) -> Asked:
    place, text = letter(column.position), str(column.open)
    units = _units_offered(column) if _is_about_unit(column) else ()
    if units:
        message = Message(
            "{header} may be {name}, but {text} in it was not understood; it is not read. Say its unit: "
            "mapping={mapping}, or per what it is, such as per case of 12.",
            header=shown(column.header),
            name=column.name,
            text=shown(text),
            mapping={"columns": {column.name: place}, "units": {column.name: units[0]}},
        )
    else:
        message = Message(
            "{header} may be {name}, but {text} in it was not understood; it is not read. If it is, say so: "
            "mapping={mapping}.",
            header=shown(column.header),
            name=column.name,
            text=shown(text),
            mapping={"columns": {column.name: place}},
        )
    return question(
        "unit" if units else "column",
        message,
        could_be=units or [column.name],
        column=column,
        sheet=sheet,
        text=text,
        of_components=of_components,
    )
