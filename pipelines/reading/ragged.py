"""Accepts or rejects lines of a text that have another number of cells than the header.

Extra empty cells are harmless. Programs leave out empty cells at the end of a line; but a delimiter that was lost in
the middle looks the same, and moves the cells behind it under other headers. So a short line is accepted where it has
the keys and each cell could be its column's; otherwise it is a fault. No cell is ever moved.
"""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from pipelines.reading.fields import Column
from pipelines.reading.grid import Grid, LineFault
from pipelines.reading.header import Header
from pipelines.reading.values import read_values
from schemas.messages import Message

_TEXTS = ("text", "markets")
_KEYS = ("sku_code", "name", "component_type")


def without_ragged(body: Grid, grid: Grid, header: Header) -> Grid:
    """Return the rows that have as many cells as the header, or fewer where only empty ones at the end are missing."""
    if not grid.widths:
        return body
    width = grid.widths.get(header.line, grid.cells.width)
    wanted = max(position for position, _ in (*((c.position, c) for c in header.columns), *header.ignored)) + 1
    surplus = body.cells.select(pl.col(f"c{at}").is_not_null() for at in range(width, body.cells.width))
    nothing = pl.repeat(value=False, n=body.cells.height, eager=True)
    over = surplus.select(pl.any_horizontal(pl.all())).to_series() if surplus.width else nothing
    widths = pl.Series([grid.widths[line] for line in body.lines], dtype=pl.Int64)
    kept = ~over & ((widths >= wanted) | _fitting_short_lines(body.cells, widths, widths < wanted, header.columns))
    faults = [_fault(body.row(at), int(body.lines[at]), int(widths[at]), width, header) for at in (~kept).arg_true()]
    return replace(
        body,
        cells=body.cells.filter(kept),
        lines=body.lines.filter(kept),
        faults=tuple(sorted((*body.faults, *faults), key=lambda fault: fault.line)),
    )


def _fitting_short_lines(
    cells: pl.DataFrame, widths: pl.Series, short: pl.Series, columns: Sequence[Column]
) -> pl.Series:
    """Return the short lines that have their keys, and under each header a cell that fits it.

    A bare number does not fit a column of texts that have letters in all other lines.
    """
    if not short.any():
        return short
    keys = max(column.position for column in columns if column.name in _KEYS)
    whole = short & (widths > keys)
    for column in columns:
        texts = cells[f"c{column.position}"]
        if column.field.kind in _TEXTS:
            letters = texts.str.contains(r"\p{L}")
            if letters.filter(~short).drop_nulls().all() and not texts.filter(~short).is_null().all():
                whole &= letters.fill_null(value=True)
        else:
            wrong = read_values(texts.set(~short, None), column, ".", None).faults["at"]
            whole = whole.scatter(wrong, values=False)
    return whole


def _fault(cells: Sequence[str | None], line: int, line_width: int, width: int, header: Header) -> LineFault:
    message = Message(
        "The line has {width} cells, the header {header_width}; put cells that hold the delimiter "
        "in quotation marks, and keep a delimiter for each empty cell.",
        width=line_width,
        header_width=width,
    )
    key = next(column.position for column in header.columns if column.name == "sku_code")
    start = " | ".join(cell or "" for cell in cells)[:200]
    return LineFault(line, "ragged_row", message, start, (cells[key] or "").strip() or None)
