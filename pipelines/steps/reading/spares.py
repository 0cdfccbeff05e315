"""Columns that count only where no better one is there: headers that stand for a field, a unit without a known header.

What a single header stands for is `composed.py`; recognised headers are `columns.py` and come first.
"""

from dataclasses import replace
from typing import Final

import polars as pl

from pipelines.steps.reading.composed import spare
from pipelines.steps.reading.fields import Column, fields_of
from pipelines.steps.reading.grid import Grid
from pipelines.steps.reading.units import unit_of

_LONGEST: Final = 200
"""Characters of the longest header that is looked at."""
_LINES: Final = 40
"""Lines below the header in which a column of units is looked for."""


def with_spares(columns: list[Column], cells: list[str | None]) -> list[Column]:
    """The columns, and for each field without one the column that stands for it where no better does; of two, none.

    Of keys it may be one that is read as another field otherwise: a description is the name of what has no other.
    """
    found: dict[str, list[Column]] = {}
    taken = {column.position for column in columns if column.name != "description"}
    for at, cell in enumerate(cells):
        column = None if cell is None or at in taken or len(cell) >= _LONGEST else spare(cell)
        if column is not None:
            found.setdefault(column.name, []).append(replace(column, position=at))
    missing = found.keys() - {column.name for column in columns}
    spares = [found[name][0] for name in sorted(missing) if len(found[name]) == 1]
    instead = {column.position for column in spares}
    return [*spares, *(column for column in columns if column.position not in instead)]


def with_unit_beside(columns: list[Column], cells: list[str | None], grid: Grid, row: int) -> list[Column]:
    """A column right of the weight that holds nothing but units of mass says how it is meant, whatever its header."""
    weight = next((column for column in columns if column.name in ("weight_grams", "weight_g")), None)
    at = -1 if weight is None else weight.position + 1
    if weight is None or at >= len(cells) or any(c.position == at or c.field.name == "weight_unit" for c in columns):
        return columns
    name = f"c{at}"
    under = grid.cells[name].slice(row + 1, _LINES).drop_nulls() if name in grid.cells.columns else pl.Series([])
    if not len(under) or any(unit_of(cell, "g") is None for cell in under):
        return columns
    field = fields_of("sku")["weight_unit"]
    return [*columns, Column(field.name, field, "sku", at, cells[at] or "")]
