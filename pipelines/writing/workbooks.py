"""Writes workbooks whose texts are read back as they were: the one door to xlsxwriter for data of a company.

A workbook writes a character that XML cannot contain as `_x0041_`, and so has to escape a text that looks like that
(ECMA-376 Part 1, section 22.9.2.19). xlsxwriter 3.2 misses one that shares its first `_` with the one before it.
"""

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from html import escape
from typing import Any, Final, TypeAlias  # Any: XlsxWriter ships no types
from zipfile import ZIP_DEFLATED, ZipFile

from xlsxwriter import Workbook, xmlwriter
from xlsxwriter.utility import xl_col_to_name

xmlwriter.re_control_chars_1 = re.compile("(_)(?=x[0-9a-fA-F]{4}_)")

__all__ = ["Cell", "Sheet", "Workbook", "plain_workbook"]

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


_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TYPE: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_MARKED: Final = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9a-fA-F]{4}_)")
"""What XML cannot contain, and the beginning of what would be read as such a mark."""


def plain_workbook(sheets: Mapping[str, Sequence[Mapping[str, str | float]]]) -> bytes:
    """Return a workbook of records, a sheet for each name, without any style: in an eighth of the time of `Sheet`.

    The headers are the records' names in the order in which they first come. Numbers keep all their digits.
    """
    parts, named, related = {}, "", f'<Relationship Id="b" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
    types, of_book = f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>', ""
    for at, (name, records) in enumerate(sheets.items(), 1):
        place = f"worksheets/sheet{at}.xml"
        parts[f"xl/{place}"] = "".join(_rows(records))
        named += f'<sheet name="{escape(name)}" sheetId="{at}" r:id="s{at}"/>'
        of_book += f'<Relationship Id="s{at}" Type="{_OFFICE}/worksheet" Target="{place}"/>'
        types += f'<Override PartName="/xl/{place}" ContentType="{_TYPE}.worksheet+xml"/>'
    kind = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    parts["[Content_Types].xml"] = f'<Types xmlns="{_PACKAGE}/content-types">{kind}{types}</Types>'
    for path, content in (("_rels/.rels", related), ("xl/_rels/workbook.xml.rels", of_book)):
        parts[path] = f'<Relationships xmlns="{_PACKAGE}/relationships">{content}</Relationships>'
    parts["xl/workbook.xml"] = f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{named}</sheets></workbook>'
    target = io.BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED, compresslevel=1) as package:
        for path, text in parts.items():
            package.writestr(path, text)
    return target.getvalue()


def _rows(records: Sequence[Mapping[str, str | float]]) -> Iterator[str]:
    names = dict.fromkeys(name for record in records for name in record)
    columns = {name: xl_col_to_name(at) for at, name in enumerate(names)}
    yield f'<worksheet xmlns="{_MAIN}"><sheetData>'
    for line, record in enumerate(({name: name for name in names}, *records), 1):
        cells = [f'<c r="{columns[name]}{line}"{_cell(cell)}' for name, cell in record.items()]
        yield f'<row r="{line}">{"".join(cells)}</row>'
    yield "</sheetData></worksheet>"


@lru_cache(maxsize=4_096)
def _cell(cell: str | float) -> str:
    """Return a cell behind its place; most of those of a table are alike."""
    if not isinstance(cell, str):
        return f"><v>{cell!r}</v></c>"
    text = escape(_MARKED.sub(lambda mark: f"_x{ord(mark[0]):04X}_", _storable(cell)), quote=False)
    return f' t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
