"""Reads the caller's file again as lines and cells, all columns, unchanged and untyped.

`tables.py` decides which lines are written. A text can have lines that are no record; they are cut at the delimiter.
"""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from pipelines.reading.columns import recognise
from pipelines.reading.delimited import read_delimited
from pipelines.reading.encoding import decode
from pipelines.reading.fields import Table as Kind
from pipelines.reading.grid import NUMBER, Grid, position
from pipelines.reading.values import unescaped
from pipelines.reading.workbook import Workbook
from schemas.report import ImportSource, SourceColumn, SourceSheet

_NUMERIC: Final = ("number", "integer", "ppm")
_PLAIN_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")

Cell = str | Decimal | None
Source = ImportSource | SourceSheet


@dataclass(frozen=True, slots=True)
class Sheet:
    """One sheet, or the text, that the service has read; `place` is the service's description of it.

    `numeric` are the positions of number columns, `text` the whole of a delimited text and its
    `delimiter`.
    """

    grid: Grid
    place: Source
    numeric: frozenset[int] = frozenset()
    text: str | None = None
    delimiter: str = ""

    @property
    def header_row(self) -> int:
        """Return the line of the header."""
        return self.place["header_row"]

    @property
    def preamble(self) -> str:
        """Return the line `sep=;` that some programs put before everything, or nothing."""
        first = "" if self.text is None else self.text[:6]
        return f"{first[:5]}\r\n" if first.lower().startswith("sep=") else ""

    @property
    def top(self) -> set[int]:
        """Return the lines down to the header that contain something."""
        return {line for line in self.grid.lines if line <= self.header_row}

    def codes(self, *, carried: bool) -> dict[int, str | None]:
        """Return the sku_code of each line; with `carried` a line without one belongs to the SKU above it."""
        letter = next(column["column"] for column in self.place["columns"] if column["field"] == "sku_code")
        below = self.grid.below(self.header_row)
        codes = unescaped(below.cells[f"c{position(letter)}"]).str.strip_chars()
        return dict(zip(below.lines, codes.forward_fill() if carried else codes, strict=True))

    def cells(self, wanted: Iterable[int]) -> dict[int, list[Cell]]:
        """Return the cells of some lines, in the order of the file."""
        lines = set(wanted)
        kept = self.grid.lines.is_in(list(lines))
        kinds = None if self.grid.kinds is None else self.grid.kinds.filter(kept)
        part = Grid(self.grid.cells.filter(kept), self.grid.lines.filter(kept), kinds=kinds)
        found: dict[int, list[Cell]] = {}
        for index, line in enumerate(part.lines):
            texts = part.row(index)
            cells: list[Cell] = list(texts[: self.grid.widths.get(line, len(texts))])
            if part.kinds is not None:
                for at in self.numeric:
                    if part.kinds[f"c{at}"][index] == NUMBER:
                        cells[at] = _number(texts[at])
            found[line] = cells
        return dict(sorted((found | self._no_records(lines)).items()))

    def _no_records(self, wanted: set[int]) -> dict[int, list[Cell]]:
        """Cut the lines among these that are no record at the delimiter; one with lost bytes can still be a record."""
        faults = [fault for fault in self.grid.faults if fault.line in wanted]
        if self.text is None or not faults:
            return {}
        lines, mark = list(io.StringIO(self.text, newline="")), self.delimiter
        found: dict[int, list[Cell]] = {}
        for fault in faults:
            if fault.code == "undecodable":
                found[fault.line] = list(next(csv.reader(lines[fault.line - 1 :], delimiter=mark)))
            else:
                found[fault.line] = list(lines[fault.line - 1].rstrip("\r\n").split(mark))
        return found


def of_text(data: bytes, source: ImportSource) -> Sheet:
    """Return the lines of a delimited text, by the delimiter that the service has found."""
    text, delimiter = decode(data, source["encoding"]).text, source["delimiter"]
    assert delimiter is not None, "a text has one"
    return Sheet(read_delimited(text, delimiter), source, text=text, delimiter=delimiter)


def of_workbook(book: Workbook, place: Source, columns: Iterable[SourceColumn], kind: Kind) -> Sheet:
    """Return the lines of a sheet; number cells stay numbers where `columns` list a column of numbers."""
    [part] = [part for part in book.sheets if part.name == place["sheet"]]
    numeric = {position(column["column"]) for column in columns if _is_numeric(column["field"], kind)}
    grid = book.whole(part, numeric)
    return Sheet(grid, place, frozenset(at for at in numeric if f"c{at}" in grid.cells.columns))


def _is_numeric(field: str, kind: Kind) -> bool:
    column = recognise(field, 0, kind)
    return column is not None and column.field.kind in _NUMERIC


def _number(text: str | None) -> Cell:
    """Return a number cell; one that shows a percentage, a unit or a day stays text."""
    return Decimal(text) if text is not None and _PLAIN_NUMBER.fullmatch(text) else text
