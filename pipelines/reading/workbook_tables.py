"""Chooses and reads the sheets of SKUs and of components in a workbook, and lists the others with the reason."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from pipelines.reading.fields import Table
from pipelines.reading.grid import LINES_OF_SHEET, Grid, ReadSheet, letter, one_below_another, own_line
from pipelines.reading.header import Header, find_header
from pipelines.reading.header_row import ROWS_SEARCHED, recognised_fields
from pipelines.reading.mapping import CheckedMapping, SheetMapping
from pipelines.reading.merged import Filled, Merge, read_merged
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
