"""Grid and header -> sheet: the cells of each recognised column under the field's name, and the lines that fail.

A table that holds SKUs and components at once is split in `long_layout.py`. Typing is `rows.py`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

import polars as pl

from pipelines.steps.reading.decimal_mark import decimal_marks
from pipelines.steps.reading.fields import Column, Table, fields_of
from pipelines.steps.reading.grid import Grid, LineFault, letter
from pipelines.steps.reading.header import Header, find_header
from pipelines.steps.reading.levels import are_levels
from pipelines.steps.reading.mapping import Mapped, MappedSheet
from pipelines.steps.reading.meant import unmeant
from pipelines.steps.reading.refusal import refuse
from pipelines.steps.reading.skipped import listed, not_data

MOST_ROWS = 50_000
_MOST_PARTS = 20 * MOST_ROWS


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table of the file: its columns, its cells by column name beside `line`, and lines that are no row.

    `marks` are the decimal marks by column name, `kinds` the kinds of cells as in a grid. `skipped` are lines that
    are no data line, with the reason.
    """

    name: str | None
    header_row: int
    columns: tuple[Column, ...]
    ignored: tuple[tuple[int, str], ...]
    table: pl.DataFrame
    marks: dict[str, str]
    faults: tuple[LineFault, ...] = ()
    kinds: pl.DataFrame | None = None
    skipped: tuple[tuple[int, str], ...] = ()

    @property
    def lines(self) -> int:
        """Data lines, those that could not be read included."""
        return self.table.height + len(self.faults)

    def without(self, names: Collection[str]) -> "Sheet":
        """The table without some columns, which are then ignored."""
        kept = tuple(column for column in self.columns if column.name not in names)
        stray = [(column.position, column.header) for column in self.columns if column.name in names]
        return replace(self, columns=kept, ignored=tuple(sorted((*self.ignored, *stray))))


def read_sheet(
    grid: Grid, name: str | None, table: Table, mapped: Mapped, *, delimiter: str | None, header: Header | None = None
) -> Sheet:
    """The recognised columns of a grid. `header` where it was found already.

    Raises `ReadingRefused`: what `find_header` raises, and `too_many_rows`.
    """
    told = mapped if table == "sku" else mapped.components or MappedSheet()
    header = header or find_header(grid, table, told.columns, told.header_row)
    body = _without_ragged(grid.below(header.last_line), grid, header)
    cells = _named(body.cells, header.columns)
    reasons = not_data(
        cells, header.columns, _label(body, header), titled=any(position == 0 for position, _ in header.ignored)
    )
    held = ~reduce(or_, reasons.values())
    most = MOST_ROWS if table == "sku" else _MOST_PARTS
    if held.sum() + len(body.faults) > most:
        raise refuse("too_many_rows", f"One import takes {most} data lines; this table has more. Send it in parts.")
    cells = cells.with_columns(line=body.lines).filter(held)
    kinds = None if body.kinds is None else _named(body.kinds, header.columns).filter(held)
    marks = decimal_marks(cells, kinds, header.columns, told=mapped.decimal, delimiter=delimiter)
    skipped = listed(body.lines, reasons)
    sheet = Sheet(name, header.line, header.columns, header.ignored, cells, marks, body.faults, kinds, skipped)
    doubtful = [column for column in header.columns if column.name not in told.columns]
    return sheet.without(unmeant(doubtful, cells, table))


def with_levels(sheet: Sheet) -> Sheet:
    """The sheet with the formats as levels where all cells name levels: `Packaging type` over `Primary`."""
    names = {column.name: column for column in sheet.columns}
    own = names.get("packaging_format")
    if own is None or own.exact or "packaging_level" in names or not are_levels(sheet.table[own.name]):
        return sheet
    level = replace(own, name="packaging_level", field=fields_of("sku")["packaging_level"], exact=False)
    columns = tuple(level if column is own else column for column in sheet.columns)
    kinds = None if sheet.kinds is None else sheet.kinds.rename({own.name: level.name})
    return replace(sheet, columns=columns, table=sheet.table.rename({own.name: level.name}), kinds=kinds)


def published_columns(columns: Iterable[Column]) -> list[dict[str, str]]:
    """Columns as `source.columns` shows them."""
    return [{"field": c.name, "column": letter(c.position), "header": c.header} for c in columns]


def published_ignored(ignored: Iterable[tuple[int, str]]) -> list[dict[str, str]]:
    """Columns that were not read, as `source.ignored` shows them."""
    return [{"column": letter(at), "header": header} for at, header in ignored]


def _label(body: Grid, header: Header) -> pl.Series | None:
    """The cells of the first column where no field is read from it."""
    if "c0" not in body.cells.columns or any(column.position == 0 for column in header.columns):
        return None
    return body.cells["c0"]


def _named(cells: pl.DataFrame, columns: Iterable[Column]) -> pl.DataFrame:
    return cells.select(pl.col(f"c{column.position}").alias(column.name) for column in columns)


def _without_ragged(body: Grid, grid: Grid, header: Header) -> Grid:
    """The rows that have as many cells as the header; a surplus of empty cells at the end is no fault."""
    if not grid.widths:
        return body
    header_width = grid.widths[header.line]
    wanted = max(position for position, _ in (*((c.position, c) for c in header.columns), *header.ignored)) + 1
    surplus = body.cells.select(pl.col(f"c{at}").is_not_null() for at in range(header_width, body.cells.width))
    over = surplus.select(pl.any_horizontal(pl.all())).to_series() if surplus.width else [False] * body.cells.height
    key = next(column.position for column in header.columns if column.name == "sku_code")
    faults = []
    keep = []
    for index, (line, too_wide) in enumerate(zip(body.lines, over, strict=True)):
        width = grid.widths[line]
        keep.append(not too_wide and width >= wanted)
        if not keep[-1]:
            message = (
                f"The line has {width} cells, the header {header_width}; put cells that hold the delimiter "
                "in quotation marks, and keep a delimiter for each empty cell."
            )
            cells = body.row(index)
            start = " | ".join(cell or "" for cell in cells)[:200]
            faults.append(LineFault(line, "ragged_row", message, start, (cells[key] or "").strip() or None))
    kept = pl.Series(keep, dtype=pl.Boolean)
    return replace(body, cells=body.cells.filter(kept), lines=body.lines.filter(kept),
                   faults=tuple(sorted((*body.faults, *faults), key=lambda fault: fault.line)))  # fmt: skip
