"""Writes workbooks whose texts are read back as they were: the one door to xlsxwriter for data of a company.

A workbook writes a character that XML cannot contain as `_x0041_`, and so has to escape a text that looks like that
(ECMA-376 Part 1, section 22.9.2.19). xlsxwriter 3.2 misses one that shares its first `_` with the one before it.
"""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias  # Any: XlsxWriter ships no types

from xlsxwriter import Workbook, xmlwriter

xmlwriter.re_control_chars_1 = re.compile("(_)(?=x[0-9a-fA-F]{4}_)")

__all__ = ["Cell", "Sheet", "Workbook"]

Cell: TypeAlias = str | float | Decimal | None
LONGEST_CELL: Final = 32_767
"""The most characters of a workbook's cell; a longer text is cut there."""
MOST_LINES: Final = 1_048_575
"""The most lines of a sheet below its headers; more go on in another sheet."""


class Sheet:
    """A table of a workbook, which is written line by line over as many sheets as it needs.

    A text is written as a text, whatever it looks like; what a spreadsheet would compute has its `'` already
    (`schemas.texts`). Nothing is written where a cell is None or empty.
    """

    def __init__(self, book: Any, name: str, headers: Sequence[str] = (), *, frozen_columns: int = 1) -> None:
        """`headers` stand in bold above the lines; a table without any has no line of them."""
        self._book, self._name, self._frozen = book, name, frozen_columns
        self._bold = book.add_format({"bold": True, "bottom": 1})
        self._sheets, self._line, self.lines, self._headers = 1, 0, 0, tuple(headers)
        self.worksheet = book.add_worksheet(name)
        if headers:
            self.begin(headers)

    def begin(self, headers: Sequence[str]) -> None:
        """Write the headers of this sheet, and of those that follow it."""
        self._headers, self._line = tuple(headers), 0
        self.worksheet.freeze_panes(1, self._frozen)
        self.put(0, enumerate(self._headers), self._bold)

    def add(self, cells: Iterable[tuple[int, Cell]]) -> None:
        """Write a line below the last: its cells with their places from 0."""
        if self._line == MOST_LINES:
            self._sheets += 1
            self.worksheet = self._book.add_worksheet(f"{self._name} {self._sheets}")
            self.begin(self._headers)
        self._line += 1
        self.lines += 1
        self.put(self._line, cells)

    def put(self, line: int, cells: Iterable[tuple[int, Cell]], style: Any = None) -> None:
        """Write cells of a line, counted from 0, in a style of the book."""
        text, number = self.worksheet.write_string, self.worksheet.write_number
        for at, cell in cells:
            if cell is None or cell == "":
                continue
            if isinstance(cell, str):
                text(line, at, _storable(cell), style)
            else:
                number(line, at, float(cell) if isinstance(cell, Decimal) else cell, style)


def _storable(text: str) -> str:
    """Return a text that a workbook can store: no longer than a cell, without code points that are no characters."""
    return text[:LONGEST_CELL] if text.isascii() else text[:LONGEST_CELL].encode("utf-8", "replace").decode()
