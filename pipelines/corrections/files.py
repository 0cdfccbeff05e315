"""Writes the rejected rows as bytes: a delimited text like the one that was sent, or a workbook with the same sheets.

A text that a spreadsheet would take for a formula gets a `'` before it (decisions §4), which the reader removes.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

from pipelines.corrections.cells import Cell
from pipelines.corrections.tables import ADDED, Table
from pipelines.workbooks import Sheet, Workbook
from schemas.formulas import harmless
from schemas.report import ImportSource

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
    csv.writer(text, delimiter=delimiter).writerow([_text(cell) for cell in cells])
    return text.getvalue()


def _text(cell: Cell) -> str:
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
