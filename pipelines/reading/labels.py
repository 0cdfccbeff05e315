"""Joins the labels of columns whose header is spread over lines: merged titles above, or units below.

`Weight` over `Glass | Paper` is `Weight Glass` and `Weight Paper`; `Emballage 1` over `Matière | Poids` likewise; `kg`
below `Weight` is `Weight (kg)`. Where titles name levels of packaging, the columns of a level that is not sold keep
their title, so that they do not count as the SKU's. `header_row.py` finds the header line; `columns.py` recognises
labels.
"""

from collections.abc import Sequence

from pipelines.reading.columns import recognise
from pipelines.reading.fields import WEIGHTS, Column
from pipelines.reading.grammar import UNITS_OF_FIELDS, measure_of, tokens_of, without_measures, word_roles
from pipelines.reading.grid import Grid
from pipelines.reading.levels import SALES, level_of
from schemas.words import code_of

Cells = list[str | None]
_ARTICLE_FIELDS = ("sku_code", "name")


def header_labels(grid: Grid, row: int, keys: Sequence[str]) -> tuple[Cells, int]:
    """Return each column's label, and the header's last line. `row` is the header; `keys` are the fields of a key.

    A further line belongs to the header where it is directly below, says nothing about the keys, and either is below
    merged titles or contains only units.
    """
    cells = grid.row(row)
    line = int(grid.lines[row])
    parts = _row_at_line(grid, row + 1, line + 1)
    if parts is not None and not _contains_units(cells, parts, keys) and _is_below_titles(cells, parts, keys):
        cells, row, line = _join_titles(cells, parts), row + 1, line + 1
    elif (titles := _row_at_line(grid, row - 1, line - 1)) is not None:
        cells = _with_titles(cells, titles)
    units = _row_at_line(grid, row + 1, line + 1)
    if units is not None and _contains_units(cells, units, keys):
        return [_with_unit(cell, unit) for cell, unit in zip(cells, units, strict=True)], line + 1
    return cells, line


def _row_at_line(grid: Grid, row: int, line: int) -> Cells | None:
    """Return the cells of a row, if it is at that line of the file."""
    there = 0 <= row < grid.cells.height and int(grid.lines[row]) == line
    return grid.row(row) if there else None


def _contains_units(cells: Cells, below: Cells, keys: Sequence[str]) -> bool:
    """Return whether a line contains units, none of them below a key, and otherwise only words of help and dashes."""
    beside = [cell for title, cell in zip(cells, below, strict=True) if cell is not None and not _is_key(title, keys)]
    of_keys = [cell for title, cell in zip(cells, below, strict=True) if cell is not None and _is_key(title, keys)]
    return (
        any(map(_is_unit, beside))
        and all(_is_unit(cell) for cell in beside if not _is_filler(cell))
        and all(map(_is_filler, of_keys))
    )


def _is_filler(cell: str) -> bool:
    return not any(map(str.isalnum, cell)) or code_of(cell, "line") == "help"


def _is_key(title: str | None, keys: Sequence[str]) -> bool:
    column = None if title is None else recognise(title, 0, "sku")
    return column is not None and column.name in keys


def _is_unit(cell: str) -> bool:
    return any(measure_of(cell, field_unit) is not None for field_unit in UNITS_OF_FIELDS)


def _with_unit(cell: str | None, below: str | None) -> str | None:
    if cell is None or below is None or not _is_unit(below):
        return cell
    return f"{cell} ({below.strip().strip('()[]')})"


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

    A title that names the unit of the weights below it gives it to each: `Weights in kg` over `Glass | Paper`.
    """
    if cell is None or label is None or label == cell:
        return cell
    alone, together = recognise(cell, 0, "sku"), recognise(label, 0, "sku")
    if alone is not None and alone.name in _ARTICLE_FIELDS and title is not None and _names_partner(title):
        return label
    if together is None or (alone is not None and together.group is None):
        return cell if title is None or alone is None else _with_title_unit(cell, title, alone)
    return label


def _names_partner(title: str) -> bool:
    """Return whether a title names a supplier or a customer, so that `Code` below it is theirs and no article's."""
    roles = word_roles(title)
    return "somebody" in roles and "thing" not in roles


def _with_title_unit(cell: str, title: str, alone: Column) -> str:
    said = " ".join(without_measures(tokens_of(title))[1]) if alone.field.name in WEIGHTS else ""
    return cell if alone.has_unit or not said else f"{cell} ({said})"
