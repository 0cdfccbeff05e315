"""Splits material cells that say more than a family: `Plastiques / PEBD - Polyethylène`, `PET recyclé`, `Weißblech`.

The family stays in its column, the rest becomes the material's detail where the table gives none, and a colour or a
metallisation that the text names fills the part's own field where the table gives none (decisions §13). A text that
`unknown_materials.py` does not know stays a fault of its cell.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import polars as pl

from pipelines.reading.fields import Column, fields_of
from pipelines.reading.sheet import Sheet
from pipelines.reading.unknown_materials import facts_of_text, family_of_detail, read_material

_DETAIL: Final = {"material": "material_subtype", "material_family": "polymer_or_grade"}
_FACTS: Final = ("colour", "metallised")
"""Fields of a part that the text of its material can fill."""


def with_details(sheet: Sheet) -> Sheet:
    """Put each family, each detail and what it says of its part in columns; what a line gives itself is kept."""
    for column in sheet.columns:
        if column.field.name in _DETAIL:
            sheet = _split_column(sheet, column)
    for column in sheet.columns:
        if column.table == "component" and column.field.name == "polymer_or_grade":
            sheet = _with_facts(sheet, column, sheet.table[column.name])
    return sheet


def with_families(sheet: Sheet) -> Sheet:
    """Add the materials that a sheet's details name, where it has no column of materials: `PAP 21`, `HDPE`.

    A column with the field's own name adds none: a caller who writes that name sends this field and no other.
    """
    own = next((column for column in sheet.columns if column.name == "material_subtype"), None)
    if own is None or own.exact or own.mapped or any(column.name == "material" for column in sheet.columns):
        return sheet
    cells = sheet.table[own.name]
    distinct = cells.drop_nulls().unique(maintain_order=True)
    families = [family_of_detail(text) for text in distinct]
    if not any(families):
        return sheet
    family = cells.replace_strict(distinct, families, default=None, return_dtype=pl.String)
    column = replace(own, name="material", field=fields_of("sku")["material"], exact=False)
    return sheet.with_cells(column, family)


def _split_column(sheet: Sheet, column: Column) -> Sheet:
    cells = sheet.table[column.name]
    distinct = cells.drop_nulls().unique(maintain_order=True)
    found = {text: read_material(text, str(column.field.vocabulary)) for text in distinct}
    details = {text: None if named is None else named.detail for text, named in found.items()}
    if not any(details.values()):
        return sheet
    families = {text: text if named is None else named.family for text, named in found.items()}
    family = cells.replace_strict(families, default=None, return_dtype=pl.String)
    detail = cells.replace_strict(details, default=None, return_dtype=pl.String)
    name = _DETAIL[column.field.name]
    if column.table == "component" and (own := _field_beside(sheet, column, name)) is not None:
        sheet = _with_facts(sheet, own, detail)
    return _filled(replace(sheet, table=sheet.table.with_columns(family)), column, name, detail)


def _with_facts(sheet: Sheet, part: Column, texts: pl.Series) -> Sheet:
    """Fill the attributes of a part that the texts of its material name, where its line gives none."""
    facts = {text: facts_of_text(text) for text in texts.drop_nulls().unique(maintain_order=True)}
    for name in _FACTS:
        cells: Mapping[str, str | None] = {text: of_text.get(name) for text, of_text in facts.items()}
        if any(cells.values()):
            found = texts.replace_strict(cells, default=None, return_dtype=pl.String)
            sheet = _filled(sheet, part, name, found)
    return sheet


def _filled(sheet: Sheet, beside: Column, name: str, cells: pl.Series) -> Sheet:
    """Fill a field of the SKU or part that a column is of, where its line gives none."""
    if (own := _field_beside(sheet, beside, name)) is not None:
        return replace(sheet, table=sheet.table.with_columns(sheet.table[own.name].fill_null(cells)))
    own_name = beside.name.removesuffix(beside.field.name) + name
    return sheet.with_cells(replace(beside, name=own_name, field=fields_of(beside.table)[name], exact=False), cells)


def _field_beside(sheet: Sheet, column: Column, name: str) -> Column | None:
    """Return the column of a field of the same SKU or part."""
    of_same = (c for c in sheet.columns if (c.group, c.table) == (column.group, column.table))
    return next((c for c in of_same if c.field.name == name), None)
