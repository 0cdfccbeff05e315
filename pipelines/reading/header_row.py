"""Finds the header line of a grid: the one with most known headers, or the one that the caller's mapping names.

`header.py` decides whether its columns are enough.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import polars as pl

from pipelines.reading.columns import column_for, open_column, recognise, substitute_column
from pipelines.reading.fields import LONGEST_HEADER, Table
from pipelines.reading.grid import Grid, position
from pipelines.reading.groups import is_bare_material
from pipelines.reading.labels import Cells
from pipelines.reading.mapped_columns import mapped_headers
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.refusal import refuse
from pipelines.reading.values import read_values
from schemas.messages import Message
from schemas.normalise import shown
from schemas.words import fold

ROWS_SEARCHED: Final = 40
REQUIRED_FIELDS: Final[Mapping[Table, tuple[str, ...]]] = {
    "sku": ("sku_code", "name"),
    "component": ("sku_code", "component_type"),
}
"""The fields without which a table cannot be read."""
_MOST_CELLS_SEARCHED: Final = 1_200
"""Most cells that are searched for the header, in whole rows: each cell costs several look-ups."""


def recognised_fields(cells: Iterable[str], table: Table = "sku", *, materials_count_once: bool = False) -> set[str]:
    """Return the fields that the cells name, by which a row looks like a header.

    With `materials_count_once` all names of materials alone count as one field.
    """
    short = [cell for cell in cells if len(cell) < LONGEST_HEADER]
    columns = [
        column for cell in short if (column := recognise(cell, 0, table) or open_column(cell, 0, table)) is not None
    ]
    names = {"material" if materials_count_once and is_bare_material(column) else column.name for column in columns}
    if table == "sku":
        names |= {column.name for cell in short if (column := substitute_column(cell)) is not None}
    return names


def without_header(grid: Grid) -> tuple[Cells, int]:
    """Return the labels of a table without a header, all of them empty, and 0, the line above its first one."""
    return [None] * len(grid.row(0)), 0


def header_index(grid: Grid, table: Table, mapped: SheetMapping) -> int | None:
    """Return the row of the header; None where the mapping says by `header_row` 0 that there is none.

    Raises `ReadingRefused` with `no_table` or `invalid_mapping`.
    """
    if grid.cells.height == 0:
        raise refuse(
            "no_table", Message("The file holds no table; send one with a header row and a line for each SKU.")
        )
    if mapped.header_row == 0:
        return None
    if mapped.header_row is not None:
        if mapped.header_row not in grid.lines:
            message = Message("The mapping's header_row is {row}, a line without cells.", row=mapped.header_row)
            raise refuse("invalid_mapping", message, "mapping")
        return int(grid.lines.to_list().index(mapped.header_row))
    headers, constant = mapped_headers(mapped), {column.name for column in mapped.constants}

    def merit(index: int) -> tuple[bool, int, int]:
        cells = [cell for cell in grid.row(index) if cell is not None]
        names = recognised_fields(cells, table)
        words = len({cell for cell in cells if any(map(str.isalpha, cell))})
        whole = (names | constant).issuperset(REQUIRED_FIELDS[table])
        return whole, len(names) + sum(fold(cell) in headers for cell in cells), words

    merits = [merit(index) for index in range(_rows_searched(grid))]
    best = _first_of_its_table(grid, merits)
    cells = [cell for cell in grid.row(best) if cell is not None]
    known = [column for cell in cells if (column := recognise(cell, 0, table)) is not None and column.group is None]
    if any(fold(cell) in headers for cell in cells) or len(known) > 1:
        return best
    return _row_of_lettered_columns(grid, table, mapped, best)


def _first_of_its_table(grid: Grid, merits: list[tuple[bool, int, int]]) -> int:
    """Return the row with most known headers; an earlier whole header where rows of a table are between the two.

    Otherwise the rows of the first of two files, one below the other, would be lost as titles of the second.
    """
    best = merits.index(max(merits))
    first = next((at for at in range(best) if merits[at][0]), best)
    between = (merits[at][0] or sum(cell is not None for cell in grid.row(at)) < 2 for at in range(first + 1, best))
    return best if all(between) else first


def _rows_searched(grid: Grid) -> int:
    """Return the number of rows that are searched, at least one."""
    rows = min(grid.cells.height, ROWS_SEARCHED)
    filled = grid.cells.head(rows).select(pl.sum_horizontal(pl.all().is_not_null())).to_series().cum_sum()
    return max(1, int((filled <= _MOST_CELLS_SEARCHED).sum()))


def _row_of_lettered_columns(grid: Grid, table: Table, mapped: SheetMapping, best: int) -> int:
    """Return the header row of columns that the mapping names only by letters: the first row that fills all of them.

    Nothing in the file says that this row is a header. A row of values is refused, so that no data is lost.
    """
    lettered = {name: position(to[0]) for name, to in mapped.columns.items() if to[0].isascii() and to[0].isalpha()}
    if not lettered:
        return best
    rows = [grid.row(index) for index in range(_rows_searched(grid))]
    wide = max(lettered.values())
    row = next(
        (at for at, row in enumerate(rows) if len(row) > wide and all(row[to] for to in lettered.values())), best
    )
    if len(rows[row]) > wide and any(_is_value(name, rows[row][to], table) for name, to in lettered.items()):
        texts = ", ".join(shown(cell[:60]) for cell in rows[row] if cell is not None)[:500]
        message = Message(
            "The mapping names columns by letters, and line {line} is the first that fills them: {held}. "
            "It looks like data. Say header_row in the mapping: the line of the headers, or 0 where there are none.",
            line=grid.lines[row],
            held=texts,
        )
        raise refuse("invalid_mapping", message, "mapping")
    return row


def _is_value(name: str, cell: str | None, table: Table) -> bool:
    """Return whether a cell is a value of the field and no header: a code has a digit, a number can be read."""
    column = column_for(name, 0, "", table)
    if column is None or cell is None:
        return False
    if column.field.kind == "text":
        return column.field.name == "sku_code" and any(map(str.isdigit, cell))
    return not read_values(pl.Series([cell]), column, ".", None).faults.height
