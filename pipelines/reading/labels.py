"""Puts the label of each column together where a header has several lines.

Merged titles stand above, units below: `Weight` over `Glass | Paper` is `Weight Glass` and `Weight Paper`;
`Emballage 1` over `Matière | Poids` likewise; `kg` below `Weight` is `Weight (kg)`. A title that is filled into each
column counts as merged. Where titles name levels of packaging, the columns of a level that is not sold keep their
title, so that they do not count as the SKU's; so do headers that stand twice, below two titles.
"""

import re
from collections.abc import Sequence
from typing import Final

from pipelines.reading.columns import column_of_label, recognise
from pipelines.reading.grammar import says_unit, word_roles
from pipelines.reading.grid import WEIGHTS, Cells, Grid
from pipelines.reading.neighbours import part_column, unit_of_title
from pipelines.reading.words import SALES, level_of, part_type
from schemas.words import code_of

_NUMBERED: Final = re.compile(r"^\s*\(?(\d{1,2}|[a-z])[.)]\s*(?=[^\W\d_])", re.IGNORECASE)
_FEWEST_NUMBERED: Final = 3


def without_numbering(cells: Cells) -> Cells:
    """Return headers without their running numbers or letters: `1. SKU | 2. Name | 3. Weight`."""
    found = [None if cell is None else _NUMBERED.match(cell) for cell in cells]
    marks = [match[1].lower() for match in found if match is not None]
    filled = sum(cell is not None for cell in cells)
    running = [str(at) for at in range(1, filled + 1)], [chr(ord("a") + at) for at in range(min(filled, 26))]
    if filled < _FEWEST_NUMBERED or marks not in running:
        return cells
    return [None if cell is None else without_number(cell) for cell in cells]


def without_number(cell: str) -> str:
    """Return a header without the number before it."""
    return _NUMBERED.sub("", cell, count=1)


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
        cells, row, line = _join_titles(cells, parts), row + 1, line + 1
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


def _join_titles(titles: Cells, parts: Cells) -> Cells:
    """Return each part behind the title that covers it."""
    over = _covering_titles(titles, parts)
    return [
        title if part is None else part if above is None else f"{above} {part}"
        for title, part, above in zip(titles, parts, over, strict=True)
    ]


def _covering_titles(titles: Cells, parts: Cells) -> Cells:
    """Return the title over each part: the last one to its left that has a part of its own."""
    covering: Cells = []
    reaching: str | None = None
    for title, part in zip(titles, parts, strict=True):
        if title is not None:
            reaching = title if part is not None else None
        covering.append(None if part is None else reaching)
    return covering


def _with_titles(cells: Cells, titles: Cells) -> Cells:
    """Return the label with its title where the header alone is no field, or the title makes it another one."""
    over, joined = _covering_titles(titles, cells), _join_titles(titles, cells)
    levels = {title: level_of(title) for title in over if title is not None}
    sold = SALES in levels.values()
    parts = {title for title in levels if part_type(title) is not None}
    twice = _below_two_titles(cells, over)
    return [
        label
        if (sold and title is not None and levels[title] not in (None, SALES))
        or (cell in twice and title is not None)
        or (len(parts) > 1 and title in parts and label is not None and part_column(label) is not None)
        else _choose_label(cell, label, title)
        for cell, title, label in zip(cells, over, joined, strict=True)
    ]


def _below_two_titles(cells: Cells, over: Cells) -> set[str]:
    """Return the headers that stand below two titles, which tell them apart."""
    titles: dict[str, set[str]] = {}
    for cell, title in zip(cells, over, strict=True):
        if cell is not None and title is not None:
            titles.setdefault(cell, set()).add(title)
    return {cell for cell, of_cell in titles.items() if len(of_cell) > 1}


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
