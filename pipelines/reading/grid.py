"""Defines the grid: the common form of a CSV text and a sheet before anything is known about columns.

Only the shape and the spreadsheet names of columns belong here. `delimited.py` and `workbook/` read bytes into a
grid; `header.py` finds a header in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import polars as pl

from schemas.imports.types import ImportSource
from schemas.issues import Issue
from schemas.messages import Message


class ReadingRefused(Exception):  # noqa: N818  (a verdict on a file, with its reasons; not a failure of ours)
    """The file cannot be imported as it is; `issues` says what is wrong and what would be right.

    `outline` describes the columns of a table that lacks a needed one, so that a person can say which it is.
    """

    def __init__(self, issues: list[Issue], outline: ImportSource | None = None) -> None:
        """Take at least one issue."""
        super().__init__("; ".join(issue.message for issue in issues))
        self.issues, self.outline = issues, outline

    def of_field(self, field: str | None) -> list[Issue]:
        """Return the issues; those that name no field get `field`, the part that the file came in."""
        return [replace(issue, field=issue.field or field) for issue in self.issues]


def refuse(code: str, message: Message, field: str | None = None) -> ReadingRefused:
    """Return a refusal for one reason, to be raised; `code` is one of `schemas.issues.ISSUE_CODES`."""
    return ReadingRefused([Issue(code=code, message=message, field=field)])


def invalid_mapping(message: Message, field: str = "mapping") -> ReadingRefused:
    """Return a refusal of the caller's mapping, to be raised; `field` is the part of it that is wrong."""
    return refuse("invalid_mapping", message, field)


MOST_COLUMNS = 4_096

TEXT, NUMBER, NO_VALUE, DAY, NOT_SHOWN = range(5)
"""Kinds of cells in `Grid.kinds`."""


LINES_OF_SHEET: Final = 1 << 32
"""A table of several sheets numbers its lines on: line 5 of its second sheet is this and 5 (`Sheet.places`)."""


class ReadSheet(NamedTuple):
    """One of the several sheets that a table is read from, and the line of its header."""

    name: str
    header_row: int


def own_line(line: int) -> int:
    """Return a line of a table as its own sheet counts it."""
    return line % LINES_OF_SHEET


def sheet_starts(lines: pl.Series) -> list[int]:
    """Return the rows at which a further sheet of the table begins."""
    starts: list[int] = ((lines // LINES_OF_SHEET).diff() > 0).fill_null(value=False).arg_true().to_list()
    return starts


@dataclass(frozen=True, slots=True)
class LineFault:
    """A line that cannot be read as cells. `line` counts as the caller's editor or spreadsheet shows it."""

    line: int
    code: str
    message: Message
    value: str | None
    sku_code: str | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells as text, one String column per position (`c0`, `c1`, …), an empty cell as null, no row without a cell.

    `lines` are the line numbers of the rows. `kinds` says of each cell whether a workbook stores it as `TEXT`, as a
    `NUMBER`, as a formula with `NO_VALUE`, as a `DAY`, or as a number in a format that is `NOT_SHOWN` here; it is None
    where cells have no type. Lines among `faults` have no row. `widths` is the number of cells of each line, where
    lines can differ; `filled` is the number of cells that each row gives, where the grid has only some of its columns.
    """

    cells: pl.DataFrame
    lines: pl.Series
    faults: tuple[LineFault, ...] = ()
    kinds: pl.DataFrame | None = None
    widths: dict[int, int] = field(default_factory=dict)
    filled: pl.Series | None = None

    def row(self, index: int) -> list[str | None]:
        """Return the cells of one row by position; a grid need not have all columns."""
        by_position = {
            int(name[1:]): cell for name, cell in zip(self.cells.columns, self.cells.row(index), strict=True)
        }
        return [by_position.get(at) for at in range(max(by_position, default=-1) + 1)]

    def under(self, at: int, row: int, lines: int) -> pl.Series:
        """Return the cells given in a column, in some rows below one; row -1 is above the first."""
        name = f"c{at}"
        if name not in self.cells.columns:
            return pl.Series([], dtype=pl.String)
        return self.cells[name].slice(row + 1, lines).drop_nulls()

    def cells_given(self) -> pl.Series:
        """Return the number of cells that each row gives."""
        if self.filled is not None:
            return self.filled
        return self.cells.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()

    def where(self, kept: pl.Series, faults: Sequence[LineFault] = ()) -> "Grid":
        """Return the rows where `kept` is true, and further faults among those of the grid."""
        return replace(
            self,
            cells=self.cells.filter(kept),
            lines=self.lines.filter(kept),
            kinds=None if self.kinds is None else self.kinds.filter(kept),
            filled=None if self.filled is None else self.filled.filter(kept),
            faults=tuple(sorted((*self.faults, *faults), key=lambda fault: fault.line)),
        )

    def below(self, line: int) -> "Grid":
        """Return the rows after a line."""
        return replace(self.where(self.lines > line), faults=tuple(fault for fault in self.faults if fault.line > line))


def one_below_another(grids: Sequence[Grid]) -> Grid:
    """Return the grids of the sheets of one table, which have the same columns, as one."""
    if len(grids) == 1:
        return grids[0]
    return Grid(
        pl.concat(grid.cells for grid in grids),
        pl.concat(grid.lines + at * LINES_OF_SHEET for at, grid in enumerate(grids)),
        kinds=pl.concat(grid.kinds for grid in grids if grid.kinds is not None),
        filled=pl.concat(grid.cells_given().cast(pl.UInt32) for grid in grids),
    )


def check_width(columns: int) -> None:
    """Refuse a table with too many columns, before memory is spent on them."""
    if columns > MOST_COLUMNS:
        message = Message(
            "A line has {columns} cells; at most {most} columns are read. Is the delimiter right?",
            columns=columns,
            most=MOST_COLUMNS,
        )
        raise refuse("unreadable_file", message)


def letter(position: int) -> str:
    """Return the spreadsheet's name of a column, counted from 0: A, B, …, Z, AA."""
    name = ""
    position += 1
    while position:
        position, rest = divmod(position - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def position(name: str) -> int:
    """Return the position, counted from 0, of a column named by its letters."""
    total = 0
    for character in name.upper():
        total = total * 26 + ord(character) - ord("A") + 1
    return total - 1


def blank_to_null(frame: pl.DataFrame) -> pl.DataFrame:
    """Set cells of only white space, no-break spaces included, to null: an empty cell.

    Only columns with a cell that does not begin with a visible ASCII character are examined closely.
    """
    begins = frame.select(((pl.all() < "!") | (pl.all() > "~")).any())
    unsure = pl.col(name for name in begins.columns if begins[name][0])
    return frame.with_columns(pl.when(unsure.str.strip_chars() != "").then(unsure))


def without_blank_rows(cells: pl.DataFrame, lines: pl.Series) -> tuple[pl.DataFrame, pl.Series]:
    """Return the rows that have a cell, and their lines."""
    cells = blank_to_null(cells)
    filled = cells.select(pl.any_horizontal(pl.all().is_not_null())).to_series() if cells.width else lines > 0
    return (cells, lines) if filled.all() else (cells.filter(filled), lines.filter(filled))
