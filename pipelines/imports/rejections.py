"""Picks the rejected rows out of the caller's file, adds reasons behind their cells, and writes them as a file again.

All of it is pure functions of the file's bytes and of the service's answers about it; the caller requests those.

A SKU is rejected whole: where its graph has lines of its own, these are included, so that the corrected file has all of
it. Title lines and header keep their lines and columns, so that a mapping fits the new file like the old.
"""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Final

import polars as pl

from pipelines.reading.column_values import misleading_columns
from pipelines.reading.columns import recognise
from pipelines.reading.grid import NUMBER, Column, Grid, letter, position, refuse
from pipelines.reading.grid import Table as Kind
from pipelines.reading.items import items_of_lines
from pipelines.reading.text import decode, read_delimited
from pipelines.reading.units import is_shared
from pipelines.reading.values import as_codes, unescaped
from pipelines.reading.workbook.cells import Workbook
from pipelines.writing.workbooks import Sheet as WrittenSheet
from pipelines.writing.workbooks import Workbook as WrittenWorkbook
from schemas.imports.types import ImportRowError, ImportSource, RejectedHeader, SourceColumn, SourceSheet
from schemas.messages import ORIGINAL, Message, translate
from schemas.normalise import quote
from schemas.texts import harmless

_NUMERIC: Final = ("number", "integer", "ppm")
_PLAIN_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")

_WRITTEN_NUMBER: Final = re.compile(r"-?\d{1,15}(\.\d{1,15})?")

_UNITS_OF_ROW: Final = re.compile(r"annual_volume(_\d{4})?(_h[12])?")

Cell = str | Decimal | None
Source = ImportSource | SourceSheet


@dataclass(frozen=True)
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

    @cached_property
    def items(self) -> dict[int, str | None]:
        """Return the sku_code of the item that each line is of, where several lines of another form make one."""
        return items_of_lines(self.grid)

    def codes(self, *, carried: bool) -> dict[int, str | None]:
        """Return the sku_code of each line; with `carried` a line without one belongs to the SKU above it."""
        if self.items:
            return self.items
        column = next(column["column"] for column in self.place["columns"] if column["field"] == "sku_code")
        below = self.grid.below(self.header_row)
        codes = unescaped(below.cells[f"c{position(column)}"]).str.strip_chars()
        return dict(zip(below.lines, codes.forward_fill() if carried else codes, strict=True))

    def cells(self, wanted: Iterable[int]) -> dict[int, list[Cell]]:
        """Return the cells of some lines, in the order of the file."""
        lines = set(wanted)
        kept = self.grid.lines.is_in(list(lines))
        kinds = None if self.grid.kinds is None else self.grid.kinds.filter(kept)
        part = Grid(self.grid.cells.filter(kept), self.grid.lines.filter(kept), kinds=kinds)
        cells_by_line: dict[int, list[Cell]] = {}
        for index, line in enumerate(part.lines):
            texts = part.row(index)
            cells: list[Cell] = list(texts[: self.grid.widths.get(line, len(texts))])
            if part.kinds is not None:
                for at in self.numeric:
                    text = texts[at] if part.kinds[f"c{at}"][index] == NUMBER else None
                    if text is not None and _PLAIN_NUMBER.fullmatch(text):  # no percentage, unit or day
                        cells[at] = Decimal(text)
            cells_by_line[line] = cells
        return dict(sorted((cells_by_line | self._no_records(lines)).items()))

    def _no_records(self, wanted: set[int]) -> dict[int, list[Cell]]:
        """Cut the lines among these that are no record at the delimiter; one with lost bytes can still be a record."""
        faults = [fault for fault in self.grid.faults if fault.line in wanted]
        if self.text is None or not faults:
            return {}
        lines, mark = list(io.StringIO(self.text, newline="")), self.delimiter
        cells_by_line: dict[int, list[Cell]] = {}
        for fault in faults:
            if fault.code == "undecodable":
                cells_by_line[fault.line] = list(next(csv.reader(lines[fault.line - 1 :], delimiter=mark)))
            else:
                cells_by_line[fault.line] = list(lines[fault.line - 1].rstrip("\r\n").split(mark))
        return cells_by_line


def of_text(data: bytes, source: ImportSource) -> Sheet:
    """Return the lines of a delimited text, by the delimiter that the service has found."""
    text, delimiter = decode(data, source["encoding"]).text, source["delimiter"]
    assert delimiter is not None, "a text has one"
    return Sheet(read_delimited(text, delimiter), source, text=text, delimiter=delimiter)


def of_workbook(book: Workbook, place: Source, columns: Iterable[SourceColumn], kind: Kind) -> Sheet:
    """Return the lines of a sheet; number cells stay numbers where `columns` list a column of numbers."""
    [part] = [part for part in book.sheets if part.name == place["sheet"]]
    read = [(position(place["column"]), recognise(place["field"], 0, kind)) for place in columns]
    numeric = {at for at, column in read if column is not None and column.field.kind in _NUMERIC}
    grid = book.whole(part, numeric)
    return Sheet(grid, place, frozenset(at for at in numeric if f"c{at}" in grid.cells.columns))


def unambiguous_header(
    header: Sequence[Cell], rows: Sequence[Sequence[Cell]], read: Iterable[SourceColumn], kind: Kind
) -> list[Cell]:
    """Return the header over the rejected `rows`; `read` are the columns that the service has read, as published."""
    columns = [column for place in read if (column := _column(header, place, kind)) is not None]
    texts = {column.name: [_text(row, column.position) for row in rows] for column in columns}
    cells = pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String))
    doubted = set(misleading_columns(columns, cells, kind))
    own = {column.position: _own_name(column, kind) for column in columns if column.name in doubted}
    return [own.get(at, cell) for at, cell in enumerate(header)]


def _text(row: Sequence[Cell], at: int) -> str | None:
    """Return a cell as text; a question mark replaces what is no character."""
    cell = row[at] if at < len(row) else None
    return None if cell is None else str(cell).encode("utf-8", "replace").decode()


def _column(header: Sequence[Cell], place: SourceColumn, kind: Kind) -> Column | None:
    """Return the column that a header makes by itself; None where a mapping or a second line made it."""
    at = position(place["column"])
    text = header[at] if at < len(header) else None
    column = recognise(str(text), at, kind) if text is not None else None
    if column is not None and is_shared(column) and place["field"].endswith(f"_{column.name}"):
        return column  # published once for each weight that it applies to
    is_named = column is not None and place["field"] in (column.name, f"component_{column.name}")
    return replace(column, name=place["field"]) if column is not None and is_named else None


def _own_name(column: Column, kind: Kind) -> str:
    """Return the header that means the column whatever its cells contain."""
    alone = recognise(column.name, column.position, kind)
    return column.name if alone is not None and alone.table == column.table else f"component_{column.name}"


ADDED: Final = ("error_line", "error_column", "error_reason")
"""Headers of the columns behind the caller's own. They match no field, so that an import ignores them."""

Report = Sequence[ImportRowError]
Columns = Sequence[SourceColumn]


@dataclass(frozen=True, slots=True)
class Table:
    """One sheet to write: `name` is None for a delimited text, `rows` are (line number, cells).

    `lines` are the lines of the sent file of the rejected rows, which are the last ones of `rows`. `width` is the
    number of the sender's columns, `numeric` the positions of those that contain numbers. `preamble` is a line `sep=;`
    before everything. Of a whole file `lines` are all its lines, and `rejected_lines` those that are rejected. `others`
    are the codes of the lines of SKUs that are not here, those of all their sheets.
    """

    name: str | None
    header_row: int
    rows: list[tuple[int, list[Cell]]]
    lines: tuple[int, ...]
    width: int
    numeric: frozenset[int] = frozenset()
    preamble: str = ""
    rejected_lines: frozenset[int] = frozenset()
    others: frozenset[str] = frozenset()

    @property
    def header(self) -> list[Cell]:
        """Return the headers, the added ones included; none where the table has none."""
        return dict(self.rows).get(self.header_row, [])

    def rejected(self) -> Iterator[tuple[int, list[Cell]]]:
        """Yield the rejected rows, each with its line in the sent file."""
        return zip(self.lines, (cells for _, cells in self.rows[len(self.rows) - len(self.lines) :]), strict=True)


def rejected_tables(
    data: bytes,
    source: ImportSource,
    report: Report,
    lang: str = ORIGINAL,
    *,
    with_reasons: bool = True,
    whole: bool = False,
) -> list[Table]:
    """Return the rejected rows of a file, or with `whole` all rows, a table for each sheet that has some.

    The sheet of SKUs of a workbook comes without rows where only components are rejected, since no import goes without.

    `data` is the file as it was sent; `source` and `report` are the service's answers about it in the language `lang`:
    `source`, all `errors`. Without `with_reasons` the rows are as they were sent.
    """
    wording = lang if with_reasons else None
    parts = source["components"]
    apart = None if parts is None or parts["sheet"] == source["sheet"] else parts
    component_columns = () if parts is None or apart is not None else parts["columns"]
    # Of a repeated code the first line stays, unless lines are components: all others are rejected whole.
    long = _has_lines_of_skus(source)
    codes = {f["sku_code"] for f in report if f["sku_code"] and (long or f["code"] != "duplicate_sku_code")}
    of_skus = codes if apart is not None or long else set()
    if source["format"] == "csv":
        text = of_text(data, source)
        return _tables(
            [_Rejected(text, report, of_skus, source, wording, component_columns=component_columns, whole=whole)]
        )
    book = Workbook(data)
    rejected: list[_Rejected] = []
    for place in sheets_of_skus(source):
        main = of_workbook(book, place, (*place["columns"], *component_columns), "sku")
        faults = [fault for fault in report if fault["sheet"] == place["sheet"]]
        rejected.append(
            _Rejected(main, faults, of_skus, place, wording, component_columns=component_columns, whole=whole)
        )
    if apart is None:
        return _tables(rejected)
    graphs = of_workbook(book, apart, apart["columns"], "component")
    of_parts = [fault for fault in report if fault["sheet"] == apart["sheet"]]
    return _tables(rejected, _Rejected(graphs, of_parts, codes, None, wording, whole=whole))


def _has_lines_of_skus(source: ImportSource) -> bool:
    """Return whether a SKU has several lines: of its parts, or of its units on each market."""
    return source["layout"] == "long" or any(_UNITS_OF_ROW.fullmatch(place["field"]) for place in source["columns"])


def sheets_of_skus(source: ImportSource) -> list[ImportSource]:
    """Return the description of each sheet of the SKUs, of which a table can have several."""
    alone: list[ImportSource] = [
        {**source, **sheet, "skipped": [line for line in source["skipped"] if line.get("sheet") == sheet["sheet"]]}
        for sheet in source.get("sheets", ())
    ]
    return alone if "sheets" in source else [source]


def _tables(of_skus: Sequence["_Rejected"], *of_parts: "_Rejected") -> list[Table]:
    """Return the tables with rows, and in any case one of the SKUs where the components have some."""
    others = frozenset(code for sheet in of_skus for code in sheet.others if code)
    tables = [replace(table, others=others) for sheet in of_skus if (table := sheet.table(is_needed=False)) is not None]
    parts = [table for sheet in of_parts if (table := sheet.table(is_needed=False)) is not None]
    if parts and not tables:
        tables = [table for table in [of_skus[0].table(is_needed=True)] if table is not None]
    return [*tables, *parts]


class _Rejected:
    """The rejected lines of one sheet: those with a fault, and all lines of the SKUs `codes`."""

    def __init__(
        self,
        sheet: Sheet,
        report: Report,
        codes: set[str],
        source: ImportSource | None,
        wording: str | None,
        *,
        component_columns: Columns = (),
        whole: bool = False,
    ) -> None:
        """`source` is None for a components sheet, `wording` where no reasons are written.

        `component_columns` are those of components in the main sheet. With `whole` no line is left out.
        """
        self._sheet, self._wording = sheet, wording
        self._read = (*sheet.place["columns"], *component_columns)
        self._kind: Kind = "component" if source is None else "sku"
        self._faults: dict[int, list[ImportRowError]] = {}
        for fault in report:
            self._faults.setdefault(fault["line"], []).append(fault)
        # A components sheet is long, and skips no line of a SKU.
        self._codes = sheet.codes(carried=source is None or _has_lines_of_skus(source))
        skipped = {skip["line"] for skip in source["skipped"]} if source else set[int]()
        if sheet.items:  # such an item is rejected whole
            codes = codes | {fault["sku_code"] for fault in report if fault["sku_code"]}
        siblings = {line for line, code in self._codes.items() if code in codes} - skipped
        self._rejected, self._whole = siblings | set(self._faults), whole
        self._lines = sorted(self._rejected | set(self._codes)) if whole else sorted(self._rejected)
        self.others = {code for line, code in self._codes.items() if line not in {*self._lines, *skipped}}

    def table(self, *, is_needed: bool) -> Table | None:
        """Return title lines, header and rejected lines, with the added columns.

        None where no line is rejected, unless the table `is_needed`.
        """
        if not self._lines and not is_needed:
            return None
        at = self._sheet.header_row
        cells = self._sheet.cells({*self._sheet.top, *self._lines})
        header = cells.get(at, [])
        width = len(header) if self._sheet.text is not None and header else max(map(len, cells.values()))
        old = len(ADDED) if tuple(header[-len(ADDED) :]) == ADDED else 0
        width -= old
        rows = [(line, cells_of_line) for line, cells_of_line in cells.items() if line < at]
        if header:
            sure = unambiguous_header(header, [cells[line] for line in self._lines], self._read, self._kind)
            rows.append((at, self._with_reason(sure, ADDED if self._wording else (), width, old)))
        for number, line in enumerate(self._lines, at + 1):
            place = line if self._whole else number
            ragged = any(fault["code"] == "ragged_row" for fault in self._faults.get(line, ()))
            rows.append((place, self._with_reason(cells[line], self._reason_cells(line), width, old, whole=not ragged)))
        return Table(
            self._sheet.place["sheet"],
            at,
            rows,
            tuple(self._lines),
            width,
            self._sheet.numeric,
            self._sheet.preamble,
            frozenset(self._rejected),
        )

    def _with_reason(
        self, cells: list[Cell], reasons: Sequence[Cell], width: int, old: int, *, whole: bool = True
    ) -> list[Cell]:
        """Return a line with the columns `reasons` behind the header's columns, in place of those of an earlier report.

        A line of a text that is rejected for too few or too many cells keeps their number, so that it is not read as
        corrected.
        """
        if self._sheet.text is None or whole:
            cells = [*cells, *[None] * (width + old - len(cells))]
        return [*cells[:width], *reasons, *cells[width + old :]]

    def _reason_cells(self, line: int) -> tuple[str, ...]:
        """Return the line's number, the letters of its faulty columns, and the messages; nothing without reasons."""
        if self._wording is None:
            return ()
        faults = self._faults.get(line)
        if faults is None:
            code = self._codes[line]
            blamed = [at for at in self._faults if self._codes.get(at) == code]
            sentence = Message("Nothing is wrong here, but the SKU is rejected as a whole. See the other sheet.")
            if blamed:
                sentence = Message(
                    "Nothing is wrong here, but the SKU is rejected as a whole. Line {line} says what is wrong with "
                    "this SKU.",
                    line=min(blamed),
                )
            return str(line), "", translate(sentence, self._wording)
        letters = dict.fromkeys(fault["column"] for fault in faults if fault["column"])
        return str(line), ", ".join(letters), " ".join(dict.fromkeys(fault["message"] for fault in faults))


@dataclass(frozen=True, slots=True)
class Edit:
    """A cell's new text; empty clears it."""

    sheet: str | None
    line: int
    column: str
    text: str


def headers(tables: Iterable[Table]) -> list[RejectedHeader]:
    """Return the headers of the tables by column letter."""
    return [_row(table, table.header_row, table.header[: table.width]) for table in tables]


def rows(tables: Iterable[Table], offset: int, limit: int) -> list[RejectedHeader]:
    """Return a page of the rejected rows of all tables."""
    lines = [(table, line, cells) for table in tables for line, cells in table.rejected()]
    return [_row(table, line, cells[: table.width]) for table, line, cells in lines[offset : offset + limit]]


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
            message = Message("The rejected rows have no column {column}.", column=quote(edit.column))
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
        if text != _typed(cells[at]):
            is_number = at in table.numeric and _WRITTEN_NUMBER.fullmatch(text) is not None
            cells[at] = Decimal(text) if is_number else text or None
    return cells


def _row(table: Table, line: int, cells: Sequence[Cell]) -> RejectedHeader:
    own = {letter(at): text for at, cell in enumerate(cells) if (text := _typed(cell))}
    return {"sheet": table.name, "line": line, "cells": own}


def _typed(cell: Cell) -> str:
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
    with WrittenWorkbook(target, {"in_memory": True}) as book:
        bold = book.add_format({"bold": True})
        for table in tables:
            written = WrittenSheet(book, table.name or _SHEET_OF_TEXTS)
            for line, cells in table.rows:
                texts = (harmless(cell) if isinstance(cell, str) else cell for cell in cells)
                written.put(line - 1, enumerate(texts), bold if line == table.header_row else None)
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
    codes: dict[str, None] = {}
    free: set[str] = set()
    for own, edited in zip(before, after, strict=True):
        if own.name not in names:
            continue
        for line, was, code in zip(own.lines, _codes(own, at), _codes(edited, at), strict=True):
            if code is None:
                continue
            if code in counted or ((own.name, line) in repeated and code == was):
                codes |= {} if code in free else {code: None}
            else:
                free.add(code)
    return list(codes)


def _codes(table: Table, at: int) -> list[str | None]:
    """Return the codes of the rejected rows, as the reader compares them."""
    cells = [_text(cells, at) for _, cells in table.rejected()]
    texts = unescaped(pl.Series("code", cells, dtype=pl.String))
    return texts.to_frame().select(as_codes(pl.col("code")))["code"].to_list()
