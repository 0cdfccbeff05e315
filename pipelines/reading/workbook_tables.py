"""Chooses and reads the sheets of SKUs and of components in a workbook, and lists the others with the reason."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from pipelines.reading.fields import Table
from pipelines.reading.grid import letter
from pipelines.reading.header import Header, find_header
from pipelines.reading.header_row import ROWS_SEARCHED, recognised_fields
from pipelines.reading.mapping import CheckedMapping, SheetMapping
from pipelines.reading.merged import Merge, read_merged
from pipelines.reading.questions import question, refused
from pipelines.reading.refusal import ReadingRefused, refuse
from pipelines.reading.sheet import Sheet, read_sheet
from pipelines.reading.workbook import SheetPart, Workbook
from schemas.messages import Message
from schemas.normalise import shown
from schemas.report import Asked, HiddenPlaces, UnreadSheet
from schemas.words import code_of, fold

_MOST_LISTED: Final = 200
_MOST_SEARCHED: Final = 50
"""Sheets that are searched for a header; a mapping can name any other."""

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
    part, header = _first_with_header(book, tables, mapped, headless)
    if (
        mapped.sheet is None
        and mapped.sheets is None
        and (others := _of_same_header(book, tables, part, header, mapped))
    ):
        raise refused([_question([part.name, *others])])
    main = _read(book, part, "sku", mapped, header)
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
    read = [part] if graph is None or parts is None else [part, graph]
    return WorkbookTables(
        main,
        parts,
        _hidden_places(book, part, main),
        None if graph is None else _hidden_places(book, graph, parts),
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
    return _read(book, graph, "component", mapped, header)


def _read(book: Workbook, part: SheetPart, table: Table, mapped: CheckedMapping, header: Header) -> Sheet:
    """Read the sheet of a header, with its merged cells."""
    body = book.body(part, header.needed)
    merges = [Merge(*place) for place in book.hidden(part).merges if place[0] < place[1]]
    uses = mapped.of_table(table).quantity
    body, asked = read_merged(body, merges, header.columns, uses, header=header.last_line, sheet=part.name)
    sheet = read_sheet(body, part.name, table, mapped, delimiter=None, header=header)
    return replace(sheet, questions=(*sheet.questions, *asked))


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
    if mapped.sheet is None and mapped.sheets is None:
        return [sheet for sheet in visible if sheet not in (named, graph)], graph
    chosen = _sheet_named(book, mapped.sheet if mapped.sheet is not None else _only(mapped.sheets))
    if chosen == graph and mapped.components is not None:
        raise refuse(
            "invalid_mapping",
            Message("The mapping reads SKUs and components from {sheet}.", sheet=shown(chosen.name)),
            "mapping",
        )
    return [chosen], None if chosen == graph else graph


def _only(sheets: tuple[str, ...] | Literal["all"] | None) -> str:
    """Return the one sheet that the mapping names. Raises `ReadingRefused` where it names several."""
    if not isinstance(sheets, tuple) or len(sheets) != 1:
        message = Message(
            "The mapping's sheets must be one sheet here; put the table into one sheet, or send each alone."
        )
        raise refuse("invalid_mapping", message, "mapping")
    return sheets[0]


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
    book: Workbook, sheets: Sequence[SheetPart], chosen: SheetPart, header: Header, mapped: CheckedMapping
) -> list[str]:
    """Return the names of the other sheets whose header has the same columns as the chosen one's, and a line below."""
    names = []
    for sheet in sheets[:_MOST_SEARCHED]:
        if sheet == chosen:
            continue
        top = book.top(sheet, ROWS_SEARCHED)
        try:
            other = find_header(top, "sku", mapped, sheet=sheet.name)
        except ReadingRefused:
            continue
        if _titles(other) == _titles(header) and top.below(other.last_line).cells.height:
            names.append(sheet.name)
    return names


def _titles(header: Header) -> set[str]:
    return {fold(column.header) for column in header.columns}


def _question(names: Sequence[str]) -> Asked:
    """Return the question which of several sheets with one header are read."""
    message = Message(
        "Several sheets have the same header: {sheets}. One is read at a time; say which: "
        'mapping={{"sheets": ["{name}"]}}, or put them into one sheet.',
        sheets=", ".join(names)[:500],
        name=names[0],
    )
    return question("sheet", message, {"sheets": [names[0]]}, could_be=names, sheet=names[0])


def _hidden_places(book: Workbook, part: SheetPart, sheet: Sheet | None) -> HiddenPlaces | None:
    """Return the hidden data lines and columns of a table that were read nevertheless; None where there are none."""
    if sheet is None:
        return None
    hidden = book.hidden(part)
    lines = [line for line in sheet.table["line"] if line in hidden.rows]
    columns = [letter(column.position) for column in sheet.columns if column.position in hidden.columns]
    return {"rows": len(lines), "lines": lines[:_MOST_LISTED], "columns": columns} if lines or columns else None


def _unread_sheet(sheet: SheetPart, headless: Sequence[SheetPart], master: SheetPart | None) -> UnreadSheet:
    reason = MASTER if sheet == master else HIDDEN if sheet.hidden else HEADLESS if sheet in headless else NOT_NEEDED
    return {"sheet": sheet.name, "reason": reason}
