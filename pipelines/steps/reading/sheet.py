"""Grid and header -> sheet: the cells of each recognised column under the field's name, and the lines that fail.

A table that holds SKUs and components at once is split in `long_layout.py`. Typing is `rows.py`.
"""

from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

import polars as pl

from pipelines.steps.reading.composed import says_packaging
from pipelines.steps.reading.decimal_mark import decimal_marks
from pipelines.steps.reading.fields import Column, Table, fields_of
from pipelines.steps.reading.grid import Grid, LineFault, letter
from pipelines.steps.reading.header import Header, find_header
from pipelines.steps.reading.levels import are_levels, are_mostly_levels
from pipelines.steps.reading.mapping import Mapped, MappedSheet
from pipelines.steps.reading.meant import unmeant
from pipelines.steps.reading.refusal import refuse
from pipelines.steps.reading.skipped import listed, not_data
from schemas.invisible import INVISIBLE

MOST_ROWS = 50_000
_MOST_PARTS = 20 * MOST_ROWS


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table of the file: its columns, its cells by column name beside `line`, and lines that are no row.

    `marks` are the decimal marks by column name, `kinds` the kinds of cells as in a grid. `skipped` are lines that
    are no data line, with the reason. `of_packaging` is whether a title or the sheet's name speaks of packaging,
    `beside` are places of ignored columns that may be weights of one more material.
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
    of_packaging: bool = False
    beside: tuple[int, ...] = ()

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
    cells = _visible(_named(body.cells, header.columns), header.columns)
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
    of_packaging = header.of_packaging or (name is not None and says_packaging(name))
    sheet = Sheet(
        name, header.line, header.columns, header.ignored, cells, marks, body.faults, kinds, skipped, of_packaging,
        header.beside,
    )  # fmt: skip
    doubtful = [column for column in header.columns if column.name not in told.columns]
    return sheet.without(unmeant(doubtful, cells))


def with_levels(sheet: Sheet, *, told: Container[str] = ()) -> Sheet:
    """The sheet with formats or uses as levels where their cells name levels: `Packaging type`, `Usage` over `Primary`.

    Where another column holds the levels already, such uses are ignored. What the caller has `told` stays.
    """
    names = {column.name: column for column in sheet.columns}
    for name, said in (("packaging_format", are_levels), ("use_contexts", are_mostly_levels)):
        own = names.get(name)
        if own is None or own.exact or name in told or not said(sheet.table[name]):
            continue
        if "packaging_level" not in names:
            return _renamed(sheet, own, "packaging_level")
        if name == "use_contexts":
            return sheet.without([name])
    return sheet


def _renamed(sheet: Sheet, own: Column, name: str) -> Sheet:
    """The sheet with a column read as another field."""
    other = replace(own, name=name, field=fields_of("sku")[name], exact=False)
    columns = tuple(other if column is own else column for column in sheet.columns)
    kinds = None if sheet.kinds is None else sheet.kinds.rename({own.name: name})
    return replace(sheet, columns=columns, table=sheet.table.rename({own.name: name}), kinds=kinds)


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


def _visible(cells: pl.DataFrame, columns: Iterable[Column]) -> pl.DataFrame:
    """The cells without characters that nobody sees: within codes and numbers, and at the ends of other texts."""
    anywhere, at_ends = f"[{INVISIBLE}]", f"^[{INVISIBLE}]+|[{INVISIBLE}]+$"
    held = cells.select(pl.all().str.contains(anywhere).any()).row(0) if cells.height else ()
    hidden = {name for name, any_held in zip(cells.columns, held, strict=False) if any_held}
    for column in (column for column in columns if column.name in hidden):
        of_text = column.field.kind == "text" and column.name != "sku_code"
        shown = cells[column.name].str.replace_all(at_ends if of_text else anywhere, "")
        cells = cells.with_columns(shown.set(shown.str.strip_chars() == "", None).alias(column.name))
    return cells


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
