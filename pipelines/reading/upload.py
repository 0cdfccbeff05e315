"""Reads a file into an upload: its mapped columns of cell text, and the published `source`; packs it for a worker.

Typing does not belong here: see `rows.py`.
"""

import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple, Self, TypeAlias

import polars as pl

from pipelines.reading.books import Book
from pipelines.reading.cells import MOST, readings_of
from pipelines.reading.column_values import ROWS_SEARCHED, names_lines
from pipelines.reading.grid import (
    LINES_OF_SHEET,
    NUMBERS,
    TEXT,
    VOLUME,
    Column,
    Grid,
    LineFault,
    ReadingRefused,
    ReadSheet,
    Table,
    fields_of,
    invalid_mapping,
    letter,
    one_below_another,
    own_line,
    refuse,
)
from pipelines.reading.header import (
    Header,
    find_header,
    known_headers,
    mapped_headers,
    recognised_fields,
)
from pipelines.reading.items import form_of, with_items
from pipelines.reading.judge import judge_columns, without_asked, without_doubtful
from pipelines.reading.layouts import (
    lines_are_parts,
    split_layout,
    split_units,
    with_codes_filled,
    with_details,
    with_families,
    without_open,
)
from pipelines.reading.mapping import QUANTITIES, CheckedMapping, SheetMapping, Words, check_mapping
from pipelines.reading.part_substances import with_metals_declared
from pipelines.reading.questions import NOTHING_READ, question, refused
from pipelines.reading.sheet import ID_HEADER, Sheet, check_export, read_sheet, with_levels
from pipelines.reading.text import decode, detect_delimiter, detect_format, read_delimited
from pipelines.reading.units import choice_for
from pipelines.reading.unread import about_components
from pipelines.reading.workbook.book import SheetPart
from pipelines.reading.workbook.cells import Workbook
from schemas.fields import SKU_CODE
from schemas.imports.types import Asked, FileFormat, HiddenPlaces, ImportSource, SkippedLine, UnreadSheet
from schemas.json_values import JsonObject
from schemas.messages import Message, from_json, to_json
from schemas.normalise import quote
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


class _WorkbookTables(NamedTuple):
    """The tables of a workbook: the sheets of SKUs and of components, and the others with the reason."""

    main: Sheet
    parts: Sheet | None
    hidden: HiddenPlaces | None
    hidden_parts: HiddenPlaces | None
    unread: list[UnreadSheet]


def _read_tables(book: Workbook, mapped: CheckedMapping) -> _WorkbookTables:
    """Read the tables of a workbook. Raises `ReadingRefused` where no sheet has SKUs or the mapping fits none."""
    tables, graph = _candidates(book, mapped)
    headless: list[SheetPart] = []
    if isinstance(mapped.sheets, tuple):
        chosen = [_first_with_header(book, [sheet], mapped, headless) for sheet in tables]
    else:
        chosen = [_first_with_header(book, tables, mapped, headless)]
        chosen += _of_same_header(book, tables, chosen[0], mapped) if mapped.sheets or mapped.sheet is None else []
    if len(chosen) > 1 and mapped.sheets is None:
        names = [sheet.name for sheet, _ in chosen]
        message = Message(
            "Several sheets have the same header: {sheets}. Say which are read: all as one table, mapping={mapping}, "
            "or one: mapping={other}.",
            sheets=", ".join(names)[:500],
            mapping={"sheets": "all"},
            other={"sheets": [names[0]]},
        )
        raise refused(question("sheet", message, could_be=["all", *names], sheet=names[0]))
    _check_columns(chosen)
    main = _read(book, chosen, "sku", mapped)
    parts: Sheet | None = None
    master: SheetPart | None = None
    if graph is not None:
        try:
            parts = _read_components(book, graph, mapped)
        except ReadingRefused as refusal:
            # A master of components has no code of a SKU in any cell of its first lines.
            codes = {fold(code) for code in main.table["sku_code"].drop_nulls()}
            first = (cell for row in book.top(graph, ROWS_SEARCHED).cells.iter_rows() for cell in row if cell)
            if mapped.components is not None or any(fold(cell) in codes for cell in first):
                if refusal.outline is not None:
                    refusal.outline = {**refusal.outline, **main.published()}
                raise
            master = graph
    of_skus = [sheet for sheet, _ in chosen]
    if graph is None and not mapped.without_components and all(c.table == "sku" for c in main.columns):
        others = (sheet for sheet in tables[:_MOST_SEARCHED] if sheet not in of_skus)
        asked = (about_components(book.top(sheet, ROWS_SEARCHED), sheet.name, main) for sheet in others)
        main = replace(main, questions=(*main.questions, *filter(None, asked)))
    unread: list[UnreadSheet] = []
    for sheet in book.sheets:
        if sheet not in of_skus and (parts is None or sheet != graph):
            reason = HIDDEN if sheet.hidden else HEADLESS if sheet in headless else NOT_NEEDED
            unread.append({"sheet": sheet.name, "reason": MASTER if sheet == master else reason})
    hidden_parts = None if graph is None or parts is None else _hidden_places(book, [graph], parts)
    return _WorkbookTables(main, parts, _hidden_places(book, of_skus, main), hidden_parts, unread[:_MOST_LISTED])


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
    grids: list[Grid] = []
    merged = _MergedCells(header.columns, mapped.of_table(table).quantity, table)
    for part, own in chosen:
        ids = (Column(ID_HEADER, SKU_CODE, table, at, text) for at, text in header.ignored if text == ID_HEADER)
        body = merged.read(book, part, book.body(part, (*header.needed, *ids)), own.last_line)
        grids.append(body.below(own.last_line) if grids else body)
    sheets = tuple(ReadSheet(part.name, own.line) for part, own in chosen) if len(chosen) > 1 else ()
    grid = one_below_another(grids)
    sheet = read_sheet(grid, first.name, table, mapped, delimiter=None, header=header, sheets=sheets)
    return replace(sheet, questions=(*sheet.questions, *merged.questions), filled=merged.filled)


_KEYS: Final = ("sku_code", "name")
_MOST_ASKED: Final = 100


class _MergedCells:
    """Reads cells that are merged over several lines: a spreadsheet stores their value in the first line only.

    Texts, codes and markets are filled down. A number that is merged over several SKUs may be each one's or all
    together: it is asked about, and `uses`, the mapping's `quantity`, says which by a column's letter or header; within
    one SKU it is read once (decisions §13, *Merged cells*). Codes and names are left as they are: lines without them
    belong to the SKU above (`cells.py`, `layouts.py`). `filled` are the texts that were filled down by column, each
    with the number of rows that have it by that.
    """

    def __init__(self, columns: Sequence[Column], uses: Mapping[str, str], table: Table) -> None:
        self.questions: list[Asked] = []
        self.filled: dict[int, dict[str, int]] = {}
        self._columns, self._uses, self._table = columns, uses, table

    def read(self, book: Workbook, sheet: SheetPart, grid: Grid, header: int) -> Grid:
        """Return the grid of a sheet with merged cells filled down below the `header`'s last line."""
        code = next((column.position for column in self._columns if column.name == "sku_code"), None)
        cells, kinds = grid.cells, grid.kinds
        before = len(self.questions)
        for first_line, last_line, first_column, _ in book.hidden(sheet).merges:
            of_place = (c for c in self._columns if c.position == first_column and c.constant is None)
            column = next((c for c in of_place if c.name not in _KEYS), None)
            if first_line == last_line or first_line <= header or column is None:
                continue
            rows = grid.lines.is_between(first_line, last_line).arg_true()
            if len(rows) < 2 or int(grid.lines[rows[0]]) != first_line:
                continue
            name = f"c{column.position}"
            value, kind = cells[name][rows[0]], TEXT if kinds is None else kinds[name][rows[0]]
            several = code is not None and cells[f"c{code}"].gather(rows).drop_nulls().n_unique() > 1
            if value is None or (column.field.kind in NUMBERS and not several):
                continue
            if column.field.kind in NUMBERS:
                use = choice_for(column, self._uses)
                if use is None and len(self.questions) < before + _MOST_ASKED:
                    self.questions.append(self._question(column, (first_line, last_line), value, sheet.name))
                value = value if use == "multiply" else _share(value, len(rows)) if use == "divide" else None
            else:
                texts = self.filled.setdefault(column.position, {})
                texts[value] = texts.get(value, 0) + len(rows)
            cells = cells.with_columns(cells[name].scatter(rows, value).alias(name))
            if kinds is not None:
                kinds = kinds.with_columns(kinds[name].scatter(rows, kind if value is not None else TEXT).alias(name))
        return replace(grid, cells=cells, kinds=kinds)

    def _question(self, column: Column, lines: tuple[int, int], value: str, sheet: str) -> Asked:
        message = Message(
            "{value} in {header} is merged over the lines {first} to {last}, which are several SKUs: it may be each "
            "one's or all together, and is not read. Say which, multiply or divide: mapping={mapping}, or write it in "
            "each line.",
            value=quote(value),
            header=quote(column.header),
            first=lines[0],
            last=lines[1],
            mapping={"quantity": {letter(column.position): QUANTITIES[0]}},
        )
        return question(
            "quantity",
            message,
            could_be=QUANTITIES,
            column=column,
            sheet=sheet,
            lines=f"{lines[0]}-{lines[1]}",
            text=value,
            of_components=self._table == "component",
        )


def _share(value: str, lines: int) -> str | None:
    """Return a number divided by lines; None where it is none."""
    try:
        return f"{float(value) / lines:.15g}"
    except ValueError:
        return None


def _candidates(book: Workbook, mapped: CheckedMapping) -> tuple[list[SheetPart], SheetPart | None]:
    """Return the sheets that may contain the SKUs, and the one that contains the components."""
    visible = [sheet for sheet in book.sheets if not sheet.hidden]
    titled = graph = next((sheet for sheet in visible if code_of(sheet.name, "sheet") == "components"), None)
    if mapped.without_components:
        graph = None
    if mapped.components is not None:
        graph = _sheet_named(book, mapped.components.sheet) if mapped.components.sheet is not None else graph
        if graph is None:
            raise invalid_mapping(Message("The mapping speaks of components, but no sheet is named so."))
    names = mapped.sheets or (None if mapped.sheet is None else (mapped.sheet,))
    if not isinstance(names, tuple):
        return [sheet for sheet in visible if sheet not in (titled, graph)], graph
    chosen = list(dict.fromkeys(_sheet_named(book, name) for name in names))
    if graph is not None and graph in chosen and mapped.components is not None:
        raise invalid_mapping(Message("The mapping reads SKUs and components from {sheet}.", sheet=quote(graph.name)))
    return chosen, None if graph in chosen else graph


def _sheet_named(book: Workbook, name: str) -> SheetPart:
    """Return the sheet that the mapping names, hidden ones included."""
    part = next((sheet for sheet in book.sheets if fold(sheet.name) == fold(name)), None)
    if part is None:
        names = ", ".join(sheet.name for sheet in book.sheets)[:500]
        raise invalid_mapping(
            Message("The mapping's sheet {sheet} is none of: {names}.", sheet=quote(name), names=names)
        )
    return part


def _first_with_header(
    book: Workbook, sheets: Sequence[SheetPart], mapped: CheckedMapping, headless: list[SheetPart]
) -> _Headed:
    """Return the first sheet whose header has the needed columns; those before it are added to `headless`.

    Raises the refusal of the sheet with most known headers.
    """
    refusals: list[tuple[int, int, ReadingRefused]] = []
    remarks: list[str] = []
    for sheet in sheets[:_MOST_SEARCHED]:
        top = replace(book.top(sheet, ROWS_SEARCHED), remarks=tuple(remarks))
        try:
            return sheet, find_header(top, "sku", mapped, sheet=sheet.name)
        except ReadingRefused as refusal:
            rows = [[cell for cell in row if cell is not None] for row in top.cells.iter_rows()]
            widest = max(map(len, rows), default=0)
            refusals.append((max((len(recognised_fields(row)) for row in rows), default=-1), widest, refusal))
            headless.append(sheet)
            remarks += top.remarks_below(-1) if top.cells.width else []
    if not refusals:
        raise refuse("no_table", Message("The workbook has no visible sheet with SKUs; send one with a header row."))
    raise max(refusals, key=lambda entry: entry[:2])[2]


def _of_same_header(
    book: Workbook, sheets: Sequence[SheetPart], chosen: _Headed, mapped: CheckedMapping
) -> list[_Headed]:
    """Return the other sheets whose header has the same columns as the chosen one's, and a line below."""

    def titles(header: Header) -> set[str]:
        return {fold(column.header) for column in header.columns}

    others: list[_Headed] = []
    first, header = chosen
    if mapped.sheets == "all" and len(sheets) > _MOST_TOGETHER:
        message = Message(
            "At most {most} sheets are searched for one table; name its sheets, or put it into fewer.",
            most=_MOST_TOGETHER,
        )
        raise invalid_mapping(message)
    for sheet in sheets[: _MOST_TOGETHER if mapped.sheets == "all" else _MOST_SEARCHED]:
        if sheet == first:
            continue
        top = book.top(sheet, ROWS_SEARCHED)
        try:
            other = find_header(top, "sku", mapped, sheet=sheet.name)
        except ReadingRefused:
            continue
        if titles(other) == titles(header) and top.below(other.last_line).cells.height:
            others.append((sheet, other))
    return others


def _check_columns(chosen: Sequence[_Headed]) -> None:
    """Refuse sheets that cannot be read as one table: their columns are others than the first's, or elsewhere."""
    first, header = chosen[0]
    for sheet, other in chosen[1:]:
        places = {(column.position, fold(column.header), column.name) for column in other.columns}
        for column in header.columns:
            own = (column.position, fold(column.header), column.name)
            if own not in places or len(other.columns) != len(header.columns):
                message = Message(
                    "The sheets {first} and {sheet} cannot be read as one table: their columns differ, or stand in "
                    "another order, as {header} does. Make their headers the same, or read each sheet alone.",
                    first=first.name,
                    sheet=sheet.name,
                    header=quote(column.header),
                )
                raise invalid_mapping(message)


def _hidden_places(book: Workbook, parts: Sequence[SheetPart], sheet: Sheet) -> HiddenPlaces | None:
    """Return the hidden data lines and columns of a table that were read nevertheless; None where there are none."""
    hidden = [book.hidden(part) for part in parts]
    rows = {at * LINES_OF_SHEET + line for at, of_sheet in enumerate(hidden) for line in of_sheet.rows}
    lines = [own_line(line) for line in sheet.table["line"] if line in rows]
    hidden_columns = {at for of_sheet in hidden for at in of_sheet.columns}
    columns = [letter(column.position) for column in sheet.columns if column.position in hidden_columns]
    return {"rows": len(lines), "lines": lines[:_MOST_LISTED], "columns": columns} if lines or columns else None


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that can be imported: `source` is its published description, `main` and `parts` are its tables.

    `units` has lines of units where each names the market of its own; their columns are published with those of `main`.
    `rows` are the data lines of the main sheet, those that could not be read included.
    """

    source: ImportSource
    main: Sheet
    parts: Sheet | None
    rows: int
    units: Sheet | None = None

    @property
    def table(self) -> pl.DataFrame:
        """Return the main table: cell text in one String column per field, an empty cell null, beside `line`."""
        return self.main.table

    @property
    def components(self) -> pl.DataFrame | None:
        """Return the components' table, of the same form; None where the file names none."""
        return None if self.parts is None else self.parts.table

    def to_bytes(self) -> bytes:
        """Return the upload for a worker, so that the caller's file is read only once.

        That is a line of JSON about the tables, then the tables as Parquet.
        """
        sheets = [sheet for sheet in (self.main, self.parts, self.units) if sheet is not None]
        frames: list[bytes] = []
        for frame in (frame for sheet in sheets for frame in (sheet.table, sheet.kinds) if frame is not None):
            buffer = io.BytesIO()
            frame.write_parquet(buffer, compression="lz4", statistics=False)
            frames.append(buffer.getvalue())
        about = {"source": self.source, "rows": self.rows, "sheets": [_described(sheet) for sheet in sheets]}
        about["units"] = self.units is not None
        about["sizes"] = [len(frame) for frame in frames]
        return json.dumps(about).encode("utf-8") + b"\n" + b"".join(frames)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Upload":
        """Return the upload that `to_bytes` has written."""
        head, _, rest = data.partition(b"\n")
        about, start, frames = json.loads(head), 0, list[pl.DataFrame]()
        for size in about["sizes"]:
            frames.append(pl.read_parquet(io.BytesIO(rest[start : start + size])))
            start += size
        [main, *parts] = [_sheet(of_sheet, frames) for of_sheet in about["sheets"]]
        units = parts.pop() if about.get("units") else None
        return cls(about["source"], main, parts[0] if parts else None, about["rows"], units)


def _described(sheet: Sheet) -> JsonObject:
    """Return what a worker needs of a table beside its cells."""
    columns = [
        {name: getattr(column, name) for name in Column.__dataclass_fields__}
        | {"factor": str(column.factor), "per": str(column.per), "field": column.field.name}
        for column in sheet.columns
    ]
    return {
        "name": sheet.name,
        "header_row": sheet.header_row,
        "columns": columns,
        "ignored": sheet.ignored,
        "marks": sheet.marks,
        "faults": [asdict(fault) | {"message": to_json(fault.message)} for fault in sheet.faults],
        "kinds": sheet.kinds is not None,
        "skipped": sheet.skipped,
        "taken": sheet.taken,
        "sheets": sheet.sheets,
    }


def _sheet(about: JsonObject, frames: list[pl.DataFrame]) -> Sheet:
    """Return a table from what `_described` says; its cells are the next of the frames."""
    columns: list[Column] = []
    for of_column in about["columns"]:
        field = VOLUME if of_column["field"] == VOLUME.name else fields_of(of_column["table"])[of_column["field"]]
        factors = {name: Decimal(of_column[name]) for name in ("factor", "per")}
        fixed, names = tuple((name, value) for name, value in of_column["fixed"]), tuple(of_column["names"])
        columns.append(Column(**{**of_column, **factors, "field": field, "fixed": fixed, "names": names}))
    return Sheet(
        about["name"],
        about["header_row"],
        tuple(columns),
        tuple((at, header) for at, header in about["ignored"]),
        frames.pop(0),
        about["marks"],
        tuple(LineFault(**fault | {"message": from_json(fault["message"])}) for fault in about["faults"]),
        frames.pop(0) if about["kinds"] else None,
        tuple((line, reason) for line, reason in about["skipped"]),
        taken=tuple(about["taken"]),
        sheets=tuple(ReadSheet(*sheet) for sheet in about["sheets"]),
    )


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


@contextmanager
def _completed_by(about: FileFormat) -> Iterator[None]:
    """Say in the outline of a refusal within the block what the file is."""
    try:
        yield
    except ReadingRefused as refusal:
        if refusal.outline is not None:
            refusal.outline = {**refusal.outline, **about}
        raise


def _from_text(data: bytes, mapped: CheckedMapping, today: date) -> Upload:
    if mapped.components is not None:
        message = Message("The mapping speaks of a components sheet, but a text has no sheets; send a workbook.")
        raise invalid_mapping(message)
    text = decode(data, mapped.encoding)
    of_mapping = mapped_headers(mapped)
    delimiter = detect_delimiter(text.text, lambda records, least: known_headers(records, of_mapping, least))
    grid = read_delimited(text.text, delimiter)
    grid = with_items(grid, form_of(grid)) if names_lines(grid) else grid
    about: FileFormat = {"format": "csv", "encoding": text.encoding, "delimiter": delimiter}
    with _completed_by(about):
        sheet = read_sheet(grid, None, "sku", mapped, delimiter=delimiter)
        return _upload(sheet, None, about, mapped, today)


def _from_workbook(data: bytes, mapped: CheckedMapping, today: date) -> Upload:
    about: FileFormat = {"format": "xlsx", "encoding": None, "delimiter": None}
    with _completed_by(about):
        read = _read_tables(Book(data), mapped)
        parts = None if read.parts is None else with_codes_filled(read.parts)
        upload = _upload(read.main, parts, about, mapped, today)
    upload.source.update({"hidden": read.hidden, "unread_sheets": read.unread})
    if (components := upload.source["components"]) is not None and read.parts is not None:
        components["hidden"] = read.hidden_parts
    return upload


def _upload(main: Sheet, parts: Sheet | None, about: FileFormat, mapped: CheckedMapping, today: date) -> Upload:
    """Return the upload of the tables found. Raises `no_rows` where there is no data line."""
    for sheet in (main, parts):
        if sheet is not None:
            check_export(sheet)
    lines = main.lines
    if lines == 0 and (parts is None or parts.lines == 0):
        raise refuse("no_rows", Message("The table has a header and no data line below it; nothing can be imported."))
    of_parts = parts is not None or (mapped.layout != "rows" and lines_are_parts(main))
    main = judge_columns(with_levels(main), of_parts=of_parts and parts is None)
    parts = None if parts is None else judge_columns(parts, of_parts=True)
    main, questions = without_doubtful(main, of_parts=of_parts)
    before, before_parts = main, parts
    main, parts, layout = split_layout(with_families(main), parts, mapped.layout)
    separate = parts is not None and layout == "rows"
    if parts is not None:
        parts, open_words = without_open(parts, main, separate=separate)
        questions = [*questions, *open_words]
    main, parts = (
        with_details(without_asked(main)).kept(),
        None if parts is None else with_details(with_metals_declared(parts)).kept(),
    )
    readings = readings_of(before, main, *(() if separate or parts is None else (parts,)))
    if separate and before_parts is not None and parts is not None:
        readings = [*readings, *readings_of(before_parts, parts)][:MOST]
    dated = any(column.field == VOLUME and column.year is None for column in main.columns)
    published = main.published()
    main, units = split_units(main)
    published = published if units is not None else main.published()
    skipped: list[SkippedLine] = []
    for line, reason in main.skipped:
        skipped.append({"line": own_line(line), "reason": reason})
        if main.sheets:
            skipped[-1]["sheet"] = main.sheet_of(line)
    source: ImportSource = {
        **NOTHING_READ,
        **about,
        **published,
        "components": None if parts is None else parts.published(),
        "layout": layout,
        "skipped": skipped,
        "volume_year": today.year if dated else None,
        "asked": [*main.questions, *(parts.questions if parts is not None and separate else ()), *questions],
        "readings": readings,
    }
    if main.sheets:
        source["sheets"] = [{"sheet": name, "header_row": row} for name, row in main.sheets]
    return Upload(source, main, parts, lines, units)


@dataclass(frozen=True, slots=True)
class PackedUpload:
    """`source` and `rows` as in `Upload`; `codes` are the distinct ones of the main sheet, `table` is `to_bytes`."""

    source: ImportSource
    rows: int
    codes: list[str]
    table: bytes

    @classmethod
    def from_upload(cls, upload: Upload) -> Self:
        """Return the upload, packed."""
        codes = upload.table["sku_code"].drop_nulls().unique().to_list()
        return cls(upload.source, upload.rows, codes, upload.to_bytes())
