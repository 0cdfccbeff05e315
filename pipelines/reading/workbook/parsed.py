"""Reads a worksheet's cells with the XML parser, for every form of XML that the patterns do not match."""

from collections.abc import Iterator

import polars as pl

from pipelines.reading.grid import position
from pipelines.reading.office import NoXmlError, local_name, parse_xml
from pipelines.reading.workbook.hidden import Hidden
from pipelines.reading.workbook.markup import is_raised, marked, undo_escapes
from pipelines.reading.workbook.package import invalid_xml
from schemas.messages import Message

_ROW_DIGITS, _COLUMN_LETTERS, _STYLE_DIGITS = 7, 3, 6
"""More than any spreadsheet has; the patterns read as many."""
_LONGEST_TEXT = 65_536
"""Characters of a cell that are kept: twice a spreadsheet's most, so that it is still found to be too long."""
_TEXT_OF = {"v": "value", "t": "inline", "f": "formula"}


class _Cells:
    """The handlers of one parse. A cell or row without its reference comes directly after the one before."""

    def __init__(self, hidden: Hidden) -> None:
        self.found: list[tuple[int, int, str | None, int | None, str | None, str | None]] = []
        self.rows = 0
        self._hidden = hidden
        self._row = 0
        self._column = -1
        self._in_rows = 0
        self._in_hints = 0
        self._raised = False
        self._cell: dict[str, str] | None = None
        self._texts: dict[str, list[str]] = {}
        self._left = 0
        self._path: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = local_name(name)
        self._path.append(tag)
        if tag == "row":
            self._in_rows += 1
            self._row = _number(attributes["r"], _ROW_DIGITS) if attributes.get("r") else self._row + 1
            _check(0 < self._row < 10**_ROW_DIGITS)
            self._column = -1
            self._hidden.note("row", attributes | {"r": str(self._row)})
        elif tag == "c" and self._in_rows:
            self._cell, self._texts = attributes, {}
            letters = attributes.get("r", "").rstrip("0123456789")
            _check(len(letters) <= _COLUMN_LETTERS)
            self._column = position(letters) if letters else self._column + 1
            _check(0 <= self._column < 27**_COLUMN_LETTERS)
        elif tag == "rPh":
            self._in_hints += 1
        elif tag == "col":
            self._hidden.note("col", attributes)
        elif tag == "mergeCell":
            self._hidden.note_merge(attributes.get("ref", ""))
        elif tag == "r":
            self._raised = False
        elif is_raised(tag, attributes):
            self._raised = True
        elif self._cell is not None and tag in _TEXT_OF and not self._in_hints:
            self._texts.setdefault(_TEXT_OF[tag], [])
            self._left = _LONGEST_TEXT - sum(map(len, self._texts[_TEXT_OF[tag]]))

    def characters(self, text: str) -> None:
        if self._cell is None or self._path[-1] not in _TEXT_OF or self._in_hints or self._left <= 0:
            return
        self._texts[_TEXT_OF[self._path[-1]]].append(marked(text) if self._raised else text)
        self._left -= len(text)

    def end(self, _: str) -> None:
        tag = self._path.pop()
        if tag == "c" and self._cell is not None:
            if self._texts:
                self._keep(self._cell)
            self._cell = None
        elif tag == "r":
            self._raised = False
        elif tag == "row":
            self._in_rows -= 1
            self.rows += bool(self.found) and self.found[-1][0] == self._row
        elif tag == "rPh":
            self._in_hints -= 1

    def _keep(self, cell: dict[str, str]) -> None:
        texts = {kind: "".join(pieces) for kind, pieces in self._texts.items()}
        text = texts.get("value", texts.get("inline"))
        style = _number(cell["s"], _STYLE_DIGITS) if "s" in cell else None
        text = None if text is None else undo_escapes(text)
        self.found.append((self._row, self._column, cell.get("t"), style, texts.get("formula"), text))


def _number(text: str, most_digits: int) -> int:
    _check(len(text) <= most_digits and text.isascii() and text.isdigit())
    return int(text)


def _check(possible: bool) -> None:
    if not possible:
        raise NoXmlError("a cell stands where none can")


def parsed_cells(
    pieces: Iterator[bytes], rows: int | None, schema: pl.Schema, most: int, hidden: Hidden
) -> pl.DataFrame:
    """Read the cells of a sheet, those of about the first `rows` rows where that is given; stop after more than `most`.

    `hidden` records hidden rows and columns.
    """
    cells = _Cells(hidden)

    def enough() -> bool:
        return (rows is not None and cells.rows >= rows) or len(cells.found) > most

    try:
        parse_xml(pieces, cells.start, cells.end, cells.characters, until=enough)
    except NoXmlError as error:
        raise invalid_xml(Message("one of its sheets is no XML"), error) from None
    return pl.DataFrame(cells.found, schema=schema, orient="row")
