"""Finds the header line of a grid: the one with most known headers, or the one that the caller's mapping names.

Its labels may be spread over lines, merged titles above or units below: `Weight` over `Glass | Paper` is `Weight Glass`
and `Weight Paper`; `Emballage 1` over `Matière | Poids` likewise; `kg` below `Weight` is `Weight (kg)`. Where titles
name levels of packaging, the columns of a level that is not sold keep their title, so that they do not count as the
SKU's. A form of one product, where each line has a label and the answer beside it, is refused: read as a table it would
make SKUs of its labels. `header.py` decides whether the columns are enough; `columns.py` recognises labels.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import accumulate, pairwise
from typing import Final

import polars as pl

from pipelines.reading.columns import (
    column_for,
    is_bare_material,
    open_column,
    recognise,
    substitute_column,
    words_of_terms,
)
from pipelines.reading.fields import LONGEST_HEADER, WEIGHTS, Table
from pipelines.reading.grammar import UNITS_OF_FIELDS, measure_of, tokens_of, without_measures, word_roles
from pipelines.reading.grid import Grid, ReadingRefused, invalid_mapping, letter, position, refuse
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.values import read_values
from pipelines.reading.words import SALES, level_of
from schemas.messages import Message
from schemas.normalise import shown
from schemas.words import code_of, fold

Cells = list[str | None]

ROWS_SEARCHED: Final = 40
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


def recognised_fields(cells: Iterable[str], table: Table = "sku", *, materials_count_once: bool = False) -> set[str]:
    """Return the fields that the cells name, by which a row looks like a header.

    With `materials_count_once` all names of materials alone count as one field.
    """
    short = [cell for cell in cells if len(cell) < LONGEST_HEADER]
    columns = [
        column for cell in short if (column := recognise(cell, 0, table) or open_column(cell, 0, table)) is not None
    ]
    names = {"material" if materials_count_once and is_bare_material(column) else column.name for column in columns}
    if table == "sku":
        names |= {column.name for cell in short if (column := substitute_column(cell)) is not None}
    return names


def known_headers(records: Sequence[Sequence[str | None]], of_mapping: Set[str]) -> int:
    """Return the most known headers of one of a text's records, by which it looks rightly divided.

    Materials alone are one field: a sentence may list them, as in “is not one of: plastic, paper, glass”.
    """
    most = 0
    for at in _most_promising(records, of_mapping, _MOST_CELLS_DIVIDED):
        short = [cell for cell in records[at] if cell is not None and len(cell) < LONGEST_HEADER]
        known = [cell for cell in short if words_of_terms(cell)][:_MOST_CELLS_DIVIDED]
        found = len(recognised_fields(known, materials_count_once=True))
        most = max(most, found + sum(fold(cell) in of_mapping for cell in short))
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
    rows = [grid.row(index) for index in range(max(1, int((filled <= _MOST_CELLS_SEARCHED).sum())))]
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
    known = [column for cell in cells if (column := recognise(cell, 0, table)) is not None and column.group is None]
    if any(fold(cell) in headers for cell in cells) or len(known) > 1:
        return best
    return _row_of_lettered_columns(grid, rows, table, mapped, best)


def _row_of_lettered_columns(grid: Grid, rows: Sequence[Cells], table: Table, mapped: SheetMapping, best: int) -> int:
    """Return the header row of columns that the mapping names only by letters: the first row that fills all of them.

    Nothing in the file says that this row is a header. A row of values is refused, so that no data is lost.
    """
    lettered = {name: position(to[0]) for name, to in mapped.columns.items() if to[0].isascii() and to[0].isalpha()}
    wide = max(lettered.values(), default=-1)
    filled = (at for at, row in enumerate(rows) if len(row) > wide and all(row[to] for to in lettered.values()))
    found = next(filled, best) if lettered else best
    if len(rows[found]) > wide and any(_is_value(name, rows[found][to], table) for name, to in lettered.items()):
        texts = ", ".join(shown(cell[:60]) for cell in rows[found] if cell is not None)[:500]
        message = Message(
            "The mapping names columns by letters, and line {line} is the first that fills them: {held}. "
            "It looks like data. Say header_row in the mapping: the line of the headers, or 0 where there are none.",
            line=grid.lines[found],
            held=texts,
        )
        raise invalid_mapping(message)
    return found


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
    cells, line = grid.row(row), int(grid.lines[row])

    def at_line(index: int, number: int) -> Cells | None:
        there = 0 <= index < grid.cells.height and int(grid.lines[index]) == number
        return grid.row(index) if there else None

    parts = at_line(row + 1, line + 1)
    if parts is not None and not _contains_units(cells, parts, keys) and _is_below_titles(cells, parts, keys):
        cells, row, line = _join_titles(cells, parts), row + 1, line + 1
    elif (titles := at_line(row - 1, line - 1)) is not None:
        cells = _with_titles(cells, titles)
    units = at_line(row + 1, line + 1)
    if units is not None and _contains_units(cells, units, keys):
        with_unit = [
            f"{cell} ({unit.strip().strip('()[]')})" if cell and unit and _is_unit(unit) else cell
            for cell, unit in zip(cells, units, strict=True)
        ]
        return with_unit, line + 1
    return cells, line


def _contains_units(cells: Cells, below: Cells, keys: Sequence[str]) -> bool:
    """Return whether a line contains units, none of them below a key, and otherwise only words of help and dashes."""
    given = [(cell, _is_key(title, keys)) for title, cell in zip(cells, below, strict=True) if cell is not None]
    units = {cell for cell, of_key in given if not of_key and _is_unit(cell)}
    others = [cell for cell, of_key in given if of_key or cell not in units]
    return bool(units) and all(not any(map(str.isalnum, cell)) or code_of(cell, "line") == "help" for cell in others)


def _is_key(title: str | None, keys: Sequence[str]) -> bool:
    column = None if title is None else recognise(title, 0, "sku")
    return column is not None and column.name in keys


def _is_unit(cell: str) -> bool:
    return any(measure_of(cell, field_unit) is not None for field_unit in UNITS_OF_FIELDS)


def _is_below_titles(cells: Cells, below: Cells, keys: Sequence[str]) -> bool:
    """Return whether a line has parts of merged titles: words, some where the header is empty, none below a key."""
    for cell, part in zip(cells, below, strict=True):
        if part is not None and (not any(map(str.isalpha, part)) or _is_key(cell, keys)):
            return False
    spread = [part for cell, part in zip(cells, below, strict=True) if cell is None and part is not None]
    return bool(spread) and len(spread) < sum(cell is not None for cell in below) * 2 and cells[0] is not None


def _join_titles(titles: Cells, parts: Cells) -> Cells:
    """Return each part behind the title that covers it."""
    over = _covering_titles(titles, parts)
    return [
        title if part is None else part if above is None else f"{above} {part}"
        for title, part, above in zip(titles, parts, over, strict=True)
    ]


def _covering_titles(titles: Cells, parts: Cells) -> Cells:
    """Return the title over each part: the last one to its left that has a part of its own."""
    found: Cells = []
    reaching: str | None = None
    for title, part in zip(titles, parts, strict=True):
        if title is not None:
            reaching = title if part is not None else None
        found.append(None if part is None else reaching)
    return found


def _with_titles(cells: Cells, titles: Cells) -> Cells:
    """Return the label with its title where the header alone is no field, or the title makes it another one."""
    over, joined = _covering_titles(titles, cells), _join_titles(titles, cells)
    levels = {title: level_of(title) for title in over if title is not None}
    sold = SALES in levels.values()
    return [
        label
        if sold and title is not None and levels[title] not in (None, SALES)
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
    alone, together, roles = recognise(cell, 0, "sku"), recognise(label, 0, "sku"), word_roles(title)
    if alone is not None and alone.name in ("sku_code", "name") and "somebody" in roles and "thing" not in roles:
        return label
    if together is not None and (alone is None or together.group is not None):
        return label
    if alone is None or alone.has_unit or alone.field.name not in WEIGHTS:
        return cell
    said = " ".join(without_measures(tokens_of(title))[1])
    return f"{cell} ({said})" if said else cell


_CELLS_OF_FORM: Final = 16
"""Cells of a line that are searched: a form is no wider than a page."""
_FEWEST_LINES: Final = 3
_FEWEST_COLUMNS: Final = 4
_KEYS_OF_FORM: Final = frozenset({"sku_code", "name", "gtin"})
"""A form of a product asks for one of these at least."""
_MOST_QUOTED: Final = 8
_LONGEST_TITLE: Final = 6
"""Words of the longest title of a block."""


def form_refusal(grid: Grid) -> ReadingRefused | None:
    """Return why a form is not read, with the labels found; None for a grid that is no form.

    A data sheet lists reference, name, material and weight below each other, often in blocks for the levels of
    packaging: lines whose filled cells are all equal are their titles.
    """
    rows = [grid.row(index) for index in range(min(grid.cells.height, ROWS_SEARCHED))]
    labels = _labels_of_form(rows, grid.lines)
    if not labels:
        return None
    found = ", ".join(labels[:_MOST_QUOTED])
    blocks: dict[str, str] = {}
    for row in rows:
        filled = {cell for cell in row if cell is not None}
        title = filled.pop() if len(filled) == 1 else ""
        if title and len(title.split()) <= _LONGEST_TITLE and (level := level_of(title)) is not None:
            blocks[shown(title)] = level
    if len(set(blocks.values())) > 1:
        message = Message(
            "This is a form of one product, with labels and the answers beside them: {found}. Forms are not read; send "
            "a table with one row of headers and a line for each product, as in GET /reference/template.xlsx. Its "
            "blocks are packaging of several levels ({titles}); give each a line and a sku_code of its own.",
            found=found,
            titles=", ".join(list(blocks)[:_MOST_QUOTED]),
        )
    else:
        message = Message(
            "This is a form of one product, with labels and the answers beside them: {found}. Forms are not read; send "
            "a table with one row of headers and a line for each product, as in GET /reference/template.xlsx.",
            found=found,
        )
    return refuse("missing_column", message)


def _labels_of_form(rows: Sequence[Cells], numbers: pl.Series) -> list[str]:
    """Return the labels of a form in their order, each as people find it with its field; empty where it is no form.

    It is a form where several lines have labels with answers, of more fields than any line has side by side: below
    the header of a table there are hardly any labels. A material's name alone may be an answer. A table of unknown
    headers is none: nearly all its lines fill as many cells as the first one, which has only words.
    """
    labels: list[str] = []
    named: set[str] = set()
    lines, widest = 0, 0
    for number, row in zip(numbers, rows, strict=False):
        cells = {at: cell for at, cell in enumerate(row[:_CELLS_OF_FORM]) if cell is not None}
        columns = {at: recognise(cell, 0, "sku") or substitute_column(cell) for at, cell in cells.items()}
        fields = {at: column.name for at, column in columns.items() if column is not None and column.group is None}
        widest = max(widest, len(set(fields.values())))
        answered = [at for at, beside in pairwise(cells) if at in fields and beside not in fields]
        labels += [f"{letter(at)}{number} {shown(cells[at])} ({fields[at]})" for at in answered]
        named |= {fields[at] for at in answered}
        lines += bool(answered)
    if lines < _FEWEST_LINES or len(named) <= widest or not named & _KEYS_OF_FORM:
        return []
    filled = [[cell for cell in row if cell is not None] for row in rows]
    first = filled[0]
    headers = all(any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell)) for cell in first)
    alike = sum(abs(len(row) - len(first)) <= 1 for row in filled)
    of_words = len(first) >= _FEWEST_COLUMNS and headers and len(set(first)) == len(first)
    return [] if of_words and alike * 5 >= len(filled) * 4 else labels
