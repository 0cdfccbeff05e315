"""Detects and refuses forms of one product, where each line has a label and the answer beside it.

A data sheet lists reference, name, material and weight below each other, often in blocks for the levels of packaging.
Read as a table it would make SKUs of its labels. The refusal lists the labels found. `header.py` reads tables.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from pipelines.reading.columns import recognise, substitute_column
from pipelines.reading.grid import Grid, ReadingRefused, letter, refuse
from pipelines.reading.levels import level_of
from schemas.messages import Message
from schemas.normalise import shown

_LINES: Final = 40
_CELLS: Final = 16
"""Lines and cells that are searched: a form is no wider than a page."""
_FEWEST_LINES: Final = 3
_FEWEST_COLUMNS: Final = 4
_KEYS: Final = frozenset({"sku_code", "name", "gtin"})
"""A form of a product asks for one of these at least."""
_MOST_QUOTED: Final = 8
_LONGEST_TITLE: Final = 6
"""Words of the longest title of a block."""


def labels_of_form(grid: Grid) -> list[tuple[str, str]]:
    """Return the labels of a form in their order, each as people find it and its field; empty where it is no form.

    It is a form where several lines have labels with answers, of more fields than any line has side by side: below
    the header of a table there are hardly any labels.
    """
    labels: list[tuple[str, str]] = []
    lines, widest = 0, 0
    for index in range(min(grid.cells.height, _LINES)):
        cells = {at: cell for at, cell in enumerate(grid.row(index)[:_CELLS]) if cell is not None}
        fields = {at: field for at, cell in cells.items() if (field := _field_of_label(cell)) is not None}
        widest = max(widest, len(set(fields.values())))
        answered = [at for at, beside in pairwise(cells) if at in fields and beside not in fields]
        labels += [(f"{letter(at)}{grid.lines[index]} {shown(cells[at])}", fields[at]) for at in answered]
        lines += bool(answered)
    named = {field for _, field in labels}
    is_form = lines >= _FEWEST_LINES and len(named) > widest and named & _KEYS and not _is_table(grid)
    return labels if is_form else []


def _is_table(grid: Grid) -> bool:
    """Return whether nearly all lines fill as many cells as the first one, which has only words: unknown headers."""
    rows = [[cell for cell in grid.row(index) if cell is not None] for index in range(min(grid.cells.height, _LINES))]
    first = rows[0]
    headers = all(any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell)) for cell in first)
    alike = sum(abs(len(row) - len(first)) <= 1 for row in rows)
    return len(first) >= _FEWEST_COLUMNS and headers and len(set(first)) == len(first) and alike * 5 >= len(rows) * 4


def form_refusal(grid: Grid) -> ReadingRefused | None:
    """Return why a form is not read; None for a grid that is no form."""
    labels = labels_of_form(grid)
    if not labels:
        return None
    found = ", ".join(f"{label} ({field})" for label, field in labels[:_MOST_QUOTED])
    blocks = dict(_block_levels(grid))
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


def _field_of_label(cell: str) -> str | None:
    """Return the field of the SKU that a cell names; None for a material's name alone, which may be an answer."""
    column = recognise(cell, 0, "sku") or substitute_column(cell)
    return None if column is None or column.group is not None else column.name


def _block_levels(grid: Grid) -> Iterator[tuple[str, str]]:
    """Yield the titles of blocks and the level of packaging of each: lines whose filled cells are all equal."""
    for index in range(min(grid.cells.height, _LINES)):
        filled = [cell for cell in grid.row(index) if cell is not None]
        title = filled[0] if len(set(filled)) == 1 else ""
        if title and len(title.split()) <= _LONGEST_TITLE and (level := level_of(title)) is not None:
            yield shown(title), level
