"""Makes a file of an import's rejected rows, with reasons, for its sender to correct and send back.

`tables` picks the rows out of the file that was sent, `edits` changes their cells, `files` writes them as CSV or as a
workbook. They are pure
functions of the file's bytes and of the service's answers about it; the caller requests those.
"""

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, TypedDict

import polars as pl

from pipelines.imports.rejections import ADDED, Cell, Report, Table, sheets_of_skus
from pipelines.reading.grid import letter, position, refuse
from pipelines.reading.values import as_codes, unescaped
from pipelines.writing.workbooks import Sheet, Workbook
from schemas.imports.types import ImportSource
from schemas.messages import Message
from schemas.normalise import shown
from schemas.texts import harmless

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


_SHEET_OF_TEXTS: Final = "import"
_WIDTHS: Final = (10, 14, 90)
"""Widths of the added columns, in characters."""


def as_csv(table: Table, source: ImportSource) -> bytes:
    """Write one table as text, in the delimiter and encoding of the text that was sent.

    A workbook's rows are separated by commas, in UTF-8. UTF-8 also replaces an encoding that lacks one of the
    characters.
    """
    delimiter, encoding = source["delimiter"] or ",", source["encoding"] or "utf-8-sig"  # a workbook has neither
    records, line = [], 1
    if table.preamble:
        records, line = [table.preamble], 2
    for place, cells in table.rows:
        record = _record(cells, delimiter)
        records += ["\r\n" * (place - line), record]
        line = max(line, place) + record.count("\n")
    return _encoded("".join(records), encoding)


def as_workbook(tables: Iterable[Table]) -> bytes:
    """Write all tables as sheets of a workbook under their own names; numbers stay numbers."""
    target = io.BytesIO()
    with Workbook(target, {"in_memory": True}) as book:
        bold = book.add_format({"bold": True})
        for table in tables:
            written = Sheet(book, table.name or _SHEET_OF_TEXTS)
            for line, cells in table.rows:
                shown = (harmless(cell) if isinstance(cell, str) else cell for cell in cells)
                written.put(line - 1, enumerate(shown), bold if line == table.header_row else None)
            sheet = written.worksheet
            if ADDED[0] in table.header:
                for at, width in enumerate(_WIDTHS, table.header.index(ADDED[0])):
                    sheet.set_column(at, at, width)
            sheet.freeze_panes(table.header_row, 0)
    return target.getvalue()


def _record(cells: Sequence[Cell], delimiter: str) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerow([_cell_text(cell) for cell in cells])
    return text.getvalue()


def _cell_text(cell: Cell) -> str:
    """Return a cell of a text. A workbook's number is written without ambiguity: `1.2340`, never `1.234`."""
    if isinstance(cell, Decimal):
        number = f"{cell:f}"
        return f"{number}0" if len(number.partition(".")[2]) == 3 else number
    return harmless(cell or "")


def _encoded(text: str, encoding: str) -> bytes:
    """Encode the text; bytes that were no characters when it was read are written unchanged."""
    if encoding.startswith("utf-16"):
        return text.encode("utf-16", "surrogatepass")
    try:
        return text.encode(encoding, "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8-sig", "surrogateescape")


def taken_codes(
    before: Sequence[Table], after: Sequence[Table], source: ImportSource, report: Report, earlier: Collection[str]
) -> list[str]:
    """Return the codes of rows that may not be written, of the rejected rows `before` and `after` they were edited.

    They are those of rows that were rejected as repeats and have their code still, of rows with the code of a line that
    was not rejected, and those among `earlier`, which the corrected file's own rows may not have. Where an earlier row
    of the new file has the code, the reader finds the repeat by itself.
    """
    names = {place["sheet"] for place in sheets_of_skus(source)}
    at = position(next(column["column"] for column in source["columns"] if column["field"] == "sku_code"))
    repeated = {
        (fault["sheet"], fault["line"])
        for fault in report
        if fault["code"] == "duplicate_sku_code" and source["layout"] != "long"
    }
    counted = {*earlier, *(code for table in before if table.name in names for code in table.others)}
    found: dict[str, None] = {}
    free: set[str] = set()
    for own, edited in zip(before, after, strict=True):
        if own.name not in names:
            continue
        for line, was, code in zip(own.lines, _codes(own, at), _codes(edited, at), strict=True):
            if code is None:
                continue
            if code in counted or ((own.name, line) in repeated and code == was):
                found |= {} if code in free else {code: None}
            else:
                free.add(code)
    return list(found)


def _codes(table: Table, at: int) -> list[str | None]:
    """Return the codes of the rejected rows, as the reader compares them."""
    cells = [_repeat_text(cells, at) for _, cells in table.rejected()]
    texts = unescaped(pl.Series("code", cells, dtype=pl.String))
    return texts.to_frame().select(as_codes(pl.col("code")))["code"].to_list()


def _repeat_text(cells: Sequence[Cell], at: int) -> str | None:
    cell = cells[at] if at < len(cells) else None
    return None if cell is None else str(cell).encode("utf-8", "replace").decode()
