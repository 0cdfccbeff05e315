"""Finds the columns of a grid: the row that contains the headers, and the field of each column.

A table is refused when a column it needs is missing or when two columns fit one field. The caller's mapping
takes precedence over recognised columns. `columns.py` recognises one header.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pipelines.reading import missing_column
from pipelines.reading.columns import recognise
from pipelines.reading.composed import mentions_packaging, names_packaging
from pipelines.reading.fields import LONGEST_HEADER, Column, Table
from pipelines.reading.forms import form_refusal
from pipelines.reading.grid import Grid, letter
from pipelines.reading.groups import usable_groups
from pipelines.reading.header_row import REQUIRED_FIELDS, header_index, without_header
from pipelines.reading.key_columns import Searched, best_fitting, with_code, without_article_numbers
from pipelines.reading.labels import header_labels
from pipelines.reading.mapped_columns import check_component_type, mapped_columns
from pipelines.reading.mapping import SheetMapping, same_field
from pipelines.reading.open_columns import open_columns, questions_of, with_units_of_mapping
from pipelines.reading.published import outline_of
from pipelines.reading.refusal import ReadingRefused
from pipelines.reading.substitutes import SHARED_WITH_PRODUCT, with_substitutes
from pipelines.reading.unit_columns import is_shared, judge_units, paired_units, with_stated_unit, with_units_beside
from pipelines.reading.unknown_materials import find_possible_materials, unknown_weights
from pipelines.reading.watched_columns import watched_columns
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.normalise import shown
from schemas.report import Asked, QuestionKind

_MOST_NAMED: Final = 20
"""Most columns that one sentence names."""


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
    chosen = with_units_of_mapping(mapped_columns(cells, mapped, table), mapped, table)
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
    opened = with_units_of_mapping(open_columns(cells, [*columns, *asked, *unread], table), mapped, table)
    columns = [*columns, *(column for column in opened if column.open is None)]
    asked += [column for column in opened if column.open is not None]
    columns = _with_component_prefix(columns) if table == "sku" else columns
    above = [cell for i in range(at) for cell in grid.row(i) if cell is not None and len(cell) < LONGEST_HEADER]
    columns = with_units_of_mapping(with_stated_unit(columns, above), mapped, table)
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
        any(map(mentions_packaging, above)),
        find_possible_materials(columns, cells, grid, at),
        (*questions_of(asked, sheet, table), *judged.questions),
        judged.asked,
        tuple(watched_columns([*columns, *asked], cells, grid, at)),
    )


def _searched(grid: Grid, table: Table, mapped: SheetMapping, sheet: str | None) -> tuple[Searched, int]:
    """Return the header whose columns are wanted, and its last line."""
    row = header_index(grid, table, mapped)
    if row is None:
        cells, last_line = without_header(grid)
        return Searched(grid, table, sheet, -1, 0, cells), last_line
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
    open_columns = [column for column in found if (column.table, column.name) not in named]
    columns = [*chosen, *_one_per_field(open_columns, chosen, header, issues)]
    if table == "sku":
        columns = with_substitutes(columns, cells, mapped=mapped.columns)
    columns = with_units_beside(with_code(columns, header), cells, grid, at)
    if table == "sku":
        columns += unknown_weights(columns, cells, grid, at)
    columns = [column for column in columns if mapped.reads(column)]
    if table == "sku":
        check_component_type(columns, mapped)
    given = {column.name for column in (*columns, *mapped.constants)}
    missing = [name for name in REQUIRED_FIELDS[table] if name not in given]
    if missing:
        issues += missing_column.issues_of(missing, header, columns)
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


def _with_component_prefix(columns: list[Column]) -> list[Column]:
    """Put `component_` before the names of components' columns that a column of the SKU has too."""
    own = {column.name for column in columns if column.table == "sku"}
    twice = [column for column in columns if column.table == "component" and column.name in own]
    return [replace(column, name=f"component_{column.name}") if column in twice else column for column in columns]


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
    if len(units) > 1:
        others = _one_per_field([column for column in columns if column not in units], chosen, header, issues)
        own = paired_units(units, [*chosen, *others])
        return [*others, *(own if own != units else _choose_one_per_field(units, header, issues))]
    return _choose_one_per_field(columns, header, issues)


def _choose_one_per_field(columns: list[Column], header: Searched, issues: list[Issue]) -> list[Column]:
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
        answer = {"columns": {name: letter(likely.position)}}
        message = Message(
            "The columns {where} all fit {name}; rename or remove all but one, "
            'or say which one it is: mapping={{"columns": {{"{name}": "{likely}"}}}}.',
            where=where,
            name=name,
            likely=letter(likely.position),
        )
    kind: QuestionKind | None = None if answer is None else "column"
    return Issue("ambiguous_column", message, name, kind=kind, could_be=[name], answer=answer)
