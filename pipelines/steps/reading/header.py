"""Grid -> columns: the row that holds the headers, and the field of each column.

A table is refused when a column it needs is missing or when two columns fit one field. The caller's mapping
stands above what is recognised. Recognising one header is `columns.py`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pipelines.steps.reading.columns import column_for, recognise
from pipelines.steps.reading.composed import names_packaging, says_packaging, spare
from pipelines.steps.reading.fields import Column, Table
from pipelines.steps.reading.forms import form_refusal
from pipelines.steps.reading.grid import Grid, letter, position
from pipelines.steps.reading.groups import whole_groups
from pipelines.steps.reading.labels import labels
from pipelines.steps.reading.refusal import ReadingRefused, refuse
from pipelines.steps.reading.siblings import beside, unknown_weights
from pipelines.steps.reading.spares import OF_PACKAGING, with_code_of_barcode, with_spares
from pipelines.steps.reading.unit_columns import is_shared, paired, with_stated_unit, with_units_beside
from schemas.issues import Issue
from schemas.normalise import shown
from schemas.words import fold

ROWS_SEARCHED = 40
_LONGEST_HEADER = 200
_NEEDED: Mapping[Table, tuple[str, ...]] = {"sku": ("sku_code", "name"), "component": ("sku_code", "component_type")}


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a table: its line, its last line where it has two, the columns read and the columns ignored.

    `of_packaging` is whether a line above it says that the table is of packaging; `beside` are places among the ignored
    of columns that may be weights of one more material.
    """

    line: int
    last_line: int
    columns: tuple[Column, ...]
    ignored: tuple[tuple[int, str], ...]
    of_packaging: bool = False
    beside: tuple[int, ...] = ()


def field_names(cells: Iterable[str], table: Table = "sku") -> set[str]:
    """The fields that the cells name: what makes a row look like a header."""
    short = [cell for cell in cells if len(cell) < _LONGEST_HEADER]
    names = {column.name for cell in short if (column := recognise(cell, 0, table)) is not None}
    return names if table != "sku" else names | {column.name for cell in short if (column := spare(cell)) is not None}


def find_header(grid: Grid, table: Table, mapped: Mapping[str, str], header_row: int | None = None) -> Header:
    """The header of a table.

    `mapped` is the caller's mapping of fields to headers or column letters; `header_row` the line that the
    caller says is the header. Raises `ReadingRefused` with `no_table`, `missing_column`, `ambiguous_column` or
    `invalid_mapping`.
    """
    if table == "sku" and not mapped and header_row is None and (refusal := form_refusal(grid)) is not None:
        raise refusal
    row = _header_index(grid, table, mapped, header_row)
    cells, last_line = labels(grid, row, _NEEDED[table])
    chosen = _mapped_columns(cells, mapped, table)
    taken = {column.position for column in chosen}
    found = [
        column
        for at, cell in enumerate(cells)
        if cell is not None and at not in taken and (column := recognise(cell, at, table)) is not None
    ]
    named = {(column.table, column.name) for column in chosen}
    if table == "sku":
        found = _without_stray_parts(found, chosen)
    columns = [*chosen, *_one_each([column for column in found if (column.table, column.name) not in named], chosen)]
    if table == "sku":
        columns = with_spares(columns, cells, told=mapped)
    columns = with_units_beside(with_code_of_barcode(columns, cells, table), cells, grid, row)
    if table == "sku":
        columns += unknown_weights(columns, cells, grid, row)
    missing = [name for name in _NEEDED[table] if name not in {column.name for column in columns}]
    if missing:
        raise ReadingRefused([_missing(name, cells, columns, grid.lines[row], table) for name in missing])
    columns = _told_apart(columns) if table == "sku" else columns
    used = {column.position for column in columns}
    ignored = tuple((at, cell) for at, cell in enumerate(cells) if cell is not None and at not in used)
    above = [cell for at in range(row) for cell in grid.row(at) if cell is not None and len(cell) < _LONGEST_HEADER]
    of_packaging = any(map(says_packaging, above))
    columns = sorted(with_stated_unit(columns, above), key=lambda column: column.position)
    return Header(
        int(grid.lines[row]), last_line, tuple(columns), ignored, of_packaging, beside(columns, cells, grid, row)
    )


def _told_apart(columns: list[Column]) -> list[Column]:
    """The columns with `component_` before the names of components' columns that a column of the SKU has too."""
    own = {column.name for column in columns if column.table == "sku"}
    twice = [column for column in columns if column.table == "component" and column.name in own]
    return [replace(column, name=f"component_{column.name}") if column in twice else column for column in columns]


def _header_index(grid: Grid, table: Table, mapped: Mapping[str, str], header_row: int | None) -> int:
    if grid.cells.height == 0:
        raise refuse("no_table", "The file holds no table; send one with a header row and a line for each SKU.")
    if header_row is not None:
        if header_row not in grid.lines:
            raise refuse(
                "invalid_mapping", f"The mapping's header_row is {header_row}, a line without cells.", "mapping"
            )
        return int(grid.lines.to_list().index(header_row))
    told = {fold(header) for header in mapped.values()}

    def merit(index: int) -> tuple[bool, int, int]:
        cells = [cell for cell in grid.row(index) if cell is not None]
        names = field_names(cells, table)
        words = len({cell for cell in cells if any(map(str.isalpha, cell))})
        return names.issuperset(_NEEDED[table]), len(names) + sum(fold(cell) in told for cell in cells), words

    return max(range(min(grid.cells.height, ROWS_SEARCHED)), key=merit)


def _mapped_columns(cells: list[str | None], mapped: Mapping[str, str], table: Table) -> list[Column]:
    columns: list[Column] = []
    for name, header in mapped.items():
        at = _position(cells, header)
        column = None if at is None else column_for(name, at, cells[at] or "", table)
        if at is None or column is None:
            what = f"no column {shown(header)}" if at is None else f"no field {shown(name)}"
            seen = ", ".join(cell for cell in cells if cell is not None)[:500]
            raise refuse(
                "invalid_mapping", f"The mapping is wrong: there is {what}. The headers are: {seen}.", "mapping"
            )
        columns.append(column)
    twice = {column.position for column in columns if sum(c.position == column.position for c in columns) > 1}
    if twice:
        both = ", ".join(column.name for column in columns if column.position in twice)
        raise refuse("invalid_mapping", f"The mapping reads {both} from one column; give each its own.", "mapping")
    return columns


def _position(cells: list[str | None], header: str) -> int | None:
    """The column that the caller means: a header as written, a header after folding, or a column letter."""
    for same in (lambda cell: cell.strip() == header.strip(), lambda cell: fold(cell) == fold(header)):
        found = [at for at, cell in enumerate(cells) if cell is not None and same(cell)]
        if len(found) == 1:
            return found[0]
        if found:
            where = ", ".join(map(letter, found))
            raise refuse(
                "invalid_mapping",
                f"The header {shown(header)} stands over columns {where}; name the letter.",
                "mapping",
            )
    if header.isascii() and header.isalpha() and len(header) <= 3 and position(header) < len(cells):
        return position(header)
    return None


def _without_stray_parts(found: list[Column], chosen: list[Column]) -> list[Column]:
    """A main table without a component_type column has no components: `additives` there means something else.

    With one it has a line for each component, so that groups of columns mean something else.
    """
    own = [column for column in found if column.table == "sku"]
    if any(column.name == "component_type" for column in (*found, *chosen)):
        return own + [column for column in found if column.table == "component" and column.group is None]
    return own + [column for column in whole_groups([*chosen, *found]) if column not in chosen]


def _one_each(columns: list[Column], chosen: list[Column]) -> list[Column]:
    """One column a field. The field's own name stands above its synonyms, what names the packaging above what does not.

    Of columns of units each weight may have its own beside it. Other doubles are refused.
    """
    units = [column for column in columns if is_shared(column)]
    if len(units) > 1:
        others = _one_each([column for column in columns if column not in units], chosen)
        own = paired(units, [*chosen, *others])
        return [*others, *(own if own != units else _single(units))]
    return _single(columns)


def _single(columns: list[Column]) -> list[Column]:
    by_name: dict[tuple[str, str], list[Column]] = {}
    for column in columns:
        by_name.setdefault((column.table, column.name), []).append(column)
    kept: list[Column] = []
    issues: list[Issue] = []
    for (_, name), candidates in by_name.items():
        exact = [column for column in candidates if column.exact]
        best = exact if len(exact) == 1 else candidates
        if len(best) > 1 and name in OF_PACKAGING:
            of_packaging = [column for column in best if names_packaging(column.header)]
            best = of_packaging if len(of_packaging) == 1 else best
        if len(best) > 1:
            where = ", ".join(f"{shown(column.header)} ({letter(column.position)})" for column in best)
            message = (
                f"The columns {where} all fit {name}; rename or remove all but one, "
                f'or say which one it is: mapping={{"columns": {{"{name}": "{letter(best[0].position)}"}}}}.'
            )
            issues.append(Issue(code="ambiguous_column", message=message, field=name))
        kept.append(best[0])
    if issues:
        raise ReadingRefused(issues)
    return kept


def _missing(name: str, cells: list[str | None], columns: list[Column], line: int, table: Table) -> Issue:
    seen = [f"{letter(at)} {shown(cell[:60])}" for at, cell in enumerate(cells) if cell is not None]
    some = ", ".join(seen[:20]) + (", …" if len(seen) > 20 else "")
    sheet = "" if table == "sku" else " of the components sheet"
    barcode = next((letter(column.position) for column in columns if column.name == "gtin"), None)
    likely = barcode if name == "sku_code" and barcode is not None else "A"
    message = (
        f"No column{sheet} is recognised as {name}. Line {line} looks most like the header and holds: {some}. "
        f'Rename the right column to {name}, or name it: mapping={{"columns": {{"{name}": "{likely}"}}}}.'
    )
    return Issue(code="missing_column", message=message, field=name)
