"""Assigns columns of units to weights: one for all of them, one beside each, or one for each group.

A unit in a weight's own group, or beside it, is that weight's. The only column of units in a table applies to every
weight whose header names no unit. `weights.py` converts the weights; `units.csv` lists the factors.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from pipelines.reading.fields import WEIGHTS, Column, fields_of
from pipelines.reading.grammar import unit_in
from pipelines.reading.grid import MOST_COLUMNS, Grid
from pipelines.reading.units import unit_of
from schemas.words import fold, words

_UNIT: Final = "weight_unit"
_STEM: Final = 3
_MOST_WORDS: Final = 40
_LINES: Final = 40
"""Lines below the header that are searched for units."""


def is_shared(column: Column) -> bool:
    """Return whether a column contains units and belongs to no group of columns."""
    return column.field.name == _UNIT and column.group is None


def names_unit(weight: Column, unit: Column | None = None) -> bool:
    """Return whether a weight's header names its unit.

    The field's own name (`weight_grams`) names none beside a column `unit` with the unit field's own name, or one that
    the mapping names.
    """
    given = unit is not None and (unit.exact or unit.mapped)
    return weight.has_unit and not (weight.exact and given)


def paired_units(found: Sequence[Column], weights: Sequence[Column]) -> list[Column]:
    """Return those of several columns of units that are right of the weights, or left of them, each for its weight.

    Returns all that were found where not every weight gets its own: then the table is ambiguous.
    """
    weights = [column for column in weights if column.field.name in WEIGHTS]
    for step in (1, -1):
        beside = {weight.position + step: weight for weight in weights}
        own = [_as_unit_of(beside[column.position], column) for column in found if column.position in beside]
        if weights and len(own) == len(weights):
            return own
    return list(found)


def with_units_beside(columns: list[Column], cells: Sequence[str | None], grid: Grid, row: int) -> list[Column]:
    """Add the column right of each weight that contains only units of mass, whatever its header.

    Adds none to a table with a column of units for all weights.
    """
    if any(is_shared(column) for column in columns):
        return columns
    taken = {column.position for column in columns}
    owned = {column.group for column in columns if column.field.name == _UNIT}
    beside = [
        _as_unit_of(weight, Column(_UNIT, weight.field, weight.table, at, cells[at] or ""))
        for weight in columns
        if weight.field.name in WEIGHTS and weight.group not in owned
        for at in (weight.position + 1,)
        if at < len(cells) and at not in taken and _contains_units(grid, row, at)
    ]
    if len(beside) == 1:  # a single column applies to all weights
        table = "sku" if beside[0].group is not None else beside[0].table
        beside = [replace(beside[0], name=_UNIT, group=None, fixed=(), table=table)]
    return [*columns, *beside]


def with_stated_unit(columns: list[Column], above: Iterable[str]) -> list[Column]:
    """Apply the unit of a remark above the table, `All weights in kg`, to weights where nothing nearer names one.

    A line with a figure is no such remark: `Net weight: 5 kg` describes one product.
    """
    units = {unit for text in above if _mentions_weights(text) and (unit := unit_in(text, "g")) is not None}
    if len(units) != 1 or any(column.field.name == _UNIT for column in columns):
        return columns
    unit = units.pop()
    without_unit = [c for c in columns if c.field.name in WEIGHTS and c.factor == 1 and not c.has_unit]
    return [
        replace(column, factor=unit.factor, per=unit.per) if column in without_unit else column for column in columns
    ]


def _mentions_weights(text: str) -> bool:
    tokens = fold(text).split()
    begin = tuple(word for word, role in words("header_word").items() if role == "weight" and len(word) > _STEM)
    return not any(map(str.isdigit, text)) and any(token.startswith(begin) for token in tokens[:_MOST_WORDS])


def shared_unit_per_group(columns: Sequence[Column]) -> list[tuple[str, Column]]:
    """Return a column of units for each group whose weight has none of its own, with the shared column's name."""
    shared = next((column for column in columns if is_shared(column)), None)
    if shared is None:
        return []
    owned = {column.group for column in columns if column.field.name == _UNIT}
    weights = [c for c in columns if c.field.name in WEIGHTS and c.group is not None and c.group not in owned]
    chosen = [column for column in weights_of_shared_unit(columns) if column in weights]
    once = {column.group: column for column in chosen}
    return [(shared.name, _as_unit_of(weight, shared)) for weight in once.values()]


def constant_unit_per_group(columns: Iterable[Column], constants: list[Column]) -> list[Column]:
    """Return the unit that a constant gives to all weights, for each group of components that names none.

    It applies whatever the weights' headers say: the mapping's author has decided. A column of units
    (`shared_unit_per_group`) applies to the weights whose header names no unit.
    """
    unit = next((column for column in constants if is_shared(column)), None)
    with_unit = {column.group for column in (*columns, *constants) if column.field.name == _UNIT}
    weights = [column for column in columns if column.field.name == "weight_g" and column.group not in with_unit]
    if unit is None:
        return []
    return [
        replace(
            unit,
            name=f"{weight.name.removesuffix('weight_g')}{_UNIT}",
            table="component",
            group=weight.group,
            fixed=weight.fixed,
            position=unit.position + MOST_COLUMNS * number,
        )
        for number, weight in enumerate(weights, 1)
    ]


def weights_of_shared_unit(columns: Sequence[Column]) -> list[Column]:
    """Return the weights of a shared column of units: those whose header names no unit; all where each names one."""
    weights = [column for column in columns if column.field.name in WEIGHTS]
    shared = next((column for column in columns if is_shared(column)), None)
    without_unit = [column for column in weights if not names_unit(column, shared)]
    return without_unit or weights


def _as_unit_of(weight: Column, column: Column) -> Column:
    """Return a column as the unit of a weight."""
    name = f"{weight.name.removesuffix(weight.field.name)}{_UNIT}"
    field = fields_of(weight.table)[_UNIT]
    return replace(column, name=name, field=field, table=weight.table, group=weight.group, fixed=weight.fixed)


def _contains_units(grid: Grid, row: int, at: int) -> bool:
    name = f"c{at}"
    if name not in grid.cells.columns:
        return False
    under = grid.cells[name].slice(row + 1, _LINES).drop_nulls()
    return bool(len(under)) and all(unit_of(cell, "g") is not None for cell in under)
