"""Reads the sums of heavy metals of parts: each as a status, with the value where one was measured (Article 5(4)).

A SKU has one field for such a sum, a part has a declaration. What is read follows the field: a number in mg/kg was
measured, and its status is the one that the limit gives it; `<100` says that it is below the limit. A part whose status
stands in a column of its own keeps it.
"""

from dataclasses import replace
from typing import Final

import polars as pl

from compliance import ruleset
from compliance.substances import implied_status
from pipelines.reading.by_cells import OF_PART, SUM
from pipelines.reading.grid import Column, fields_of
from pipelines.reading.sheet import Sheet
from schemas.vocabularies import Substance

_METALS: Final[Substance] = "heavy_metals"
_STATUS: Final = "heavy_metals_status"
_UNIT: Final = "mg_per_kg"


def with_metals_declared(parts: Sheet) -> Sheet:
    """Return the components with a status beside each sum of their heavy metals, which is a value where it is one."""
    sums = [column for column in parts.columns if column.table == "component" and column.field.name == SUM]
    for column in sums:
        parts = _declared(parts, column)
    return parts


def _declared(parts: Sheet, column: Column) -> Sheet:
    fields = fields_of("component")
    read = parts.read(column)
    statuses = {text: _status(text) for text in read.drop_nulls().unique()}
    status = read.replace_strict(statuses, default=None, return_dtype=pl.String)
    attested = read.str.starts_with("<").fill_null(value=False) & status.is_not_null()
    values = parts.table[column.name].zip_with(read.is_null() | attested, read)  # a faulty cell stays one
    value = replace(column, name=OF_PART, field=fields[OF_PART], factor=type(column.factor)(1), has_unit=False)
    columns = tuple(value if each is column else each for each in parts.columns)
    table = parts.table.drop(column.name).with_columns(values.set(attested, None).alias(OF_PART))
    kinds = parts.kinds
    if kinds is not None:
        kinds = kinds.rename({column.name: OF_PART})
    parts = replace(parts, columns=columns, table=table, kinds=kinds, marks={**parts.marks, OF_PART: "."})
    if any(each.name == _STATUS for each in columns):
        return parts
    return parts.with_cells(replace(value, name=_STATUS, field=fields[_STATUS]), status)


def _status(text: str) -> str | None:
    """Return what a measured or an attested sum says of the limit; None for an attestation of more than the limit."""
    rules = ruleset.load()
    if not text.startswith("<"):
        return implied_status(_METALS, float(text), _UNIT, None, rules)
    below = implied_status(_METALS, float(text[1:]), _UNIT, None, rules)
    return below if below == "below_limit" else None
