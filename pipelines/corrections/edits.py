"""Shows rejected rows line by line, and puts a person's corrections into their cells.

A cell is named by its sheet, the line of the file that was sent, and the letter of its column: as the report of the
import names it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, TypedDict

from pipelines.corrections.cells import Cell
from pipelines.corrections.tables import Table
from pipelines.reading.grid import letter, position
from pipelines.reading.refusal import refuse
from schemas.messages import Message
from schemas.normalise import shown

_NUMBER: Final = re.compile(r"-?\d{1,15}(\.\d{1,15})?")


class RejectedRow(TypedDict):
    """A rejected row: `line` is that of the file that was sent, `cells` are its cells by column letter."""

    sheet: str | None
    line: int
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class Edit:
    """A cell's new text; empty clears it."""

    sheet: str | None
    line: int
    column: str
    text: str


def headers(tables: Iterable[Table]) -> list[RejectedRow]:
    """Return the headers of the tables by column letter."""
    return [_row(table, table.header_row, table.header[: table.width]) for table in tables]


def rows(tables: Iterable[Table], offset: int, limit: int) -> list[RejectedRow]:
    """Return a page of the rejected rows of all tables."""
    found = [(table, line, cells) for table in tables for line, cells in table.rejected()]
    return [_row(table, line, cells[: table.width]) for table, line, cells in found[offset : offset + limit]]


def with_edits(tables: Sequence[Table], edits: Sequence[Edit]) -> list[Table]:
    """Return the tables with these cells. Raises `ReadingRefused` with the place of an edit of no rejected row."""
    by_sheet = {table.name: table for table in tables}
    changed: dict[str | None, dict[int, dict[int, str]]] = {}
    for at, edit in enumerate(edits):
        table = by_sheet.get(edit.sheet)
        if table is None or edit.line not in table.rejected_lines:
            message = Message("Line {line} of the file is no rejected row.", line=edit.line)
            raise refuse("invalid_format", message, f"cells[{at}].line")
        if not edit.column.isalpha() or position(edit.column) >= table.width:
            message = Message("The rejected rows have no column {column}.", column=shown(edit.column))
            raise refuse("invalid_format", message, f"cells[{at}].column")
        changed.setdefault(edit.sheet, {}).setdefault(edit.line, {})[position(edit.column)] = edit.text
    return [replace(table, rows=_edited(table, changed.get(table.name, {}))) for table in tables]


def _edited(table: Table, changed: Mapping[int, Mapping[int, str]]) -> list[tuple[int, list[Cell]]]:
    head = len(table.rows) - len(table.lines)
    edited = [
        (place, _with_texts(table, cells, changed.get(line, {})))
        for line, (place, cells) in zip(table.lines, table.rows[head:], strict=True)
    ]
    return [*table.rows[:head], *edited]


def _with_texts(table: Table, cells: list[Cell], texts: Mapping[int, str]) -> list[Cell]:
    """Return a row with new cells; a workbook's number stays a number where the new text is a plain one."""
    cells = [*cells, *[None] * (max(texts, default=-1) + 1 - len(cells))]
    for at, text in texts.items():
        if text != _text(cells[at]):
            is_number = at in table.numeric and _NUMBER.fullmatch(text) is not None
            cells[at] = Decimal(text) if is_number else text or None
    return cells


def _row(table: Table, line: int, cells: Sequence[Cell]) -> RejectedRow:
    own = {letter(at): text for at, cell in enumerate(cells) if (text := _text(cell))}
    return {"sheet": table.name, "line": line, "cells": own}


def _text(cell: Cell) -> str:
    """Return a cell as a person types it; a question mark replaces what is no character."""
    text = f"{cell:f}" if isinstance(cell, Decimal) else cell or ""
    return text.encode("utf-8", "replace").decode()
