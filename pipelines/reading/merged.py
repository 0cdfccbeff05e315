"""Reads cells that are merged over several lines: a spreadsheet stores their value in the first line only.

Texts, codes and markets are filled down. A number that is merged over several SKUs may be each one's or all together:
it is asked, and `quantity` in the mapping says which; within one SKU it is read once (decisions §13, *Merged cells*).
Codes and names are left as they are: lines without them belong to the SKU above (`cells.py`, `layouts.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from pipelines.reading.fields import Column, Table
from pipelines.reading.grid import TEXT, Grid, letter
from pipelines.reading.mapping import QUANTITIES
from pipelines.reading.questions import question
from pipelines.reading.unit_columns import choice_for
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import shown

_KEYS: Final = ("sku_code", "name")
_NUMBERS: Final = ("number", "integer", "ppm")
_MOST_ASKED: Final = 100


Filled: TypeAlias = dict[int, dict[str, int]]
"""By column, the texts that were filled down, each with the number of rows that have it by that."""


class Merge(NamedTuple):
    """A cell that is merged over lines, the last one included, and over columns, counted from 0."""

    first_line: int
    last_line: int
    first_column: int
    last_column: int


def read_merged(
    grid: Grid,
    merges: Sequence[Merge],
    columns: Sequence[Column],
    uses: Mapping[str, str],
    *,
    header: int,
    sheet: str,
    table: Table,
) -> tuple[Grid, tuple[Asked, ...], Filled]:
    """Return the grid with merged cells filled down below the `header`'s last line, and what is asked about numbers.

    The third member are the texts that were filled down (`readings.py` says them). `uses` is the mapping's `quantity`:
    by a column's letter or header `multiply` (the number is each line's), `divide` (it is all lines' together) or
    `ignore`.
    """
    code = next((column.position for column in columns if column.name == "sku_code"), None)
    cells, kinds = grid.cells, grid.kinds
    questions: list[Asked] = []
    filled: Filled = {}
    for merge in merges:
        found = [c for c in columns if merge.first_column == c.position and c.name not in _KEYS and c.constant is None]
        rows = grid.lines.is_between(merge.first_line, merge.last_line).arg_true()
        if merge.first_line <= header or len(rows) < 2 or not found or int(grid.lines[rows[0]]) != merge.first_line:
            continue
        [column] = found[:1]
        name = f"c{column.position}"
        value, kind = cells[name][rows[0]], TEXT if kinds is None else kinds[name][rows[0]]
        several = code is not None and cells[f"c{code}"].gather(rows).drop_nulls().n_unique() > 1
        if value is None or (column.field.kind in _NUMBERS and not several):
            continue
        if column.field.kind in _NUMBERS:
            use = choice_for(column, uses)
            if use is None:
                questions.append(_question(column, merge, value, sheet, table))
            value = _number_of(value, len(rows), use)
        else:
            texts = filled.setdefault(column.position, {})
            texts[value] = texts.get(value, 0) + len(rows)
        cells = cells.with_columns(cells[name].scatter(rows, value).alias(name))
        if kinds is not None:
            kinds = kinds.with_columns(kinds[name].scatter(rows, kind if value is not None else TEXT).alias(name))
    return replace(grid, cells=cells, kinds=kinds), tuple(questions[:_MOST_ASKED]), filled


def _number_of(value: str, lines: int, use: str | None) -> str | None:
    if use == "multiply":
        return value
    if use == "divide":
        try:
            return f"{float(value) / lines:.15g}"
        except ValueError:
            return None
    return None


def _question(column: Column, merge: Merge, value: str, sheet: str, table: Table) -> Asked:
    message = Message(
        "{value} in {header} is merged over the lines {first} to {last}, which are several SKUs: it may be each "
        "one's or all together, and is not read. Say which, multiply or divide: mapping={mapping}, or write it in "
        "each line.",
        value=shown(value),
        header=shown(column.header),
        first=merge.first_line,
        last=merge.last_line,
        mapping={"quantity": {letter(column.position): QUANTITIES[0]}},
    )
    return question(
        "quantity",
        message,
        could_be=QUANTITIES,
        column=column,
        sheet=sheet,
        lines=f"{merge.first_line}-{merge.last_line}",
        text=value,
        of_components=table == "component",
    )
