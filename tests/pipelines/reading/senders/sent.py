"""What a sent file is, and how a workbook is written with merged titles, formats, formulas and hidden sheets."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import xlsxwriter
from stdnum import ean

from tests.pipelines.reading.writing import SERVED

LEFT: Final = "⇐"
"""A cell that is merged with the one to its left."""
UP: Final = "⇑"
"""A cell that is merged with the one above it."""


class Shown(NamedTuple):
    """A number cell and the format that it is shown in."""

    value: float
    format: str


class Computed(NamedTuple):
    """A formula and the value that the spreadsheet kept for it."""

    formula: str
    value: float | str


Cell = str | float | int | bool | Shown | Computed | None
Rows = Sequence[Sequence[Cell]]
Record = Mapping[str, object]
"""Field to value; `components` is a list of such records, in which only what a person can tell stands."""

UNITS_OF_2025 = [f"annual_volume_{code.lower()}_2025" for code in sorted(SERVED) if "-" not in code]
"""What units of a year can be of where nothing says a market."""


@dataclass(frozen=True)
class Sent:
    """A file, the field that a person gives each column letter, the SKUs that a person reads, and what one would have
    to ask about, as (line, field). `unsaid` are the columns that a person would have to ask about, by letter: what
    they could be.

    Where even a person cannot be sure of the columns, the file is refused with the codes `refused`, and read with
    `mapping`; without `refused` it is read with it at once, which answers what the sender was asked.
    """

    name: str
    data: bytes
    columns: Mapping[str, str]
    skus: Mapping[str, Record]
    asked: Sequence[tuple[int, str | None]] = field(default_factory=tuple)
    refused: Sequence[str] = field(default_factory=tuple)
    mapping: Mapping[str, object] | None = None
    unsaid: Mapping[str, Sequence[str]] = field(default_factory=dict)


def gtin(start: str) -> str:
    """The barcode number that begins so, with its check digit."""
    return start + str(ean.calc_check_digit(start))


def text(lines: Sequence[str], encoding: str = "cp1252", end: str = "\r\n") -> bytes:
    """Lines of a text file, as a German or French Excel on Windows saves them unless told otherwise."""
    return (end.join(lines) + end).encode(encoding)


def book(sheets: Mapping[str, Rows], hidden: Sequence[str] = ()) -> bytes:
    """A workbook of sheets of rows."""
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True, "strings_to_numbers": False}) as workbook:
        for name, rows in sheets.items():
            sheet = workbook.add_worksheet(name)
            for at, row in enumerate(rows):
                for column, cell in enumerate(row):
                    _write(workbook, sheet, at, column, cell)
            for top, left, bottom, right in _merged(rows):
                cell = rows[top][left]
                sheet.merge_range(top, left, bottom, right, cell if isinstance(cell, str | int | float) else "")
            if name in hidden:
                sheet.hide()
    return buffer.getvalue()


def _write(
    workbook: xlsxwriter.Workbook, sheet: xlsxwriter.worksheet.Worksheet, row: int, column: int, cell: Cell
) -> None:
    match cell:
        case None | "" | "⇐" | "⇑":
            return
        case Shown(value, shape):
            sheet.write_number(row, column, value, workbook.add_format({"num_format": shape}))
        case Computed(formula, value):
            sheet.write_formula(row, column, formula, None, value)
        case str():
            sheet.write_string(row, column, cell)
        case _:
            sheet.write(row, column, cell)


def _merged(rows: Rows) -> list[tuple[int, int, int, int]]:
    """Top, left, bottom and right of every merged range: what the marks after a cell and under it cover."""
    found = []
    for top, row in enumerate(rows):
        for left, cell in enumerate(row):
            if cell in (LEFT, UP):
                continue
            right = next((at for at in range(left + 1, len(row)) if row[at] != LEFT), len(row)) - 1
            under = (at for at in range(top + 1, len(rows)) if len(rows[at]) <= left or rows[at][left] != UP)
            bottom = next(under, len(rows)) - 1
            if (top, left) != (bottom, right):
                found.append((top, left, bottom, right))
    return found


def part(
    component_type: str,
    material_family: str,
    weight_g: float | None = None,
    polymer_or_grade: str | None = None,
    **more: object,
) -> dict[str, object]:
    """A component as the reader shall make it; what is None is not said of it."""
    said = {"component_type": component_type, "material_family": material_family, "polymer_or_grade": polymer_or_grade}
    return {name: held for name, held in {**said, "weight_g": weight_g, **more}.items() if held is not None}
