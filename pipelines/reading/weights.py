"""Completes weights with the columns beside them: a unit, a count of equal parts, a share, a measured value.

Each of these columns only qualifies the weight of its line, or of its group. A line whose weight names two units is
a fault.
"""

import re
from decimal import Decimal

import polars as pl

from pipelines.reading.fields import Column
from pipelines.reading.numbers import outside_limits
from pipelines.reading.typed import faults_where
from pipelines.reading.unit_columns import names_unit
from pipelines.reading.units import unit_of
from schemas.messages import Message

_COMPLETED = ("weight_g", "weight_grams")
_OWN_UNIT = re.compile(r"(?:[.,\s'’]*+\d++)++\s*+(?:[eE][+-]?\d++\s*+)?+(?P<unit>[^\d\s.,'’].*)", re.DOTALL)

Faults = list[tuple[str, pl.DataFrame]]


def complete_weights(
    columns: tuple[Column, ...], table: pl.DataFrame, values: dict[str, pl.Series]
) -> tuple[dict[str, pl.Series], Faults]:
    """Return the weights of each group in grams of the whole part, and the faults by column.

    `table` has the cells and `values` the typed values, by column name.
    """
    whole: dict[str, pl.Series] = {}
    faults: Faults = []
    for weight in (column for column in columns if column.field.name in _COMPLETED):
        beside = {c.field.name: c for c in columns if c.group == weight.group}
        unit, measured = beside.get("weight_unit"), beside.get("measured_weight_g")
        grams, faults_of_unit = _with_unit(weight, unit, table, values)
        faults += faults_of_unit
        if measured is not None:
            better, faults_of_unit = _with_unit(measured, unit, table, values)
            faults += faults_of_unit
            grams = better.fill_null(grams)
        if count := beside.get("unit_count"):
            grams = grams * values[count.name].fill_null(1)
        if total := beside.get("total_count"):
            grams = grams / values[total.name].fill_null(1)
        if share := beside.get("weight_share_percent"):
            grams = grams * values[share.name].fill_null(100) / 100
        whole[weight.name] = grams.round(9)
        if grams is not values[weight.name]:  # what stands beside it may have made it more than a weight can be
            faults.append((weight.name, faults_where(*outside_limits(grams, weight.field))))
    return whole, faults


def _with_unit(
    weight: Column, unit: Column | None, table: pl.DataFrame, values: dict[str, pl.Series]
) -> tuple[pl.Series, Faults]:
    """Return a column of weights in grams by the unit beside it, with its faults."""
    if unit is None:
        return values[weight.name], []
    grams, found = _in_grams(values[weight.name], weight, unit, table)
    return grams, [(weight.name, found)]


def _in_grams(grams: pl.Series, weight: Column, unit: Column, table: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
    """Multiply weights by the factor of the unit beside them; a unit in the cell or in the header must be the same."""
    cells, units = table[weight.name], table[unit.name]
    distinct = units.drop_nulls().unique()
    factors = {cell: known.factor for cell in distinct if (known := unit_of(cell, "g")) is not None}
    of_cells = [float(factors[cell]) if cell in factors else None for cell in distinct]
    factor = units.replace_strict(distinct, of_cells, default=None, return_dtype=pl.Float64)
    has_unit = _own_factors(cells, weight, unit)
    without = ((grams != 0) & factor.is_null() & has_unit.is_null()).fill_null(value=False)
    message = Message(
        "No unit of mass stands beside this weight, as in other lines; write g, kg, mg, t, oz or lb there."
    )
    differs = (has_unit.is_not_null() & factor.is_not_null() & (has_unit != factor)).fill_null(value=False)
    other = Message("The weight names one unit, and the unit column of its line another; make them the same.")
    faults = pl.concat([faults_where(without, "unknown_unit", message), faults_where(differs, "unknown_unit", other)])
    return grams * factor.set(has_unit.is_not_null(), 1.0).fill_null(1.0), faults


def _own_factors(cells: pl.Series, weight: Column, unit: Column) -> pl.Series:
    """Return the factor of each cell's own unit, or the header's; null where neither names one."""
    has_unit = weight.factor != 1 or names_unit(weight, unit)
    of_header = float(weight.factor) if has_unit else None
    lettered = cells.set(~cells.str.contains(r"\p{L}").fill_null(value=False), None)
    distinct = lettered.drop_nulls().unique()
    known = [_own_factor(cell) for cell in distinct]
    own = lettered.replace_strict(distinct, known, default=None, return_dtype=pl.Float64)
    return own if of_header is None else own.fill_null(of_header)


def _own_factor(cell: str) -> float | None:
    found = _OWN_UNIT.fullmatch(cell.strip())
    unit = None if found is None else unit_of(found["unit"], "g")
    return None if unit is None else float(Decimal(unit.factor))
