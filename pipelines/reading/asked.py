"""Finds columns that may describe the product or its packaging; they are not read until a mapping says which.

A product has a weight and a material as well. They are the packaging's where something says so: the header itself, a
title or the sheet's name, other columns that only packaging has, lines or columns that are components. Where nothing
does, or the table also contains the product's own measures, `source.asked` lists the column (docs/decisions/0030).
`grammar.py` decides what a single header says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from pipelines.reading.fields import WEIGHTS, Column
from pipelines.reading.grammar import mentions, word_roles
from pipelines.reading.grid import letter
from pipelines.reading.levels import level_of, names_sales_level
from pipelines.reading.part_types import names_part
from pipelines.reading.sheet import Sheet
from pipelines.reading.unknown_materials import about_material
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import shown

_FIELDS_OF_PACKAGING: Final = frozenset(
    {
        "packaging_level",
        "recycled_content_percent",
        "food_contact",
        "empty_space_ratio",
        "reusable",
        "reuse_system_type",
        "reuse_cycles_target",
        "reuse_pool_owner",
        "ppwr_role",
        "packing_site_id",
    }
)
"""Fields that a table of products without their packaging does not have."""
_FIELDS_ASKED: Final = ("weight_grams", "material", "material_subtype")
_LINES_SUMMED: Final = 1_000
"""Lines whose parts are added up."""
_TOLERANCE: Final = 0.02
_SHARE_OF_LINES: Final = 0.9
"""A column is the total of the parts where it differs from their sum by at most `_TOLERANCE` in this share of lines."""


def without_doubtful(sheet: Sheet, *, of_parts: bool) -> tuple[Sheet, list[Asked]]:
    """Return the table without the columns of weights and materials that may be the product's, and a question for each.

    Columns beside weights of materials that may be one more are asked about too. `of_parts` is true where the lines are
    parts or another sheet contains components.
    """
    doubtful = [column for column in _doubtful_columns(sheet, of_parts=of_parts) if column.position not in sheet.asked]
    kept = replace(sheet, columns=tuple(column for column in sheet.columns if column not in doubtful))
    if doubtful and not any(column.field.name in WEIGHTS for column in kept.columns):
        kept = kept.without([column.name for column in kept.columns if column.field.name == "weight_unit"])
    kept = replace(kept, ignored=tuple(entry for entry in kept.ignored if entry[0] not in sheet.possible_materials))
    materials = [entry for entry in sheet.ignored if entry[0] in sheet.possible_materials]
    more = [about_material(at, header, sheet.columns, sheet.name) for at, header in materials]
    return kept, [*(_question(column, sheet) for column in doubtful), *more]


def _doubtful_columns(sheet: Sheet, *, of_parts: bool) -> list[Column]:
    """Return the columns of weights and materials where nothing says that they are the packaging's.

    A column that the caller's mapping names is.
    """
    of_product = [column for column in sheet.columns if column.table == "sku" and column.name in _FIELDS_ASKED]
    open_columns = [column for column in of_product if not (column.mapped or _names_its_packaging(column))]
    components = [c for c in sheet.columns if c.table == "component" and c.group is None]
    if not open_columns or (components and not any(c.field.name == "weight_g" for c in components)):
        return []  # without a weight among the columns of parts, the open columns are the part's
    strong = sheet.of_packaging or of_parts or any(_signs_of_packaging(sheet))
    ours = any(column.exact and "_" in column.name for column in sheet.columns)
    ignored = [header for _, header in sheet.ignored]  # `length_cm`, `Price`: the product's own measures
    measured = any("measure" in word_roles(header) and not mentions(header, "packaging") for header in ignored)
    weights = [column for column in open_columns if column.name == "weight_grams"]
    weight = [c for c in weights if _is_doubtful_weight(c, sheet, has_unit=strong or ours, measured=measured)]
    if strong or not (weight or measured):
        return weight
    own = [column for column in open_columns if column.name != "weight_grams" and not (column.exact and ours)]
    return [*weight, *own]


def _question(column: Column, sheet: Sheet) -> Asked:
    """Return the question whose a column is."""
    message = Message(
        "{header} may be the product's or its packaging's, and nothing in the table says which; it is not read. If "
        "it is the packaging's, say so: mapping={mapping}, or name the packaging in its header.",
        header=shown(column.header),
        mapping={"columns": {column.name: letter(column.position)}},
    )
    return sheet.ask("column", column, message, could_be=[column.name])


def _names_its_packaging(column: Column) -> bool:
    """Return whether a header alone says that it is the packaging's, by its words or by being the field's own name."""
    named = column.exact or column.header.strip().lower() == "weight_g"
    if column.name == "material" and column.exact:
        named = False  # feeds of products use this ordinary word as well
    level = names_sales_level(column.header)
    roles = word_roles(column.header)
    return named or level or mentions(column.header, "packaging") or bool(roles & {"empty", "tare"})


def _is_doubtful_weight(column: Column, sheet: Sheet, *, has_unit: bool, measured: bool) -> bool:
    """Return whether a weight may be the product's: it is beside measures or a packaging weight, or nothing says more.

    Beside weights of parts it is the packaging's where it is their sum.
    """
    parts = [c for c in sheet.columns if c.table == "component" and c.field.name == "weight_g"]
    if parts:
        return not _is_sum(column, [part for part in parts if part.group is not None], sheet)
    if not has_unit or measured or "parcel" in word_roles(column.header):
        return True
    return any({"weight", "packaging"} <= word_roles(text) and level_of(text) is None for _, text in sheet.ignored)


def _is_sum(whole: Column, parts: Sequence[Column], sheet: Sheet) -> bool:
    """Return whether a column is the sum of others in most of the lines that give both."""
    total = sheet.read(whole, _LINES_SUMMED)
    read = [sheet.read(part, _LINES_SUMMED).alias(part.name) for part in parts]
    added = pl.DataFrame(read).sum_horizontal() if parts else total * 0
    both = ((total > 0) & (added > 0)).fill_null(value=False)
    close = ((total - added).abs() <= total * _TOLERANCE).fill_null(value=False)
    return bool(both.any()) and float((both & close).sum()) >= _SHARE_OF_LINES * float(both.sum())


def _signs_of_packaging(sheet: Sheet) -> Iterator[bool]:
    """Yield for each column whether it says that the table is of packaging."""
    for column in sheet.columns:
        if column.table == "component" or column.name in _FIELDS_OF_PACKAGING or mentions(column.header, "packaging"):
            yield True
        elif column.name == "packaging_format":
            yield _are_formats(sheet.table[column.name])
        elif column.name == "weight_grams" and _names_its_packaging(column):
            yield True
    for _, header in sheet.ignored:
        yield mentions(header, "packaging")


def _are_formats(cells: pl.Series) -> bool:
    """Return whether most of the texts given are words for packaging: `Flasche`, `Pouch`."""
    distinct = cells.drop_nulls().unique()
    return 2 * sum(any(map(names_part, (cell, *cell.split("/")))) for cell in distinct) > len(distinct)
