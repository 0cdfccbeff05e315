"""The grid: what a CSV text and a sheet have in common before anything is known about columns.

Here are only the shape and the names of columns as a spreadsheet shows them. Reading bytes into a grid is
`delimited.py` and `workbook/`; finding a header in it is `header.py`.
"""

from dataclasses import dataclass, field

import polars as pl

TEXT, NUMBER, NO_VALUE = 0, 1, 2
"""Kinds of cells in `Grid.kinds`."""


@dataclass(frozen=True, slots=True)
class LineFault:
    """A line that cannot be read as cells. `line` counts as the caller's editor or spreadsheet shows it."""

    line: int
    code: str
    message: str
    value: str | None
    sku_code: str | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells as text, one String column per position (`c0`, `c1`, …), an empty cell as null.

    `lines` are the line numbers of the rows. `kinds` says of each cell whether a workbook holds it as `TEXT`, as a
    `NUMBER` or as a formula with `NO_VALUE`; it is None where cells have no type. Lines among `faults` have no
    row. `widths` is the number of cells of each line, where lines can differ.
    """

    cells: pl.DataFrame
    lines: pl.Series
    faults: tuple[LineFault, ...] = ()
    kinds: pl.DataFrame | None = None
    widths: dict[int, int] = field(default_factory=dict)

    def row(self, index: int) -> list[str | None]:
        """The cells of one row, from the left."""
        return list(self.cells.row(index))

    def below(self, line: int) -> "Grid":
        """The rows after a line that hold anything."""
        keep = (self.lines > line) & self.cells.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
        return Grid(
            self.cells.filter(keep),
            self.lines.filter(keep),
            tuple(fault for fault in self.faults if fault.line > line),
            None if self.kinds is None else self.kinds.filter(keep),
        )


def letter(position: int) -> str:
    """The spreadsheet's name of a column, counted from 0: A, B, …, Z, AA."""
    name = ""
    position += 1
    while position:
        position, rest = divmod(position - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def position(name: str) -> int:
    """The position, counted from 0, of a column named by its letters."""
    total = 0
    for character in name.upper():
        total = total * 26 + ord(character) - ord("A") + 1
    return total - 1


def blank_to_null(frame: pl.DataFrame) -> pl.DataFrame:
    """Cells that hold nothing but white space, no-break spaces included, as null: an empty cell."""
    return frame.with_columns(pl.when(pl.all().str.strip_chars() != "").then(pl.all()))
