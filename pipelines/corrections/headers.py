"""Decides the header of rejected rows: the caller's own, except for columns that these rows alone leave ambiguous.

A column `Unit` is read as the unit of weights where its cells name units of mass. If the remaining rows name none, the
field's own name replaces the header, or the corrected file's column would be ignored.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from pipelines.corrections.cells import Cell
from pipelines.reading.column_values import misleading_columns
from pipelines.reading.columns import recognise
from pipelines.reading.fields import Column
from pipelines.reading.fields import Table as Kind
from pipelines.reading.grid import position
from pipelines.reading.unit_columns import is_shared
from schemas.report import SourceColumn


def unambiguous_header(
    header: Sequence[Cell], rows: Sequence[Sequence[Cell]], read: Iterable[SourceColumn], kind: Kind
) -> list[Cell]:
    """Return the header over the rejected `rows`; `read` are the columns that the service has read, as published."""
    columns = [column for place in read if (column := _column(header, place, kind)) is not None]
    texts = {column.name: [_text(row, column.position) for row in rows] for column in columns}
    cells = pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String))
    doubted = set(misleading_columns(columns, cells, kind))
    own = {column.position: _own_name(column, kind) for column in columns if column.name in doubted}
    return [own.get(at, cell) for at, cell in enumerate(header)]


def _text(row: Sequence[Cell], at: int) -> str | None:
    """Return a cell as text; a question mark replaces what is no character."""
    cell = row[at] if at < len(row) else None
    return None if cell is None else str(cell).encode("utf-8", "replace").decode()


def _column(header: Sequence[Cell], place: SourceColumn, kind: Kind) -> Column | None:
    """Return the column that a header makes by itself; None where a mapping or a second line made it."""
    at = position(place["column"])
    text = header[at] if at < len(header) else None
    column = recognise(str(text), at, kind) if text is not None else None
    if column is not None and is_shared(column) and place["field"].endswith(f"_{column.name}"):
        return column  # published once for each weight that it applies to
    return None if column is None else replace(column, name=place["field"]) if _names(column, place) else None


def _names(column: Column, place: SourceColumn) -> bool:
    return place["field"] in (column.name, f"component_{column.name}")


def _own_name(column: Column, kind: Kind) -> str:
    """Return the header that means the column whatever its cells contain."""
    alone = recognise(column.name, column.position, kind)
    return column.name if alone is not None and alone.table == column.table else f"component_{column.name}"
