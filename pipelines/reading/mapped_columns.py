"""Finds the columns that the caller's mapping chooses, by their headers or letters.

`mapping.py` checks what a mapping may say; `header.py` finds the columns that no mapping chooses.
"""

from collections.abc import Sequence

from pipelines.reading.columns import column_for
from pipelines.reading.fields import Column, Table
from pipelines.reading.grid import letter, position
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.refusal import refuse
from schemas.messages import Message
from schemas.normalise import shown
from schemas.words import fold

Cells = Sequence[str | None]
_LONGEST_SEEN = 500


def mapped_columns(cells: Cells, mapped: SheetMapping, table: Table) -> list[Column]:
    """Return a column for each field that the mapping reads from one; one column of the file may give several fields.

    Raises `ReadingRefused` with `invalid_mapping` where the file has none of a field's columns.
    """
    columns: list[Column] = []
    for name, headers in mapped.columns.items():
        at = next((at for header in headers if (at := _position(cells, header)) is not None), None)
        column = None if at is None else column_for(name, at, cells[at] or "", table)
        if column is None:
            lacking = " or ".join(map(shown, headers))
            seen = ", ".join(f"{letter(at)} {shown(cell)}" for at, cell in enumerate(cells) if cell is not None)
            message = Message(
                "The mapping is wrong: there is no column {header} for {name}. The table has the columns A to "
                "{last}; the headers are: {seen}.",
                header=lacking,
                name=name,
                last=letter(len(cells) - 1),
                seen=seen[:_LONGEST_SEEN],
            )
            raise refuse("invalid_mapping", message, "mapping")
        columns.append(column)
    return columns


def mapped_headers(mapped: SheetMapping) -> set[str]:
    """Return the headers that the mapping names, folded: lines that contain them look like a header."""
    return {fold(header) for headers in mapped.columns.values() for header in headers}


def check_component_type(columns: Sequence[Column], mapped: SheetMapping) -> None:
    """Refuse a mapped field of components beside SKUs where nothing says which part of the packaging a line is."""
    given = [*columns, *mapped.constants]
    parts = [column.name for column in given if column.mapped and column.table == "component" and column.group is None]
    if parts and not any(column.name == "component_type" for column in given):
        message = Message(
            "The mapping is wrong: {name} is a component's, and component_type says which part each line is; map "
            'it too, or give it as a constant: {{"constants": {{"component_type": "body"}}}}.',
            name=parts[0],
        )
        raise refuse("invalid_mapping", message, "mapping")


def _position(cells: Cells, header: str) -> int | None:
    """Return the column that the caller means: a header as written, a header after folding, or a column letter."""
    for same in (lambda cell: cell.strip() == header.strip(), lambda cell: fold(cell) == fold(header)):
        found = [at for at, cell in enumerate(cells) if cell is not None and same(cell)]
        if len(found) == 1:
            return found[0]
        if found:
            where = ", ".join(map(letter, found))
            message = Message(
                "The header {header} stands over columns {where}; name the letter.", header=shown(header), where=where
            )
            raise refuse("invalid_mapping", message, "mapping")
    if header.isascii() and header.isalpha() and len(header) <= 3 and position(header) < len(cells):
        return position(header)
    return None
