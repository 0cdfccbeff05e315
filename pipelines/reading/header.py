"""Finds the columns of a grid: the row that contains the headers, and the field of each column.

A table is refused when a column it needs is missing or when two columns fit one field. The caller's mapping
takes precedence over recognised columns, by their headers or letters. `columns.py` recognises one header.

The header line is the one with most known headers, or the one that the mapping names. Its labels may be spread over
lines, merged titles above or units below: `Weight` over `Glass | Paper` is `Weight Glass` and `Weight Paper`;
`Emballage 1` over `Matière | Poids` likewise; `kg` below `Weight` is `Weight (kg)`. A title that is filled into each
column counts as merged. Where titles name levels of packaging, the columns of a level that is not sold keep their
title, so that they do not count as the SKU's; so do headers that stand twice, below two titles.
"""

from collections.abc import Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

import polars as pl

from pipelines.reading.by_cells import by_countries, with_reusable, with_statuses, with_ticked, without_compared
from pipelines.reading.column_values import (
    ROWS_SEARCHED,
    SHARED_WITH_PRODUCT,
    Searched,
    choose_substitute,
    form_refusal,
    is_count,
    issue_of_several,
    issues_of_missing,
    says_whose_waste,
    with_code,
    without_article_numbers,
)
from pipelines.reading.columns import (
    column_for,
    column_of_label,
    is_bare_material,
    open_column,
    recognise,
    substitute_column,
    usable_groups,
    words_of_terms,
)
from pipelines.reading.grammar import mentions, names_packaging, says_unit, word_roles
from pipelines.reading.grid import (
    BESIDE,
    LONGEST_HEADER,
    NUMBERED,
    VOLUME,
    WEIGHTS,
    Cells,
    Column,
    Grid,
    ReadingRefused,
    Table,
    below_two_titles,
    covering_titles,
    invalid_mapping,
    join_titles,
    letter,
    position,
    refuse,
    with_component_prefix,
    without_numbering,
)
from pipelines.reading.mapping import Off, SheetMapping, outline_of, same_field, switched_off
from pipelines.reading.neighbours import (
    check_component_type,
    find_possible_materials,
    open_parts,
    part_column,
    unit_of_title,
    unknown_weights,
    watched_columns,
    with_part_columns,
    with_stated_unit,
    with_total,
)
from pipelines.reading.side_by_side import (
    of_markets,
    split_units_of_lines,
    whole_years,
    with_units_in_doubt,
    with_year_of_titles,
)
from pipelines.reading.units import (
    about_open_column,
    is_shared,
    judge_units,
    open_columns,
    own_units,
    with_units_beside,
    with_units_of_mapping,
)
from pipelines.reading.values import read_values
from pipelines.reading.words import SALES, level_of, part_type
from schemas.fields import NAME, SKU_CODE
from schemas.imports.types import Asked
from schemas.issues import Issue
from schemas.messages import Message, message_of
from schemas.normalise import quote
from schemas.words import code_of, fold

REQUIRED_FIELDS: Final[Mapping[Table, tuple[str, ...]]] = {
    "sku": ("sku_code", "name"),
    "component": ("sku_code", "component_type"),
}
"""The fields without which a table cannot be read."""
_MOST_CELLS_SEARCHED: Final = 8_192
"""Most cells that are searched for words of headers, in whole rows: a look-up a word."""
_MOST_CELLS_READ: Final = 600
"""Most cells that are read as headers, in whole rows, those with most such words first: each costs many look-ups."""
_MOST_CELLS_DIVIDED: Final = 200
"""The same of a text that is divided by each of the delimiters."""
_MOST_NAMES: Final = 2
"""Most fields that a cell names: its column, and the one that it is where there is no better (`substitute_column`)."""


def recognised_fields(cells: Iterable[str], table: Table = "sku", *, materials_count_once: bool = False) -> set[str]:
    """Return the fields that the cells name, by which a row looks like a header.

    With `materials_count_once` all names of materials alone count as one field.
    """
    short = [cell for cell in cells if len(cell) < LONGEST_HEADER and words_of_terms(cell)]
    found = [recognise(cell, 0, table) or open_column(cell, 0, table) for cell in short]
    names = {"material" if materials_count_once and is_bare_material(each) else each.name for each in found if each}
    if table == "sku":
        names |= {column.name for cell in short if (column := substitute_column(cell)) is not None}
    return names


def known_headers(records: Sequence[Sequence[str | None]], of_mapping: Set[str], at_least: int) -> int:
    """Return the most known headers of one of a text's records, by which it looks rightly divided.

    Materials alone are one field: a sentence may list them, as in “is not one of: plastic, paper, glass”. Records that
    cannot have `at_least` as many are not read.
    """
    most = 0
    for at in _most_promising(records, of_mapping, _MOST_CELLS_DIVIDED):
        short = [cell for cell in records[at] if cell is not None and len(cell) < LONGEST_HEADER]
        likely = [cell for cell in short if words_of_terms(cell)][:_MOST_CELLS_DIVIDED]
        mapped = sum(fold(cell) in of_mapping for cell in short)
        if _MOST_NAMES * len(likely) + mapped >= max(at_least, most + 1):
            most = max(most, mapped + len(recognised_fields(likely, materials_count_once=True)))
    return most


def _most_promising(rows: Sequence[Sequence[str | None]], of_mapping: Set[str], most_cells: int) -> list[int]:
    """Return the rows with most different words of terms, at least one, as many as have `most_cells` together."""
    filled = [[cell for cell in row if cell is not None and len(cell) < LONGEST_HEADER] for row in rows]
    promise = [
        len(frozenset().union(*map(words_of_terms, row))) + sum(fold(cell) in of_mapping for cell in row if of_mapping)
        for row in filled
    ]
    best = sorted(range(len(rows)), key=lambda at: -promise[at])
    within = sum(cells <= most_cells for cells in accumulate(len(filled[at]) for at in best))
    return best[: max(1, within)]


def mapped_headers(mapped: SheetMapping) -> set[str]:
    """Return the headers that the mapping names, folded: lines that contain them look like a header."""
    return {fold(header) for headers in mapped.columns.values() for header in headers}


def header_index(grid: Grid, table: Table, mapped: SheetMapping) -> int | None:
    """Return the row of the header; None where the mapping says by `header_row` 0 that there is none.

    Raises `ReadingRefused` with `no_table` or `invalid_mapping`.
    """
    if grid.cells.height == 0:
        raise refuse(
            "no_table", Message("The file holds no table; send one with a header row and a line for each SKU.")
        )
    if mapped.header_row == 0:
        return None
    if mapped.header_row is not None:
        if mapped.header_row not in grid.lines:
            message = Message("The mapping's header_row is {row}, a line without cells.", row=mapped.header_row)
            raise invalid_mapping(message)
        return int(grid.lines.to_list().index(mapped.header_row))
    headers, constant = mapped_headers(mapped), {column.name for column in mapped.constants}
    filled = grid.cells.head(ROWS_SEARCHED).select(pl.sum_horizontal(pl.all().is_not_null())).to_series().cum_sum()
    rows = [without_numbering(grid.row(index)) for index in range(max(1, int((filled <= _MOST_CELLS_SEARCHED).sum())))]
    promising = set(_most_promising(rows, headers, _MOST_CELLS_READ))

    def merit(row: Cells) -> tuple[bool, int, int]:
        cells = [cell for cell in row if cell is not None]
        names = recognised_fields(cells, table)
        words = len({cell for cell in cells if any(map(str.isalpha, cell))})
        whole = (names | constant).issuperset(REQUIRED_FIELDS[table])
        return whole, len(names) + sum(fold(cell) in headers for cell in cells), words

    merits = [merit(row) if at in promising else (False, 0, 0) for at, row in enumerate(rows)]
    best = merits.index(max(merits))
    # An earlier whole header counts where rows of a table are between the two: otherwise the rows of the first of two
    # files, one below the other, would be lost as titles of the second.
    first = next((at for at in range(best) if merits[at][0]), best)
    titles = all(merits[at][0] or sum(cell is not None for cell in rows[at]) < 2 for at in range(first + 1, best))
    best = best if titles else first
    cells = [cell for cell in rows[best] if cell is not None]
    columns = [column for cell in cells if (column := recognise(cell, 0, table)) is not None and column.group is None]
    if any(fold(cell) in headers for cell in cells) or len(columns) > 1:
        return best
    return _row_of_lettered_columns(grid, rows, table, mapped, best)


def _row_of_lettered_columns(grid: Grid, rows: Sequence[Cells], table: Table, mapped: SheetMapping, best: int) -> int:
    """Return the header row of columns that the mapping names only by letters: the first row that fills all of them.

    Nothing in the file says that this row is a header. A row of values is refused, so that no data is lost.
    """
    lettered = {name: position(to[0]) for name, to in mapped.columns.items() if to[0].isascii() and to[0].isalpha()}
    wide = max(lettered.values(), default=-1)
    filled = (at for at, row in enumerate(rows) if len(row) > wide and all(row[to] for to in lettered.values()))
    index = next(filled, best) if lettered else best
    if len(rows[index]) > wide and any(_is_value(name, rows[index][to], table) for name, to in lettered.items()):
        texts = ", ".join(quote(cell[:60]) for cell in rows[index] if cell is not None)[:500]
        message = Message(
            "The mapping names columns by letters, and line {line} is the first that fills them: {held}. "
            "It looks like data. Say header_row in the mapping: the line of the headers, or 0 where there are none.",
            line=grid.lines[index],
            held=texts,
        )
        raise invalid_mapping(message)
    return index


def _is_value(name: str, cell: str | None, table: Table) -> bool:
    """Return whether a cell is a value of the field and no header: a code has a digit, a number can be read."""
    column = column_for(name, 0, "", table)
    if column is None or cell is None:
        return False
    if column.field.kind == "text":
        return column.field.name == "sku_code" and any(map(str.isdigit, cell))
    return not read_values(pl.Series([cell]), column, ".", None).faults.height


def header_labels(grid: Grid, row: int, keys: Sequence[str]) -> tuple[Cells, int]:
    """Return each column's label, and the header's last line. `row` is the header; `keys` are the fields of a key.

    A further line belongs to the header where it is directly below, says nothing about the keys, and either is below
    merged titles or contains only units.
    """
    cells, line = without_numbering(grid.row(row)), int(grid.lines[row])

    def at_line(index: int, number: int) -> Cells | None:
        there = 0 <= index < grid.cells.height and int(grid.lines[index]) == number
        return grid.row(index) if there else None

    parts = at_line(row + 1, line + 1)
    if parts is not None and _is_below_titles(cells, parts, keys) and not _contains_units(cells, parts, keys):
        cells, row, line = join_titles(cells, parts), row + 1, line + 1
    elif (titles := at_line(row - 1, line - 1)) is not None:
        cells = _with_titles(cells, titles)
    for below in range(1, _LINES_OF_HELP + 1):
        units = at_line(row + below, line + below)
        if units is not None and _contains_units(cells, units, keys):
            with_unit = [
                f"{cell} ({unit.strip().strip('()[]')})" if cell and unit and says_unit(unit) else cell
                for cell, unit in zip(cells, units, strict=True)
            ]
            return with_unit, line + below
        if units is None or not all(cell is None or code_of(cell, "line") == "help" for cell in units):
            break
    return cells, line


_LINES_OF_HELP: Final = 3
"""Lines below the header among which its units are: lines of help may be above them."""


def _contains_units(cells: Cells, below: Cells, keys: Sequence[str]) -> bool:
    """Return whether a line contains units, none of them below a key, and otherwise only words of help and dashes."""
    pairs = [(cell, _is_key(title, keys)) for title, cell in zip(cells, below, strict=True) if cell is not None]
    others = (cell for cell, of_key in pairs if of_key or not says_unit(cell))
    bare = all(not any(map(str.isalnum, cell)) or code_of(cell, "line") == "help" for cell in others)
    return bare and any(not of_key and says_unit(cell, certain=True) for cell, of_key in pairs)


def _is_key(title: str | None, keys: Sequence[str]) -> bool:
    column = None if title is None else recognise(title, 0, "sku")
    return column is not None and column.name in keys


def _is_below_titles(cells: Cells, below: Cells, keys: Sequence[str]) -> bool:
    """Return whether a line has parts of merged titles: words, some where the header is empty, none below a key."""
    for cell, part in zip(cells, below, strict=True):
        if part is not None and (not any(map(str.isalpha, part)) or _is_key(cell, keys)):
            return False
    merged = [cell is None or (at > 0 and cell == cells[at - 1]) for at, cell in enumerate(cells)]
    spread = [part for is_merged, part in zip(merged, below, strict=True) if is_merged and part is not None]
    return bool(spread) and len(spread) < sum(cell is not None for cell in below) * 2 and cells[0] is not None


def _with_titles(cells: Cells, titles: Cells) -> Cells:
    """Return the label with its title where the header alone is no field, or the title makes it another one."""
    over, joined = covering_titles(titles, cells), join_titles(titles, cells)
    levels = {title: level_of(title) for title in over if title is not None}
    sold = SALES in levels.values()
    parts = {title for title in levels if part_type(title) is not None}
    twice = below_two_titles(cells, over)
    return [
        label
        if (sold and title is not None and levels[title] not in (None, SALES))
        or (cell in twice and title is not None)
        or (len(parts) > 1 and title in parts and label is not None and part_column(label) is not None)
        else _choose_label(cell, label, title)
        for cell, title, label in zip(cells, over, joined, strict=True)
    ]


def _choose_label(cell: str | None, label: str | None, title: str | None) -> str | None:
    """Return the joined label only where it is a field and the header alone is none, or it names a component.

    `Code` below a title that names a supplier is theirs and no article's. A title that names the unit of the weights
    below it gives it to each: `Weights in kg` over `Glass | Paper`.
    """
    if cell is None or label is None or title is None or label == cell:
        return cell
    alone, together, roles = recognise(cell, 0, "sku"), column_of_label(label), word_roles(title)
    is_theirs = "somebody" in roles and "thing" not in roles and ":" not in title  # no `Supplier: ACME`
    if alone is not None and alone.name in ("sku_code", "name") and is_theirs:
        return label
    if together is not None and (alone is None or together.group is not None):
        return label
    if alone is None or alone.has_unit or alone.field.name not in WEIGHTS:
        return cell
    said = unit_of_title(title)
    return f"{cell} ({said})" if said else cell


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a table: its line, its last line where it has two, the columns read and the columns ignored.

    `off` are the fields that the mapping reads from no column, with the position and header of the column they had.
    `of_packaging` is true where a line above it says that the table is of packaging; `possible_materials` are the
    positions of ignored columns that may be weights of one more material. `questions` are about columns that are not
    read because their headers were not wholly understood, and about weights whose unit is open: `in_question` are the
    positions of the latter. `watched` are ignored columns that say what weights are of; `ticks` are of one field.
    """

    line: int
    last_line: int
    columns: tuple[Column, ...]
    ignored: tuple[tuple[int, str], ...]
    off: Off = ()
    of_packaging: bool = False
    possible_materials: tuple[int, ...] = ()
    questions: tuple[Asked, ...] = ()
    in_question: frozenset[int] = frozenset()
    watched: tuple[Column, ...] = ()
    ticks: tuple[Column, ...] = ()

    @property
    def needed(self) -> tuple[Column, ...]:
        """Return the columns whose cells are needed: those that are read, and those that say what weights are of."""
        return (*self.columns, *self.watched, *self.ticks)


def find_header(grid: Grid, table: Table, mapped: SheetMapping, *, sheet: str | None = None) -> Header:
    """Return the header of a table; `mapped` is the part of the caller's mapping for its `sheet`.

    Raises `ReadingRefused` with `no_table`, `missing_column`, `ambiguous_column` or `invalid_mapping`.
    """
    unmapped = table == "sku" and not mapped.columns and mapped.header_row is None
    if unmapped and (refusal := form_refusal(grid)) is not None:
        raise refusal
    searched, last_line = _searched(grid, table, mapped, sheet)
    mapped_here = with_units_of_mapping(_mapped_columns(searched, mapped), mapped)
    chosen = [column for column in mapped_here if column.open is None]
    doubtful = [column for column in mapped_here if column.open is not None]
    others = searched.free([column.position for column in mapped_here]).items()
    found = (column for at, cell in others if (column := recognise(cell, at, table)) is not None)
    recognised = [by_countries(column, searched) for column in found]
    unread = [*mapped.off, *mapped.constants, *doubtful]
    usable = [column for column in recognised if not any(same_field(column, other) for other in unread)]
    off = switched_off(mapped, recognised)
    try:
        columns = _needed_columns(searched, mapped, chosen, usable)
    except ReadingRefused as refused:
        outlined = [*chosen, *(column for column in usable if not any(same_field(column, c) for c in chosen))]
        refused.outline = outline_of(
            table,
            sheet,
            mapped,
            off,
            header_row=searched.line,
            cells=searched.cells,
            body=grid.below(last_line),
            recognised=outlined,
        )
        raise
    columns, ticks = with_ticked(columns, searched, mapped.reads)
    told = without_compared(ticks, columns)
    searched = searched.without(told)
    opened = with_units_of_mapping(open_columns(searched, [*columns, *doubtful, *unread], table), mapped)
    columns, doubtful = _with_opened(columns, doubtful, opened, searched)
    whole = whole_years([*columns, *doubtful, *told], searched, of_rows=False) if table == "sku" else []
    columns = with_component_prefix([*columns, *whole]) if table == "sku" else columns
    above = searched.above()
    columns = with_year_of_titles(columns, [*above, *([sheet] if sheet else [])], mapped)
    columns = with_units_in_doubt(columns, searched, above, mapped, doubtful)
    remarks = [*above, *grid.remarks_below(searched.at), *grid.remarks]
    columns = with_units_of_mapping(with_stated_unit(columns, remarks, doubtful), mapped)
    judged = judge_units(columns, searched, mapped)
    columns = sorted(judged.columns, key=lambda column: column.position)
    return Header(
        searched.line,
        last_line,
        tuple(columns),
        tuple(searched.free([*(c.position for c in (*columns, *doubtful, *told)), *judged.in_question]).items()),
        off,
        any(mentions(text, "packaging") for text in above),
        find_possible_materials(columns, searched),
        (*(about_open_column(column, searched) for column in doubtful), *judged.questions),
        judged.in_question,
        tuple(watched_columns([*columns, *doubtful, *told], searched)),
        ticks,
    )


def _with_opened(
    columns: list[Column], doubtful: list[Column], opened: Sequence[Column], header: Searched
) -> tuple[list[Column], list[Column]]:
    """Return the columns that are read and those in doubt, with those of parts and of markets beside each other."""
    columns = [*columns, *(column for column in opened if column.open is None)]
    doubtful = [*doubtful, *(column for column in opened if column.open is not None)]
    doubtful += open_parts(columns, doubtful, header)
    by_market = of_markets(columns, header)
    places = {column.position for column in by_market}
    columns, doubtful = ([c for c in own if c.position not in places] for own in (columns, doubtful))
    return columns, [*doubtful, *by_market]


def _searched(grid: Grid, table: Table, mapped: SheetMapping, sheet: str | None) -> tuple[Searched, int]:
    if (row := header_index(grid, table, mapped)) is None:
        return Searched(grid, table, sheet, -1, 0, [None] * len(grid.row(0))), 0
    cells, last_line = header_labels(grid, row, REQUIRED_FIELDS[table])
    last = int((grid.lines <= last_line).sum()) - 1
    return Searched(grid, table, sheet, row, int(grid.lines[row]), cells, last), last_line


def _needed_columns(
    header: Searched, mapped: SheetMapping, chosen: list[Column], recognised: list[Column]
) -> list[Column]:
    """Return one column a field: those `chosen` by the mapping, and what is usable of those `recognised`.

    A main table without component_type cannot have single columns of parts: `additives` there means something else.
    With it the table has a line for each component, so groups of columns are dropped instead. Each weight may have its
    own column of units beside it. Raises `ReadingRefused` where a needed field has no column, or several.
    """
    table, issues = header.table, list[Issue]()
    if table == "sku":
        own = [column for column in recognised if column.table == "sku"]
        if any(column.name == "component_type" for column in (*recognised, *chosen, *mapped.constants)):
            own += [column for column in recognised if column.table == "component" and column.group is None]
        else:
            settled = (*chosen, *mapped.constants)
            own += [column for column in usable_groups([*settled, *recognised]) if column not in settled]
        recognised = without_article_numbers(own, chosen, header)
    taken = {(column.table, column.name) for column in chosen}
    unnamed = [column for column in recognised if (column.table, column.name) not in taken]
    units = [column for column in unnamed if is_shared(column)]
    columns = [*chosen, *_best_of_each_field([c for c in unnamed if c not in units], header, issues)]
    columns += own_units(units, columns) or _best_of_each_field(units, header, issues)
    if table == "sku":
        columns = _with_substitutes(columns, header, mapped=mapped.columns)
    doubtful = {c.name: c for c in open_columns(header, [*columns, *mapped.constants], table)}
    columns = columns if SKU_CODE.name in doubtful else with_code(columns, header)
    columns = with_statuses(with_part_columns(with_units_beside(columns, header), header), header)
    columns = with_reusable(columns, header)
    columns = with_total(columns, header)
    columns += unknown_weights(columns, header) if table == "sku" else []
    columns = [column for column in columns if mapped.reads(column)]
    if table == "sku":
        own, units = split_units_of_lines(columns, header, mapped.constants)
        columns = [*own, *_best_of_each_field(units, header, issues)]
        check_component_type(columns, mapped)
    names = {column.name for column in (*columns, *mapped.constants)}
    missing = [name for name in REQUIRED_FIELDS[table] if name not in names]
    for name in (name for name in missing if name in doubtful):
        question = about_open_column(doubtful[name], header)
        message, kind = message_of(question["message"]), question["kind"]
        issues.append(Issue("missing_column", message, name, kind=kind, could_be=[name], answer=question["answer"]))
    of_missing = issues_of_missing([name for name in missing if name not in doubtful], header, columns)
    issues += [] if _changes_held(missing, columns, of_missing, mapped) else of_missing
    if issues:
        raise ReadingRefused(issues)
    return columns


def _changes_held(
    missing: Sequence[str], columns: Sequence[Column], issues: Sequence[Issue], mapped: SheetMapping
) -> bool:
    """Return whether a table changes SKUs that are held, by code alone, and names none.

    The mapping says so with `{"columns": {"name": null}}`, as for the tables that the service makes of chosen items; or
    it is of units, or of marks and answers, and no column of it looks like a name. A row of a code that is not held yet
    is rejected.
    """
    says_so = any(column.field == NAME for column in mapped.off)
    telling = (VOLUME, *BESIDE["printed"], *BESIDE["roles"])
    is_of_held = any(column.field in telling for column in columns) and not any(issue.could_be for issue in issues)
    return missing == [NAME.name] and (says_so or is_of_held)


def _best_of_each_field(columns: list[Column], header: Searched, issues: list[Issue]) -> list[Column]:
    """Keep one column a field: its own name wins over synonyms, a header that names the packaging over others.

    Each other duplicate is one of the `issues`.
    """
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
            issues.append(issue_of_several(name, best, header))
        kept.append(best[0])
    return kept


def _with_substitutes(columns: list[Column], header: Searched, *, mapped: Container[str]) -> list[Column]:
    """Add for each field without a column its one substitute, a listed or composed header; of two none is added.

    A key's substitute may otherwise be read as another field: a description is the name where there is no other. A
    column that names the packaging is better than one that does not, unless the mapping names the field (`mapped`).
    """
    by_name: dict[str, list[Column]] = {}
    for at, cell in header.free([column.position for column in columns if column.name != "description"]).items():
        column = substitute_column(cell)
        if column is None or is_count(column, at, header):
            continue
        if not says_whose_waste(column := replace(column, position=at), header):
            by_name.setdefault(column.name, []).append(column)
    ours = (column for column in columns if column.exact or names_packaging(column.header) or column.name in mapped)
    settled = {column.name for column in ours} | {c.name for c in columns if c.name not in SHARED_WITH_PRODUCT}
    of_fields = (choose_substitute(by_name[name], header) for name in sorted(by_name.keys() - settled))
    spares = [column for column in of_fields if column is not None]
    better = {column.name for column in spares if names_packaging(column.header)}
    missing = by_name.keys() - {column.name for column in columns}
    spares = [column for column in spares if column.name in better | missing]
    instead = {column.position for column in spares}
    worse = better - settled
    return [*spares, *(c for c in columns if c.position not in instead and c.name not in worse)]


_LONGEST_SEEN: Final = 500


def _mapped_columns(header: Searched, mapped: SheetMapping) -> list[Column]:
    """Return a column for each field that the mapping reads from one; one column of the file may give several fields.

    Raises `ReadingRefused` with `invalid_mapping` where the file has none of a field's columns.
    """
    cells, columns = header.cells, list[Column]()
    for name, places in mapped.columns.items():
        at = next((at for place in places if (at := _position(cells, place)) is not None), None)
        column = None if at is None else column_for(name, at, cells[at] or "", header.table)
        if column is None:
            lacking = " or ".join(map(quote, places))
            seen = ", ".join(f"{letter(at)} {quote(cell)}" for at, cell in header.free([]).items())
            message = Message(
                "The mapping is wrong: there is no column {header} for {name}. The table has the columns A to "
                "{last}; the headers are: {seen}.",
                header=lacking,
                name=name,
                last=letter(len(cells) - 1),
                seen=seen[:_LONGEST_SEEN],
            )
            raise invalid_mapping(message)
        columns.append(column)
    return columns


def _position(cells: Cells, header: str) -> int | None:
    """Return the column that the caller means: a header as written, a header after folding, or a column letter."""
    for same in (
        lambda cell: cell.strip() == header.strip(),
        lambda cell: fold(cell) == fold(header),
        lambda cell: fold(cell) == fold(NUMBERED.sub("", header)),
    ):
        places = [at for at, cell in enumerate(cells) if cell is not None and same(cell)]
        if len(places) == 1:
            return places[0]
        if places:
            where = ", ".join(map(letter, places))
            message = Message(
                "The header {header} stands over columns {where}; name the letter.", header=quote(header), where=where
            )
            raise invalid_mapping(message)
    if header.isascii() and header.isalpha() and len(header) <= 3 and position(header) < len(cells):
        return position(header)
    return None
