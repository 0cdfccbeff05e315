"""Decides the decimal mark of a number column: whether `1.234` is over a thousand or a little more than one.

In this order: the mapping; the numbers of the column that can be read in one way only, then those of the file;
the delimiter `;` (then a comma); a header that is exactly the field's own name (then a point).
"""

from collections.abc import Iterable

import polars as pl

from pipelines.reading.fields import Column
from pipelines.reading.grid import TEXT

_NUMBERS = ("number", "integer", "ppm")


def _unambiguous_pattern(mark: str) -> str:
    """Return a pattern for numbers in which only `mark` can be the decimal mark.

    Other than three digits follow it; or it comes after a group of the other mark; or the other mark
    repeats as grouping; or the digits before it are no group (a zero, or more than three digits).
    """
    other = "," if mark == "." else "."
    mark, other = f"[{mark}]", f"[{other}]"
    edge, end = r"(?:^|[^\d.,])", r"(?:$|[^\d.,])"
    grouped = rf"\d{{1,3}}(?:{other}\d{{3}})"
    return (
        rf"{edge}(?:{grouped}*|\d+){mark}(?:\d{{1,2}}|\d{{4,}}){end}"
        rf"|{edge}{grouped}+{mark}\d+{end}"
        rf"|{edge}{grouped}{{2,}}{end}"
        rf"|{edge}(?:0|\d{{4,}}){mark}\d{{3}}{end}"
    )


_UNAMBIGUOUS = {mark: _unambiguous_pattern(mark) for mark in (".", ",")}


def decimal_marks(
    table: pl.DataFrame,
    kinds: pl.DataFrame | None,
    columns: Iterable[Column],
    *,
    given: str | None,
    delimiter: str | None,
) -> dict[str, str]:
    """Return the mark of each number column that needs one and for which something decides, by column name.

    A column or file that contains numbers of both kinds decides nothing. `given` is the mapping's mark.
    """
    shown = {column: _cells_with_mark(table, kinds, column.name) for column in columns if column.field.kind in _NUMBERS}
    shown = {column: cells for column, cells in shown.items() if len(cells)}
    if given is not None:
        return {column.name: given for column in shown}
    seen = {column: _proven_marks(cells) for column, cells in shown.items()}
    of_file = set().union(*seen.values())
    marks: dict[str, str] = {}
    for column, of_column in seen.items():
        if evidence := of_column or of_file:
            if len(evidence) == 1:
                marks[column.name] = next(iter(evidence))
        elif delimiter == ";":
            marks[column.name] = ","
        elif column.exact:
            marks[column.name] = "."
    return marks


def _cells_with_mark(table: pl.DataFrame, kinds: pl.DataFrame | None, name: str) -> pl.Series:
    """Return the text cells of a column that contain a mark; a workbook's number cells say nothing about text cells."""
    cells = table[name] if kinds is None else table[name].filter(kinds[name] == TEXT)
    return cells.filter(cells.str.contains("[.,]").fill_null(value=False))


def _proven_marks(cells: pl.Series) -> set[str]:
    """Return the decimal marks that the cells prove."""
    return {mark for mark, pattern in _UNAMBIGUOUS.items() if cells.str.contains(pattern).any()}
