"""The grid: what a CSV text and a sheet have in common before anything is known about columns.

Here are only the shape and the names of columns as a spreadsheet shows them. Reading bytes into a grid is
`delimited.py` and `workbook/`; finding a header in it is `header.py`.
"""

from dataclasses import dataclass, field

import polars as pl


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

    `lines` are the line numbers of the rows. `numbers` marks the cells that a workbook holds as numbers; it is
    None where cells have no type. Lines among `faults` have no row.
    """

    cells: pl.DataFrame
    lines: pl.Series
    faults: tuple[LineFault, ...] = ()
    numbers: pl.DataFrame | None = None
    widths: dict[int, int] = field(default_factory=dict)

    def row(self, index: int) -> list[str | None]:
        """The cells of one row, from the left."""
        return list(self.cells.row(index))

    def below(self, index: int) -> "Grid":
        """The grid without the rows up to and including `index`, and without rows that have no cell."""
        keep = pl.Series(range(self.cells.height)) > index
        keep &= self.cells.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
        first = self.lines[index]
        return Grid(
            self.cells.filter(keep),
            self.lines.filter(keep),
            tuple(fault for fault in self.faults if fault.line > first),
            None if self.numbers is None else self.numbers.filter(keep),
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
