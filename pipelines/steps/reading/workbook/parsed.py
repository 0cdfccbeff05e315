"""A worksheet's cells by the XML parser: the road for every form of XML that the patterns do not know."""

from collections.abc import Iterator
from pyexpat import ExpatError, ParserCreate

import polars as pl

from pipelines.steps.reading.grid import position
from pipelines.steps.reading.workbook.markup import undo_escapes
from pipelines.steps.reading.workbook.package import unreadable

_ROWS, _COLUMNS, _STYLES = 10**7, 26**3 + 26**2 + 26, 10**6
"""More than any spreadsheet has: what seven digits, three letters and six digits say, which the patterns read, too."""
_LONGEST_TEXT = 65_536
"""Characters of a cell that are kept: twice what a spreadsheet holds, so that it is still seen to be too long."""
_TEXT_OF = {"v": "value", "t": "inline", "f": "formula"}


class _Cells:
    """The handlers of one parse. A cell or row without its reference stands after the one before."""

    def __init__(self) -> None:
        self.found: list[tuple[int, int, str | None, int | None, str | None, str | None]] = []
        self.rows = 0
        self._row = 0
        self._column = -1
        self._cell: dict[str, str] | None = None
        self._texts: dict[str, str] = {}
        self._path: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(":")[2]
        self._path.append(tag)
        if tag == "row":
            self._row = int(attributes.get("r") or self._row + 1)
            _check(0 < self._row < _ROWS)
            self._column = -1
        elif tag == "c" and "row" in self._path:
            self._cell, self._texts = attributes, {}
            letters = attributes.get("r", "").rstrip("0123456789")
            self._column = position(letters) if letters else self._column + 1
            _check(0 <= self._column < _COLUMNS)
        elif self._cell is not None and tag in _TEXT_OF and "rPh" not in self._path:
            self._texts.setdefault(_TEXT_OF[tag], "")

    def characters(self, text: str) -> None:
        if self._cell is None or self._path[-1] not in _TEXT_OF or "rPh" in self._path:
            return
        kind = _TEXT_OF[self._path[-1]]
        if len(self._texts[kind]) < _LONGEST_TEXT:
            self._texts[kind] += text

    def end(self, _: str) -> None:
        tag = self._path.pop()
        if tag == "c" and self._cell is not None:
            if self._texts:
                self._keep(self._cell)
            self._cell = None
        elif tag == "row":
            self.rows += bool(self.found) and self.found[-1][0] == self._row

    def _keep(self, cell: dict[str, str]) -> None:
        text = self._texts.get("value", self._texts.get("inline"))
        style = int(cell["s"]) if "s" in cell else None
        _check(style is None or 0 <= style < _STYLES)
        text = None if text is None else undo_escapes(text)
        self.found.append((self._row, self._column, cell.get("t"), style, self._texts.get("formula"), text))


def _check(possible: bool) -> None:
    if not possible:
        raise OverflowError


def parsed_cells(pieces: Iterator[bytes], rows: int | None, schema: pl.Schema, most: int) -> pl.DataFrame:
    """The cells of a sheet, those of about the first `rows` rows where that is given, at most `most` and one more."""
    cells = _Cells()
    parser = ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = cells.start
    parser.EndElementHandler = cells.end
    parser.CharacterDataHandler = cells.characters
    try:
        for piece in pieces:
            parser.Parse(piece, False)
            if (rows is not None and cells.rows >= rows) or len(cells.found) > most:
                return pl.DataFrame(cells.found, schema=schema, orient="row")
        parser.Parse(b"", True)
        return pl.DataFrame(cells.found, schema=schema, orient="row")
    except (ExpatError, ValueError, OverflowError):
        raise unreadable("one of its sheets is no XML") from None
