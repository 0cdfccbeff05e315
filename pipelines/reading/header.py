"""Finds the columns of a grid: the row that contains the headers, the field of each column, and further headers below.

A table is refused when a column it needs is missing or when two columns fit one field. The caller's mapping
takes precedence over recognised columns, by their headers or letters. `columns.py` recognises one header.

A further header, as of files that were put one below the other, that means the same columns is only left out. One that
means others, or the same ones in another order or unit, begins another table: its lines are rejected, since read by the
first header they would say something false. Where the first header comes again, its lines are read again.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import polars as pl

from pipelines.reading.column_values import (
    Searched,
    best_fitting,
    issues_of_missing,
    watched_columns,
    with_code,
    without_article_numbers,
)
from pipelines.reading.columns import column_for, recognise
from pipelines.reading.fields import LONGEST_HEADER, Column, Table, with_component_prefix
from pipelines.reading.forms import form_refusal
from pipelines.reading.grammar import mentions, names_packaging
from pipelines.reading.grid import Grid, LineFault, ReadingRefused, letter, position, refuse
from pipelines.reading.groups import usable_groups
from pipelines.reading.header_row import REQUIRED_FIELDS, Cells, header_index, header_labels, recognised_fields
from pipelines.reading.lines import OTHER_HEADER, REPEATED
from pipelines.reading.mapping import SheetMapping, same_field
from pipelines.reading.open import open_columns, questions_of, with_units_of_mapping
from pipelines.reading.published import outline_of
from pipelines.reading.questions import with_answer
from pipelines.reading.substitutes import SHARED_WITH_PRODUCT, with_substitutes
from pipelines.reading.unit_columns import is_shared, judge_units, own_units, with_stated_unit, with_units_beside
from pipelines.reading.unknown_materials import find_possible_materials, unknown_weights
from schemas.fields import SKU_CODE
from schemas.imports.types import Asked
from schemas.issues import Issue, QuestionKind
from schemas.json_values import JsonObject
from schemas.messages import Message, message_of
from schemas.normalise import shown
from schemas.words import fold, headers

_MOST_NAMED: Final = 20
"""Most columns that one sentence names."""
_LONGEST_SEEN: Final = 500
_LONGEST_SHOWN: Final = 200
_UNIT: Final = r"\((?:k?g|mg|%)\)"


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a table: its line, its last line where it has two, the columns read and the columns ignored.

    `off` are the fields that the mapping reads from no column, with the position and header of the column they had.
    `of_packaging` is true where a line above it says that the table is of packaging; `possible_materials` are the
    positions of ignored columns that may be weights of one more material. `questions` are about columns that are not
    read because their headers were not wholly understood, and about weights whose unit is open: `asked` are the
    positions of the latter. `watched` are ignored columns that say what weights are of.
    """

    line: int
    last_line: int
    columns: tuple[Column, ...]
    ignored: tuple[tuple[int, str], ...]
    off: tuple[tuple[str, int | None, str | None], ...] = ()
    of_packaging: bool = False
    possible_materials: tuple[int, ...] = ()
    questions: tuple[Asked, ...] = ()
    asked: frozenset[int] = frozenset()
    watched: tuple[Column, ...] = ()

    @property
    def needed(self) -> tuple[Column, ...]:
        """Return the columns whose cells are needed: those that are read, and those that say what weights are of."""
        return (*self.columns, *self.watched)


def find_header(grid: Grid, table: Table, mapped: SheetMapping, *, sheet: str | None = None) -> Header:
    """Return the header of a table; `mapped` is the part of the caller's mapping for its `sheet`.

    Raises `ReadingRefused` with `no_table`, `missing_column`, `ambiguous_column` or `invalid_mapping`.
    """
    unmapped = table == "sku" and not mapped.columns and mapped.header_row is None
    if unmapped and (refusal := form_refusal(grid)) is not None:
        raise refusal
    searched, last_line = _searched(grid, table, mapped, sheet)
    at, line, cells = searched.at, searched.line, searched.cells
    chosen = with_units_of_mapping(mapped_columns(cells, mapped, table), mapped)
    asked = [column for column in chosen if column.open is not None]
    chosen = [column for column in chosen if column.open is None]
    taken = {column.position for column in (*chosen, *asked)}
    found = [
        column
        for place, cell in enumerate(cells)
        if cell is not None and place not in taken and (column := recognise(cell, place, table)) is not None
    ]
    unread = [*mapped.off, *mapped.constants, *asked]
    recognised, found = found, [c for c in found if not any(same_field(c, other) for other in unread)]
    try:
        columns = _needed_columns(searched, mapped, chosen, found)
    except ReadingRefused as refused:
        refused.outline = outline_of(
            table,
            sheet,
            mapped,
            _switched_off(mapped, recognised),
            header_row=line,
            cells=cells,
            body=grid.below(last_line),
            recognised=[*chosen, *(column for column in found if not any(same_field(column, c) for c in chosen))],
        )
        raise
    opened = with_units_of_mapping(open_columns(cells, [*columns, *asked, *unread], table), mapped)
    columns = [*columns, *(column for column in opened if column.open is None)]
    asked += [column for column in opened if column.open is not None]
    columns = with_component_prefix(columns) if table == "sku" else columns
    above = [cell for i in range(at) for cell in grid.row(i) if cell is not None and len(cell) < LONGEST_HEADER]
    columns = with_units_of_mapping(with_stated_unit(columns, above), mapped)
    judged = judge_units(columns, searched, mapped)
    columns = sorted(judged.columns, key=lambda column: column.position)
    used = {column.position for column in (*columns, *asked)} | judged.asked
    ignored = tuple((place, cell) for place, cell in enumerate(cells) if cell is not None and place not in used)
    return Header(
        line,
        last_line,
        tuple(columns),
        ignored,
        _switched_off(mapped, recognised),
        any(mentions(text, "packaging") for text in above),
        find_possible_materials(columns, cells, grid, at),
        (*questions_of(asked, sheet, table), *judged.questions),
        judged.asked,
        tuple(watched_columns([*columns, *asked], searched)),
    )


def _searched(grid: Grid, table: Table, mapped: SheetMapping, sheet: str | None) -> tuple[Searched, int]:
    """Return the header whose columns are wanted, and its last line."""
    row = header_index(grid, table, mapped)
    if row is None:
        return Searched(grid, table, sheet, -1, 0, [None] * len(grid.row(0))), 0
    cells, last_line = header_labels(grid, row, REQUIRED_FIELDS[table])
    return Searched(grid, table, sheet, row, int(grid.lines[row]), cells), last_line


def _needed_columns(header: Searched, mapped: SheetMapping, chosen: list[Column], found: list[Column]) -> list[Column]:
    """Return one column a field: those `chosen` by the mapping, and of those `found` by their headers what is usable.

    Raises `ReadingRefused` where a needed field has no column, or several.
    """
    grid, table, _, at, _, cells = header
    named = {(column.table, column.name) for column in chosen}
    issues: list[Issue] = []
    if table == "sku":
        found = _without_stray_parts(found, (*chosen, *mapped.constants))
        found = without_article_numbers(found, chosen, header)
    unnamed = [column for column in found if (column.table, column.name) not in named]
    columns = [*chosen, *_one_per_field(unnamed, chosen, header, issues)]
    if table == "sku":
        columns = with_substitutes(columns, cells, mapped=mapped.columns)
    doubtful = {c.name: c for c in open_columns(cells, [*columns, *mapped.constants], table)}
    columns = columns if SKU_CODE.name in doubtful else with_code(columns, header)
    columns = with_units_beside(columns, cells, grid, at)
    if table == "sku":
        columns += unknown_weights(columns, cells, grid, at)
    columns = [column for column in columns if mapped.reads(column)]
    if table == "sku":
        check_component_type(columns, mapped)
    given = {column.name for column in (*columns, *mapped.constants)}
    missing = [name for name in REQUIRED_FIELDS[table] if name not in given]
    for name in (name for name in missing if name in doubtful):
        [asked] = questions_of([doubtful[name]], header.sheet, table)
        message, kind = message_of(asked["message"]), asked["kind"]
        issues.append(Issue("missing_column", message, name, kind=kind, could_be=[name], answer=asked["answer"]))
    issues += issues_of_missing([name for name in missing if name not in doubtful], header, columns)
    if issues:
        raise ReadingRefused(issues)
    return columns


def _switched_off(mapped: SheetMapping, recognised: list[Column]) -> tuple[tuple[str, int | None, str | None], ...]:
    """Return the fields that the mapping switches off, each with the column that it would have been read from."""
    off: list[tuple[str, int | None, str | None]] = []
    for column in mapped.off:
        had = next((other for other in recognised if same_field(column, other)), None)
        off.append((column.name, None, None) if had is None else (column.name, had.position, had.header))
    return tuple(off)


def _without_stray_parts(found: list[Column], chosen: Sequence[Column]) -> list[Column]:
    """Drop the columns that a main table without component_type cannot have: `additives` there means something else.

    With that column it has a line for each component, so groups of columns are dropped instead.
    """
    own = [column for column in found if column.table == "sku"]
    if any(column.name == "component_type" for column in (*found, *chosen)):
        return own + [column for column in found if column.table == "component" and column.group is None]
    return own + [column for column in usable_groups([*chosen, *found]) if column not in chosen]


def _one_per_field(columns: list[Column], chosen: list[Column], header: Searched, issues: list[Issue]) -> list[Column]:
    """Keep one column a field: its own name wins over synonyms, a header that names the packaging over others.

    Each weight may have its own column of units beside it. Each other duplicate is one of the `issues`.
    """
    units = [column for column in columns if is_shared(column)]
    kept = _best_of_each_field([column for column in columns if column not in units], header, issues)
    return [*kept, *(own_units(units, [*chosen, *kept]) or _best_of_each_field(units, header, issues))]


def _best_of_each_field(columns: list[Column], header: Searched, issues: list[Issue]) -> list[Column]:
    by_name: dict[tuple[str, str], list[Column]] = {}
    for column in columns:
        by_name.setdefault((column.table, column.name), []).append(column)
    kept: list[Column] = []
    for (_, name), candidates in by_name.items():
        exact = [column for column in candidates if column.exact]
        best = exact if len(exact) == 1 else candidates
        if len(best) > 1 and name in SHARED_WITH_PRODUCT:
            of_packaging = [column for column in best if names_packaging(column.header)]
            best = of_packaging if len(of_packaging) == 1 else best
        if len(best) > 1:
            issues.append(_ambiguous(name, best, header))
        kept.append(best[0])
    return kept


def _ambiguous(name: str, columns: Sequence[Column], header: Searched) -> Issue:
    """Return why one of several columns must be chosen; the one whose cells fit best is suggested, where any does."""
    where = ", ".join(f"{shown(column.header)} ({letter(column.position)})" for column in columns[:_MOST_NAMED])
    where += ", …" if len(columns) > _MOST_NAMED else ""
    likely = best_fitting(columns, header)
    answer: JsonObject | None = None
    if likely is None:
        message = Message("The columns {where} all fit {name}; rename or remove all but one.", where=where, name=name)
    else:
        message = Message(
            "The columns {where} all fit {name}; rename or remove all but one, or say which one it is: "
            "mapping={mapping}.",
            where=where,
            name=name,
            mapping={"columns": {name: letter(likely.position)}},
        )
        message, answer = with_answer(message, of_components=header.table == "component")
    kind: QuestionKind | None = None if answer is None else "column"
    return Issue("ambiguous_column", message, name, kind=kind, could_be=[name], answer=answer)


def mapped_columns(cells: Cells, mapped: SheetMapping, table: Table) -> list[Column]:
    """Return a column for each field that the mapping reads from one; one column of the file may give several fields.

    Raises `ReadingRefused` with `invalid_mapping` where the file has none of a field's columns.
    """
    columns: list[Column] = []
    for name, places in mapped.columns.items():
        at = next((at for place in places if (at := _position(cells, place)) is not None), None)
        column = None if at is None else column_for(name, at, cells[at] or "", table)
        if column is None:
            lacking = " or ".join(map(shown, places))
            seen = ", ".join(f"{letter(at)} {shown(cell)}" for at, cell in enumerate(cells) if cell is not None)
            message = Message(
                "The mapping is wrong: there is no column {header} for {name}. The table has the columns A to "
                "{last}; the headers are: {seen}.",
                header=lacking,
                name=name,
                last=letter(len(cells) - 1),
                seen=seen[:_LONGEST_SEEN],
            )
            raise refuse("invalid_mapping", message, "mapping")
        columns.append(column)
    return columns


def check_component_type(columns: Sequence[Column], mapped: SheetMapping) -> None:
    """Refuse a mapped field of components beside SKUs where nothing says which part of the packaging a line is."""
    given = [*columns, *mapped.constants]
    parts = [column.name for column in given if column.mapped and column.table == "component" and column.group is None]
    if parts and not any(column.name == "component_type" for column in given):
        message = Message(
            "The mapping is wrong: {name} is a component's, and component_type says which part each line is; map "
            'it too, or give it as a constant: {{"constants": {{"component_type": "body"}}}}.',
            name=parts[0],
        )
        raise refuse("invalid_mapping", message, "mapping")


def _position(cells: Cells, header: str) -> int | None:
    """Return the column that the caller means: a header as written, a header after folding, or a column letter."""
    for same in (lambda cell: cell.strip() == header.strip(), lambda cell: fold(cell) == fold(header)):
        found = [at for at, cell in enumerate(cells) if cell is not None and same(cell)]
        if len(found) == 1:
            return found[0]
        if found:
            where = ", ".join(map(letter, found))
            message = Message(
                "The header {header} stands over columns {where}; name the letter.", header=shown(header), where=where
            )
            raise refuse("invalid_mapping", message, "mapping")
    if header.isascii() and header.isalpha() and len(header) <= 3 and position(header) < len(cells):
        return position(header)
    return None


class OneTable(NamedTuple):
    """The lines of the first header's table, and further headers with the reason why they are left out."""

    body: Grid
    headers: tuple[tuple[int, str], ...]


def of_one_table(body: Grid, header: Header, table: Table, helping: Collection[int]) -> OneTable:
    """Return the lines that the header describes; lines below another header are faults.

    Rows that help, directly below the header, stay: they name its columns once more.
    """
    if header.line == 0 or header.line != header.last_line:  # no header, or one of two lines, of which each is a part
        return OneTable(body, ())
    rows = {at: body.row(at) for at in _candidates(body, header, table) if at not in helping}
    found = {at: row for at, row in rows.items() if _fields(row, table).issuperset(REQUIRED_FIELDS[table])}
    if not found:
        return OneTable(body, ())
    same = {at: _is_same(row, header, table) for at, row in found.items()}
    kept = pl.Series([True]).new_from_index(0, body.cells.height).scatter(list(found), values=False)
    faults: list[LineFault] = []
    starts = sorted(found)
    for at, end in zip(starts, [*starts[1:], body.cells.height], strict=True):
        if not same[at] and end > at + 1:
            faults += _faults(body, range(at + 1, end), found[at], int(body.lines[at]), table)
            kept = kept.scatter(list(range(at + 1, end)), values=False)
    one = replace(
        body,
        cells=body.cells.filter(kept),
        lines=body.lines.filter(kept),
        kinds=None if body.kinds is None else body.kinds.filter(kept),
        filled=None if body.filled is None else body.filled.filter(kept),
        faults=tuple(sorted((*body.faults, *faults), key=lambda fault: fault.line)),
    )
    return OneTable(one, tuple((int(body.lines[at]), REPEATED if same[at] else OTHER_HEADER) for at in starts))


def _candidates(body: Grid, header: Header, table: Table) -> list[int]:
    """Return the rows whose code or name could be a header, by a comparison of whole columns.

    Most people write the known headers in lower case, with spaces or underscores or neither.
    """
    known = {column.header.strip().casefold() for column in header.columns}
    known |= {text for name in headers(table) for text in (name, name.replace(" ", "_"), name.replace(" ", ""))}
    found = pl.Series([False]).new_from_index(0, body.cells.height)
    for column in header.columns:
        if column.name in REQUIRED_FIELDS[table] and f"c{column.position}" in body.cells.columns:
            cells = body.cells[f"c{column.position}"].str.strip_chars().str.to_lowercase()
            found |= (cells.is_in(list(known)) | cells.str.contains(_UNIT)).fill_null(value=False)
    return found.arg_true().to_list()


def _fields(row: Cells, table: Table) -> set[str]:
    return recognised_fields((cell for cell in row if cell is not None), table)


def _is_same(row: Cells, header: Header, table: Table) -> bool:
    """Return whether a header means the same columns, in the same units, at the same places; an empty cell is none."""

    def meaning(column: Column | None) -> object:
        if column is None:
            return None
        return column.field.name, column.factor, column.market, column.year, column.half, column.group

    own = {column.position: column for column in header.columns}
    texts = {**dict(header.ignored), **{at: column.header for at, column in own.items()}}
    return all(
        cell is None
        or fold(cell) == fold(texts.get(at, ""))
        or meaning(recognise(cell, at, table)) == meaning(own.get(at))
        for at, cell in enumerate(row)
    )


def _faults(body: Grid, rows: range, row: Cells, line: int, table: Table) -> list[LineFault]:
    """Return a fault for each row below another header; its code is read by that header."""
    message = Message(
        "Line {line} is another header, with other columns or in another order than the first: this line cannot be "
        "read by the first. Send the lines below it as a file of their own.",
        line=line,
    )
    key = next((at for at, cell in enumerate(row) if cell and _fields([cell], table) == {"sku_code"}), None)
    faults = []
    for at in rows:
        cells = body.row(at)
        code = None if key is None else cells[key]
        text = " | ".join(cell or "" for cell in cells)[:_LONGEST_SHOWN]
        faults.append(LineFault(int(body.lines[at]), "ambiguous_column", message, text, code and code.strip()))
    return faults
