"""Completes weights with the columns beside them: a unit, a count of equal parts, a share, a measured value.

Each of these columns only qualifies the weight of its line, or of its group. A line whose weight names two units is
a fault.
"""

import re
from collections.abc import Callable

import polars as pl

from pipelines.reading.fields import Column, faults_where
from pipelines.reading.numbers import outside_limits
from pipelines.reading.unit_columns import names_unit
from pipelines.reading.units import Unit, unit_of
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
        grams, faults_of_unit = _in_grams(weight, unit, table, values)
        faults += faults_of_unit
        if measured is not None:
            better, faults_of_unit = _in_grams(measured, unit, table, values)
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


def _in_grams(
    weight: Column, unit: Column | None, table: pl.DataFrame, values: dict[str, pl.Series]
) -> tuple[pl.Series, Faults]:
    """Return weights times the factor of the unit beside them; a unit in the cell or in the header must be the same."""
    grams = values[weight.name]
    if unit is None:
        return grams, []
    cells = table[weight.name]
    factor = _factors(table[unit.name], lambda cell: unit_of(cell, "g"))
    has_unit = _factors(cells.set(~cells.str.contains(r"\p{L}").fill_null(value=False), None), _unit_within)
    if weight.factor != 1 or names_unit(weight, unit):
        has_unit = has_unit.fill_null(float(weight.factor))
    without = ((grams != 0) & factor.is_null() & has_unit.is_null()).fill_null(value=False)
    message = Message(
        "No unit of mass stands beside this weight, as in other lines; write g, kg, mg, t, oz or lb there."
    )
    differs = (has_unit.is_not_null() & factor.is_not_null() & (has_unit != factor)).fill_null(value=False)
    other = Message("The weight names one unit, and the unit column of its line another; make them the same.")
    faults = pl.concat([faults_where(without, "unknown_unit", message), faults_where(differs, "unknown_unit", other)])
    return grams * factor.set(has_unit.is_not_null(), 1.0).fill_null(1.0), [(weight.name, faults)]


def _factors(cells: pl.Series, unit_in: Callable[[str], Unit | None]) -> pl.Series:
    """Return the factor of the unit in each cell; null where it names none."""
    distinct = cells.drop_nulls().unique()
    factors = [None if (unit := unit_in(cell)) is None else float(unit.factor) for cell in distinct]
    return cells.replace_strict(distinct, factors, default=None, return_dtype=pl.Float64)


def _unit_within(cell: str) -> Unit | None:
    """Return the unit behind the number of a cell."""
    found = _OWN_UNIT.fullmatch(cell.strip())
    return None if found is None else unit_of(found["unit"], "g")
