"""Finds columns whose cells show that their header means something else than it seems.

Examples are a unit of sale beside a weight, a material ticked or named, `Recycled` over yes and no, `Component` over
numbers of parts. A column that the caller's mapping names, or that has the field's own name, always counts.
"""

from collections.abc import Sequence

import polars as pl

from pipelines.reading.fields import WEIGHTS, Column, Table
from pipelines.reading.groups import is_bare_material
from pipelines.reading.part_types import names_part
from pipelines.reading.weights import contains_mass_units


def misleading_columns(
    every: Sequence[Column], constants: Sequence[Column], cells: pl.DataFrame, table: Table
) -> list[str]:
    """Return the names of a `table`'s columns that do not count.

    `every` are all its columns, `constants` those of the mapping; `cells` has the texts of each column by its name.
    """
    columns = [column for column in every if not column.exact and not column.mapped]
    units = [column.name for column in columns if column.field.name == "weight_unit"]
    bare = [column.name for column in columns if is_bare_material(column)]
    shares = [column.name for column in columns if column.field.unit == "percent"]
    found = [name for name in units if not contains_mass_units(cells[name])]
    found += [name for name in bare if not _contain_numbers(cells[name])]
    found += [
        name for name in shares if (texts := cells[name].drop_nulls()).len() and not texts.str.contains(r"\d").any()
    ]
    weighed = {column.group for column in columns if column.field.name in WEIGHTS and column.name not in found}
    found += [
        column.name for column in columns if column.name in units and column.fixed and column.group not in weighed
    ]
    # The name of a components sheet says what its lines are: there `Component` counts, whatever its cells are.
    kind = next((column for column in columns if column.name == "component_type"), None)
    # Without it there are no parts, so that every column of parts goes, unless the mapping says that there are some.
    of_parts = [column for column in every if column.table == "component"]
    told = any(column.mapped for column in of_parts) or any(column.table == "component" for column in constants)
    if table == "sku" and kind in of_parts and not told and not _name_parts(cells["component_type"]):
        found += [column.name for column in of_parts]
    return found


def _name_parts(cells: pl.Series) -> bool:
    """Return whether most of the texts given name a part or a packaging."""
    distinct = cells.drop_nulls().unique()
    return 2 * sum(names_part(cell) for cell in distinct) > len(distinct)


def _contain_numbers(cells: pl.Series) -> bool:
    """Return whether most of the cells given contain a digit."""
    given = cells.drop_nulls()
    return not len(given) or 2 * given.str.contains(r"\d").sum() > len(given)
