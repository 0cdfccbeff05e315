"""Finds the header's row and the columns that the caller's mapping names, by their letters or their headers."""

import re
from collections.abc import Sequence
from typing import Final

import polars as pl

from pipelines.reading.column_values import Searched
from pipelines.reading.columns import column_for
from pipelines.reading.grid import Cells, Column, Grid, Table, invalid_mapping, letter, position
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.values import read_values
from schemas.messages import Message
from schemas.normalise import quote
from schemas.words import fold

NUMBERED: Final = re.compile(r"^\s*\(?(\d{1,2}|[a-z])[.)]\s*(?=[^\W\d_])", re.IGNORECASE)
"""A running number or letter before a header."""
_LONGEST_SEEN: Final = 500


def row_of_lettered_columns(grid: Grid, rows: Sequence[Cells], table: Table, mapped: SheetMapping, best: int) -> int:
    """Return the header row of columns that the mapping names only by letters: the first row that fills all of them.

    Nothing in the file says that this row is a header. A row of values is refused, so that no data is lost.
    """
    lettered = {name: position(to[0]) for name, to in mapped.columns.items() if to[0].isascii() and to[0].isalpha()}
    wide = max(lettered.values(), default=-1)
    filled = (at for at, row in enumerate(rows) if len(row) > wide and all(row[to] for to in lettered.values()))
    index = next(filled, best) if lettered else best
    if len(rows[index]) > wide and any(_is_value(name, rows[index][to], table) for name, to in lettered.items()):
        texts = ", ".join(quote(cell[:60]) for cell in rows[index] if cell is not None)[:500]
        message = Message(
            "The mapping names columns by letters, and line {line} is the first that fills them: {held}. "
            "It looks like data. Say header_row in the mapping: the line of the headers, or 0 where there are none.",
            line=grid.lines[index],
            held=texts,
        )
        raise invalid_mapping(message)
    return index


def _is_value(name: str, cell: str | None, table: Table) -> bool:
    """Return whether a cell is a value of the field and no header: a code has a digit, a number can be read."""
    column = column_for(name, 0, "", table)
    if column is None or cell is None:
        return False
    if column.field.kind == "text":
        return column.field.name == "sku_code" and any(map(str.isdigit, cell))
    return not read_values(pl.Series([cell]), column, ".", None).faults.height


def mapped_columns(header: Searched, mapped: SheetMapping) -> list[Column]:
    """Return a column for each field that the mapping reads from one; one column of the file may give several fields.

    Raises `ReadingRefused` with `invalid_mapping` where the file has none of a field's columns.
    """
    cells, columns = header.cells, list[Column]()
    for name, places in mapped.columns.items():
        at = next((at for place in places if (at := _position(cells, place)) is not None), None)
        column = None if at is None else column_for(name, at, cells[at] or "", header.table)
        if column is None:
            lacking = " or ".join(map(quote, places))
            seen = ", ".join(f"{letter(at)} {quote(cell)}" for at, cell in header.free([]).items())
            message = Message(
                "The mapping is wrong: there is no column {header} for {name}. The table has the columns A to "
                "{last}; the headers are: {seen}.",
                header=lacking,
                name=name,
                last=letter(len(cells) - 1),
                seen=seen[:_LONGEST_SEEN],
            )
            raise invalid_mapping(message)
        columns.append(column)
    return columns


def _position(cells: Cells, header: str) -> int | None:
    """Return the column that the caller means: a header as written, a header after folding, or a column letter."""
    for same in (
        lambda cell: cell.strip() == header.strip(),
        lambda cell: fold(cell) == fold(header),
        lambda cell: fold(cell) == fold(NUMBERED.sub("", header)),
    ):
        places = [at for at, cell in enumerate(cells) if cell is not None and same(cell)]
        if len(places) == 1:
            return places[0]
        if places:
            where = ", ".join(map(letter, places))
            message = Message(
                "The header {header} stands over columns {where}; name the letter.", header=quote(header), where=where
            )
            raise invalid_mapping(message)
    if header.isascii() and header.isalpha() and len(header) <= 3 and position(header) < len(cells):
        return position(header)
    return None
