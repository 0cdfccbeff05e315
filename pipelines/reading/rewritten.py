"""Replaces cells by the values that the caller's mapping gives: `schwarz` by `dark`, `keine` by an empty cell."""

from collections.abc import Iterable

import polars as pl

from pipelines.reading.fields import Column
from pipelines.reading.grid import TEXT
from pipelines.reading.mapping import SheetMapping


def rewritten(
    cells: pl.DataFrame, kinds: pl.DataFrame | None, columns: Iterable[Column], mapped: SheetMapping
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return the cells with the values that the mapping gives for their texts; a replaced cell is a text."""
    for column in columns:
        for rewriting in mapped.values:
            if rewriting.speaks_of(column):
                before = cells[column.name]
                after = rewriting.of(before)
                changed = before.ne_missing(after)
                cells = cells.with_columns(after.alias(column.name))
                if kinds is not None:
                    kinds = kinds.with_columns(kinds[column.name].set(changed, TEXT).alias(column.name))
    return cells, kinds
