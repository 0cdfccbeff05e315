"""Reads a file into an upload: its mapped columns of cell text, and the published `source`.

Typing does not belong here: see `rows.py`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final, Self, TypeAlias

import polars as pl

from pipelines.reading import open_parts, stored
from pipelines.reading.asked import without_doubtful
from pipelines.reading.delimited import detect_delimiter, read_delimited
from pipelines.reading.encoding import decode, detect_format
from pipelines.reading.fields import Table
from pipelines.reading.grid import (
    LINES_OF_SHEET,
    Grid,
    ReadingRefused,
    ReadSheet,
    letter,
    one_below_another,
    own_line,
    refuse,
)
from pipelines.reading.header import Header, find_header
from pipelines.reading.header_row import ROWS_SEARCHED, known_headers, mapped_headers, recognised_fields
from pipelines.reading.judge import judged, without_asked
from pipelines.reading.layouts import lines_are_parts, split_layout, with_codes_filled
from pipelines.reading.mapping import CheckedMapping, SheetMapping, Words, check_mapping
from pipelines.reading.materials import with_details, with_families
from pipelines.reading.merged import Filled, Merge, read_merged
from pipelines.reading.published import completed_by
from pipelines.reading.questions import NOTHING_READ, question, refused
from pipelines.reading.readings import MOST, readings_of
from pipelines.reading.sheet import Sheet, read_sheet, with_levels
from pipelines.reading.workbook.book import SheetPart
from pipelines.reading.workbook.sheets import Workbook
from schemas.imports.types import Asked, FileFormat, HiddenPlaces, ImportSource, SkippedLine, UnreadSheet
from schemas.messages import Message
from schemas.normalise import shown
from schemas.words import code_of, fold

_MOST_LISTED: Final = 200
_MOST_SEARCHED: Final = 50
"""Sheets that are searched for a header; a mapping can name any other."""

_MOST_TOGETHER: Final = 400
"""Sheets that are searched for one table: one for each day of a year."""
_Headed: TypeAlias = tuple[SheetPart, Header]
"""A sheet with its header."""

HIDDEN = Message("the sheet is hidden")
HEADLESS = Message("no line has the headers that are needed")
NOT_NEEDED = Message("another sheet is read")
MASTER = Message("no line names a SKU, as components do; name its columns under components if they are")


@dataclass(frozen=True, slots=True)
class WorkbookTables:
    """The tables of a workbook: the sheets of SKUs and of components, and the others with the reason."""

    main: Sheet
    parts: Sheet | None
    hidden: HiddenPlaces | None
    hidden_parts: HiddenPlaces | None
    unread: list[UnreadSheet]


def read_tables(book: Workbook, mapped: CheckedMapping) -> WorkbookTables:
    """Read the tables of a workbook. Raises `ReadingRefused` where no sheet has SKUs or the mapping fits none."""
    tables, graph = _candidates(book, mapped)
    headless: list[SheetPart] = []
    if isinstance(mapped.sheets, tuple):
        chosen = [_first_with_header(book, [sheet], mapped, headless) for sheet in tables]
    else:
        chosen = [_first_with_header(book, tables, mapped, headless)]
        chosen += _of_same_header(book, tables, chosen[0], mapped) if mapped.sheets or mapped.sheet is None else []
    if len(chosen) > 1 and mapped.sheets is None:
        raise refused([_question([sheet.name for sheet, _ in chosen])])
    _check_columns(chosen)
    main = _read(book, chosen, "sku", mapped)
    master: SheetPart | None = None
    try:
        parts = None if graph is None else _read_components(book, graph, mapped)
    except ReadingRefused as refusal:
        assert graph is not None, "only a sheet of components was read"
        if mapped.components is None and not _names_skus(book, graph, main):
            parts, master = None, graph
        elif refusal.outline is not None:
            refusal.outline = {**refusal.outline, **main.published()}
        if master is None:
            raise
    of_skus = [sheet for sheet, _ in chosen]
    read = of_skus if graph is None or parts is None else [*of_skus, graph]
    return WorkbookTables(
        main,
        parts,
        _hidden_places(book, of_skus, main),
        None if graph is None else _hidden_places(book, [graph], parts),
        [_unread_sheet(sheet, headless, master) for sheet in book.sheets if sheet not in read][:_MOST_LISTED],
    )


def _names_skus(book: Workbook, graph: SheetPart, main: Sheet) -> bool:
    """Return whether a sheet has a code of a SKU in any cell of its first lines: a master of components has none."""
    codes = {fold(code) for code in main.table["sku_code"].drop_nulls()}
    return any(fold(cell) in codes for row in book.top(graph, ROWS_SEARCHED).cells.iter_rows() for cell in row if cell)


def _read_components(book: Workbook, graph: SheetPart, mapped: CheckedMapping) -> Sheet | None:
    """Read the table of components; None where its sheet is empty and the mapping does not mention it."""
    top, mapping = book.top(graph, ROWS_SEARCHED), mapped.components or SheetMapping()
    if not top.cells.height and mapped.components is None:
        return None
    header = find_header(top, "component", mapping, sheet=graph.name)
    return _read(book, [(graph, header)], "component", mapped)


def _read(book: Workbook, chosen: Sequence[_Headed], table: Table, mapped: CheckedMapping) -> Sheet:
    """Read the sheets of one table, which have the columns of the first, with their merged cells."""
    first, header = chosen[0]
    uses = mapped.of_table(table).quantity
    grids: list[Grid] = []
    asked: list[Asked] = []
    filled: Filled = {}
    for part, own in chosen:
        body = book.body(part, header.needed)
        merges = [Merge(*place) for place in book.hidden(part).merges if place[0] < place[1]]
        body, questions, texts = read_merged(
            body, merges, header.columns, uses, header=own.last_line, sheet=part.name, table=table
        )
        grids.append(body.below(own.last_line) if grids else body)
        asked += questions
        for position, of_column in texts.items():
            known = filled.setdefault(position, {})
            known |= {text: rows + known.get(text, 0) for text, rows in of_column.items()}
    sheets = tuple(ReadSheet(part.name, own.line) for part, own in chosen) if len(chosen) > 1 else ()
    grid = one_below_another(grids)
    sheet = read_sheet(grid, first.name, table, mapped, delimiter=None, header=header, sheets=sheets)
    return replace(sheet, questions=(*sheet.questions, *asked), filled=filled)


def _candidates(book: Workbook, mapped: CheckedMapping) -> tuple[list[SheetPart], SheetPart | None]:
    """Return the sheets that may contain the SKUs, and the one that contains the components."""
    visible = [sheet for sheet in book.sheets if not sheet.hidden]
    named = graph = next((sheet for sheet in visible if code_of(sheet.name, "sheet") == "components"), None)
    if mapped.without_components:
        graph = None
    if mapped.components is not None:
        graph = _sheet_named(book, mapped.components.sheet) if mapped.components.sheet is not None else graph
        if graph is None:
            raise refuse(
                "invalid_mapping", Message("The mapping speaks of components, but no sheet is named so."), "mapping"
            )
    names = mapped.sheets or (None if mapped.sheet is None else (mapped.sheet,))
    if not isinstance(names, tuple):
        return [sheet for sheet in visible if sheet not in (named, graph)], graph
    chosen = list(dict.fromkeys(_sheet_named(book, name) for name in names))
    if graph is not None and graph in chosen and mapped.components is not None:
        raise refuse(
            "invalid_mapping",
            Message("The mapping reads SKUs and components from {sheet}.", sheet=shown(graph.name)),
            "mapping",
        )
    return chosen, None if graph in chosen else graph


def _sheet_named(book: Workbook, name: str) -> SheetPart:
    """Return the sheet that the mapping names, hidden ones included."""
    found = next((sheet for sheet in book.sheets if fold(sheet.name) == fold(name)), None)
    if found is None:
        names = ", ".join(sheet.name for sheet in book.sheets)[:500]
        raise refuse(
            "invalid_mapping",
            Message("The mapping's sheet {sheet} is none of: {names}.", sheet=shown(name), names=names),
            "mapping",
        )
    return found


def _first_with_header(
    book: Workbook, sheets: Sequence[SheetPart], mapped: CheckedMapping, headless: list[SheetPart]
) -> tuple[SheetPart, Header]:
    """Return the first sheet whose header has the needed columns; those before it are added to `headless`.

    Raises the refusal of the sheet with most known headers.
    """
    refusals: list[tuple[int, int, ReadingRefused]] = []
    for sheet in sheets[:_MOST_SEARCHED]:
        top = book.top(sheet, ROWS_SEARCHED)
        try:
            return sheet, find_header(top, "sku", mapped, sheet=sheet.name)
        except ReadingRefused as refusal:
            rows = [[cell for cell in row if cell is not None] for row in top.cells.iter_rows()]
            widest = max(map(len, rows), default=0)
            refusals.append((max((len(recognised_fields(row)) for row in rows), default=-1), widest, refusal))
            headless.append(sheet)
    if not refusals:
        raise refuse("no_table", Message("The workbook has no visible sheet with SKUs; send one with a header row."))
    raise max(refusals, key=lambda entry: entry[:2])[2]


def _of_same_header(
    book: Workbook, sheets: Sequence[SheetPart], chosen: _Headed, mapped: CheckedMapping
) -> list[_Headed]:
    """Return the other sheets whose header has the same columns as the chosen one's, and a line below."""
    found: list[_Headed] = []
    first, header = chosen
    if mapped.sheets == "all" and len(sheets) > _MOST_TOGETHER:
        message = Message(
            "At most {most} sheets are searched for one table; name its sheets, or put it into fewer.",
            most=_MOST_TOGETHER,
        )
        raise refuse("invalid_mapping", message, "mapping")
    for sheet in sheets[: _MOST_TOGETHER if mapped.sheets == "all" else _MOST_SEARCHED]:
        if sheet == first:
            continue
        top = book.top(sheet, ROWS_SEARCHED)
        try:
            other = find_header(top, "sku", mapped, sheet=sheet.name)
        except ReadingRefused:
            continue
        if _titles(other) == _titles(header) and top.below(other.last_line).cells.height:
            found.append((sheet, other))
    return found


def _titles(header: Header) -> set[str]:
    return {fold(column.header) for column in header.columns}


def _check_columns(chosen: Sequence[_Headed]) -> None:
    """Refuse sheets that cannot be read as one table: their columns are others than the first's, or elsewhere."""
    first, header = chosen[0]
    for sheet, other in chosen[1:]:
        places = {(column.position, fold(column.header)) for column in other.columns}
        for column in header.columns:
            if (column.position, fold(column.header)) not in places or len(other.columns) != len(header.columns):
                message = Message(
                    "The sheets {first} and {sheet} cannot be read as one table: their columns differ, or stand in "
                    "another order, as {header} does. Make their headers the same, or read each sheet alone.",
                    first=first.name,
                    sheet=sheet.name,
                    header=shown(column.header),
                )
                raise refuse("invalid_mapping", message, "mapping")


def _question(names: Sequence[str]) -> Asked:
    """Return the question which of several sheets with one header are read."""
    message = Message(
        "Several sheets have the same header: {sheets}. Say which are read: all as one table, mapping={mapping}, or "
        "one: mapping={other}.",
        sheets=", ".join(names)[:500],
        mapping={"sheets": "all"},
        other={"sheets": [names[0]]},
    )
    return question("sheet", message, could_be=["all", *names], sheet=names[0])


def _hidden_places(book: Workbook, parts: Sequence[SheetPart], sheet: Sheet | None) -> HiddenPlaces | None:
    """Return the hidden data lines and columns of a table that were read nevertheless; None where there are none."""
    if sheet is None:
        return None
    hidden = [book.hidden(part) for part in parts]
    rows = {at * LINES_OF_SHEET + line for at, of_sheet in enumerate(hidden) for line in of_sheet.rows}
    lines = [own_line(line) for line in sheet.table["line"] if line in rows]
    hidden_columns = {at for of_sheet in hidden for at in of_sheet.columns}
    columns = [letter(column.position) for column in sheet.columns if column.position in hidden_columns]
    return {"rows": len(lines), "lines": lines[:_MOST_LISTED], "columns": columns} if lines or columns else None


def _unread_sheet(sheet: SheetPart, headless: Sequence[SheetPart], master: SheetPart | None) -> UnreadSheet:
    reason = MASTER if sheet == master else HIDDEN if sheet.hidden else HEADLESS if sheet in headless else NOT_NEEDED
    return {"sheet": sheet.name, "reason": reason}


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that can be imported: `source` is its published description, `main` and `parts` are its tables.

    `rows` are the data lines of the main sheet, those that could not be read included.
    """

    source: ImportSource
    main: Sheet
    parts: Sheet | None
    rows: int

    @property
    def table(self) -> pl.DataFrame:
        """Return the main table: cell text in one String column per field, an empty cell null, beside `line`."""
        return self.main.table

    @property
    def components(self) -> pl.DataFrame | None:
        """Return the components' table, of the same form; None where the file names none."""
        return None if self.parts is None else self.parts.table

    def to_bytes(self) -> bytes:
        """Return the upload as bytes for a worker, so that the caller's file is read only once."""
        return stored.pack(self.source, self.main, self.parts, self.rows)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Upload":
        """Return the upload that `to_bytes` has written."""
        return cls(*stored.unpack(data))


def read_upload(
    data: bytes,
    filename: str,
    *,
    mapping: Mapping[str, object] | None = None,
    mapping_name: str | None = None,
    words: Words | None = None,
    taken_codes: Collection[str] = (),
    today: date,
) -> Upload:
    """Read the tables of an uploaded file by its content; `filename` only names it in a refusal.

    `mapping` is the caller's (decisions §4), `mapping_name` is its name; `words` are the company's own;
    `taken_codes` are codes that no row may have (`pipelines.imports.rejections`); `today` is the day of submission,
    for volumes that name no year.
    Raises `ReadingRefused` where the file as a whole cannot be imported.
    """
    mapped = check_mapping(mapping, words)
    of_format = _from_text if detect_format(data, filename) == "csv" else _from_workbook
    upload = of_format(data, mapped, today)
    upload.source["mapping_name"] = mapping_name
    return replace(upload, main=replace(upload.main, taken=tuple(taken_codes))) if taken_codes else upload


def _from_text(data: bytes, mapped: CheckedMapping, today: date) -> Upload:
    if mapped.components is not None:
        message = Message("The mapping speaks of a components sheet, but a text has no sheets; send a workbook.")
        raise refuse("invalid_mapping", message, "mapping")
    text = decode(data, mapped.encoding)
    of_mapping = mapped_headers(mapped)
    delimiter = detect_delimiter(text.text, lambda records: known_headers(records, of_mapping))
    grid = read_delimited(text.text, delimiter)
    about: FileFormat = {"format": "csv", "encoding": text.encoding, "delimiter": delimiter}
    with completed_by(about):
        sheet = read_sheet(grid, None, "sku", mapped, delimiter=delimiter)
        return _upload(sheet, None, about, mapped, today)


def _from_workbook(data: bytes, mapped: CheckedMapping, today: date) -> Upload:
    about: FileFormat = {"format": "xlsx", "encoding": None, "delimiter": None}
    with completed_by(about):
        read = read_tables(Workbook(data), mapped)
        parts = None if read.parts is None else with_codes_filled(read.parts)
        upload = _upload(read.main, parts, about, mapped, today)
    upload.source.update({"hidden": read.hidden, "unread_sheets": read.unread})
    if (components := upload.source["components"]) is not None and read.parts is not None:
        components["hidden"] = read.hidden_parts
    return upload


def _upload(main: Sheet, parts: Sheet | None, about: FileFormat, mapped: CheckedMapping, today: date) -> Upload:
    """Return the upload of the tables found. Raises `no_rows` where there is no data line."""
    lines = main.lines
    if lines == 0 and (parts is None or parts.lines == 0):
        raise refuse("no_rows", Message("The table has a header and no data line below it; nothing can be imported."))
    of_parts = parts is not None or (mapped.layout != "rows" and lines_are_parts(main))
    main = judged(with_levels(main), of_parts=of_parts and parts is None)
    parts = None if parts is None else judged(parts, of_parts=True)
    main, questions = without_doubtful(main, of_parts=of_parts)
    before, before_parts = main, parts
    main, parts, layout = split_layout(with_families(main), parts, mapped.layout)
    separate = parts is not None and layout == "rows"
    if parts is not None:
        parts, open_words = open_parts.without_open(parts, main, separate=separate)
        questions = [*questions, *open_words]
    main, parts = with_details(without_asked(main)).kept(), None if parts is None else with_details(parts).kept()
    readings = readings_of(before, main, *(() if separate or parts is None else (parts,)))
    if separate and before_parts is not None and parts is not None:
        readings = [*readings, *readings_of(before_parts, parts)][:MOST]
    dated = any(column.market and column.year is None for column in main.columns)
    source: ImportSource = {
        **NOTHING_READ,
        **about,
        **main.published(),
        "components": None if parts is None else parts.published(),
        "layout": layout,
        "skipped": _published_skipped(main),
        "volume_year": today.year if dated else None,
        "asked": [*main.questions, *(parts.questions if parts is not None and separate else ()), *questions],
        "readings": readings,
    }
    if main.sheets:
        source["sheets"] = [{"sheet": name, "header_row": row} for name, row in main.sheets]
    return Upload(source, main, parts, lines)


def _published_skipped(main: Sheet) -> list[SkippedLine]:
    """Return the lines that are no data, with their sheet where the table has several."""
    found: list[SkippedLine] = []
    for line, reason in main.skipped:
        found.append({"line": own_line(line), "reason": reason})
        if main.sheets:
            found[-1]["sheet"] = main.sheet_of(line)
    return found


@dataclass(frozen=True, slots=True)
class PackedUpload:
    """`source` and `rows` as in `Upload`; `codes` are the distinct ones of the main sheet, `table` is `to_bytes`."""

    source: ImportSource
    rows: int
    codes: list[str]
    table: bytes

    @classmethod
    def of(cls, upload: Upload) -> Self:
        """Return the upload, packed."""
        codes = upload.table["sku_code"].drop_nulls().unique().to_list()
        return cls(upload.source, upload.rows, codes, upload.to_bytes())
