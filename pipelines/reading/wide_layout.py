"""Splits a table with components side by side in one line into SKUs and the columns that describe their components.

The columns stay side by side, one group for each component; `graphs.py` makes a component of each group of a line.
`groups.py` recognises group columns.
"""

from dataclasses import replace
from typing import Literal

import polars as pl

from pipelines.reading.fields import Column
from pipelines.reading.sheet import Sheet
from pipelines.reading.unit_columns import is_shared, unit_per_group, weights_of_shared_unit


def layout_of(columns: tuple[Column, ...]) -> Literal["wide", "materials"] | None:
    """Return the layout of the group columns; None where there are none."""
    grouped = [column for column in columns if column.group is not None]
    if not grouped:
        return None
    return "materials" if any(column.fixed for column in grouped) else "wide"


def split_groups(sheet: Sheet) -> tuple[Sheet, Sheet]:
    """Return the SKUs, and the components of each SKU's first line; a later line is refused as a repeat."""
    sheet = _with_units(sheet)
    key = next(column for column in sheet.columns if column.name == "sku_code")
    own = tuple(column for column in sheet.columns if column.group is None)
    parts = (replace(key, table="component"), *(column for column in sheet.columns if column.group is not None))
    codes = sheet.table["sku_code"].str.strip_chars()
    first = codes.is_not_null() & codes.is_first_distinct()
    return _select(sheet, own), replace(_select(sheet, parts, first), ignored=(), faults=(), skipped=(), questions=())


def _with_units(sheet: Sheet) -> Sheet:
    """Copy the sheet's column of units for each group that has none; the SKU's own weight keeps it too."""
    copies = unit_per_group(sheet.columns)
    if not copies:
        return sheet
    shared = next(column for column in sheet.columns if is_shared(column))
    cells = [pl.col(shared.name).alias(column.name) for column in copies]
    whole = shared.constant is not None or any(c.name == "weight_grams" for c in weights_of_shared_unit(sheet.columns))
    return replace(
        sheet,
        columns=(*(column for column in sheet.columns if whole or not is_shared(column)), *copies),
        table=sheet.table.with_columns(cells),
        kinds=None if sheet.kinds is None else sheet.kinds.with_columns(cells),
    )


def _select(sheet: Sheet, columns: tuple[Column, ...], rows: pl.Series | None = None) -> Sheet:
    """Return the sheet with some of its columns and rows."""
    names = [column.name for column in columns]
    table = sheet.table.select(*names, "line")
    kinds = None if sheet.kinds is None else sheet.kinds.select(names)
    if rows is not None:
        table, kinds = table.filter(rows), None if kinds is None else kinds.filter(rows)
    marks = {name: mark for name, mark in sheet.marks.items() if name in names}
    return replace(sheet, columns=columns, table=table, kinds=kinds, marks=marks)
