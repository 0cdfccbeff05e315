"""Judges the columns of a table by their names, their values and their neighbours; what is not certain is asked about.

What belongs here: the order of the verdicts, columns whose cells show that their header means something else, shares
that may be fractions, and what an open column keeps back. `unit_columns.py` judges units, `quantities.py` quantities,
`code_lists.py` code lists; `asked.py` asks whether a column is the product's.
"""

from dataclasses import replace
from typing import Final

import polars as pl

from pipelines.reading.code_lists import with_code_lists
from pipelines.reading.fields import Column
from pipelines.reading.quantities import with_quantities
from pipelines.reading.sheet import Sheet
from pipelines.reading.unit_columns import name_in_mapping
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import shown

_TOP: Final = 200


def judged(sheet: Sheet, *, of_parts: bool) -> Sheet:
    """Return a sheet with every column judged; `of_parts` is true where its lines are parts of packagings.

    A column that is asked about keeps back the graphs whose parts it is of. Raises `ReadingRefused` as
    `with_quantities` does.
    """
    sheet, lists = with_code_lists(sheet)
    asked = [*lists, *((column, _about_fraction(column, sheet)) for column in sheet.columns if _is_open(column, sheet))]
    positions = sheet.asked | {column.position for column, _ in asked}
    sheet = replace(sheet, questions=(*sheet.questions, *(about for _, about in asked)), asked=positions)
    sheet = with_quantities(sheet, of_parts=of_parts)
    held = of_parts and any(c.position in sheet.asked and c.field.kind != "markets" for c in sheet.columns)
    return replace(sheet, held=tuple(sheet.table["line"]), others=pl.DataFrame()) if held else sheet


def without_asked(sheet: Sheet) -> Sheet:
    """Return the table of SKUs without the columns that are asked about, and without the units of such weights."""
    kept = tuple(c for c in sheet.columns if c.position not in sheet.asked or c.constant is not None)
    if kept == sheet.columns:
        return sheet
    weighed = any(column.field.unit == "g" for column in kept)
    return replace(sheet, columns=tuple(c for c in kept if weighed or c.field.name not in _OF_WEIGHTS))


_OF_WEIGHTS: Final = ("weight_unit", "unit_count", "total_count")


def _is_open(column: Column, sheet: Sheet) -> bool:
    """Return whether the numbers of a percentage are all from 0 to 1, and so may be fractions of one."""
    if column.field.unit != "percent" or column.constant is not None or column.position in sheet.asked:
        return False
    if sheet.mapped.unit_of(column) is not None:
        return False
    cells = sheet.table[column.name]
    for some in (_TOP, len(cells)):  # the first lines mostly tell
        numbers = sheet.read(column, some)
        if not numbers.is_between(0, 1).fill_null(value=True).all():
            return False
    return not cells.str.contains("%", literal=True).any() and bool((numbers > 0).any())


def _about_fraction(column: Column, sheet: Sheet) -> Asked:
    message = Message(
        "The numbers of {header} are all from 0 to 1: they may be fractions, 0.3 for 30 %, or percent. It is not "
        "read. Say which: mapping={mapping}, or percent.",
        header=shown(column.header),
        mapping={"units": {name_in_mapping(column, sheet.columns): "fraction"}},
    )
    some = sheet.table[column.name].drop_nulls().unique(maintain_order=True).head(3)
    return sheet.ask("fraction", column, message, could_be=("fraction", "percent"), text=", ".join(some))
