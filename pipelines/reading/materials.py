"""Splits material cells that say more than a family: `Plastiques / PEBD - Polyethylène`, `PET recyclé`, `Weißblech`.

The family stays in its column, the rest becomes the material's detail where the table gives none, and a colour or a
metallisation that the text names fills the part's own field where the table gives none (decisions §13). A text that
`material_texts.py` does not know stays a fault of its cell.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import polars as pl

from pipelines.reading.fields import Column, fields_of
from pipelines.reading.grid import TEXT
from pipelines.reading.material_texts import facts_of_text, family_and_detail, family_of_detail
from pipelines.reading.sheet import Sheet

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
    family = cells.replace_strict(distinct, families, default=None, return_dtype=pl.String).alias("material")
    column = replace(own, name="material", field=fields_of("sku")["material"], exact=False)
    kinds = None if sheet.kinds is None else sheet.kinds.with_columns(pl.lit(TEXT, pl.UInt8).alias("material"))
    return replace(sheet, columns=(*sheet.columns, column), table=sheet.table.with_columns(family), kinds=kinds)


def _split_column(sheet: Sheet, column: Column) -> Sheet:
    cells = sheet.table[column.name]
    distinct = cells.drop_nulls().unique(maintain_order=True)
    found = [family_and_detail(text, str(column.field.vocabulary)) for text in distinct]
    if not any(found):
        return sheet
    families = [text if split is None else split[0] for text, split in zip(distinct, found, strict=True)]
    details = [None if split is None else split[1] for split in found]
    family = cells.replace_strict(distinct, families, default=None, return_dtype=pl.String)
    detail = cells.replace_strict(distinct, details, default=None, return_dtype=pl.String)
    own = next((c for c in sheet.columns if _is_detail_of(c, column)), None)
    if own is not None:
        if own.table == "component":
            sheet = _with_facts(sheet, own, detail)
        return replace(sheet, table=sheet.table.with_columns(family, sheet.table[own.name].fill_null(detail)))
    name = column.name.removesuffix(column.field.name) + _DETAIL[column.field.name]
    field = fields_of(column.table)[_DETAIL[column.field.name]]
    kinds = None if sheet.kinds is None else sheet.kinds.with_columns(pl.lit(TEXT, pl.UInt8).alias(name))
    table = sheet.table.with_columns(family, detail.alias(name))
    return replace(sheet, columns=(*sheet.columns, replace(column, name=name, field=field)), table=table, kinds=kinds)


def _is_detail_of(column: Column, material: Column) -> bool:
    return column.group == material.group and column.field.name == _DETAIL[material.field.name]


def _with_facts(sheet: Sheet, detail: Column, texts: pl.Series) -> Sheet:
    """Fill the attributes of a part that the texts of its material name, where its line gives none."""
    facts = {text: facts_of_text(text) for text in texts.drop_nulls().unique(maintain_order=True)}
    for name in _FACTS:
        cells: Mapping[str, str | None] = {text: of_text.get(name) for text, of_text in facts.items()}
        if not any(cells.values()):
            continue
        found = texts.replace_strict(cells, default=None, return_dtype=pl.String)
        own = next((c for c in sheet.columns if c.group == detail.group and _is_part_field(c, name)), None)
        if own is not None:
            sheet = replace(sheet, table=sheet.table.with_columns(sheet.table[own.name].fill_null(found)))
            continue
        added = detail.name.removesuffix(detail.field.name) + name
        kinds = None if sheet.kinds is None else sheet.kinds.with_columns(pl.lit(TEXT, pl.UInt8).alias(added))
        column = replace(detail, name=added, field=fields_of("component")[name], exact=False)
        table = sheet.table.with_columns(found.alias(added))
        sheet = replace(sheet, columns=(*sheet.columns, column), table=table, kinds=kinds)
    return sheet


def _is_part_field(column: Column, name: str) -> bool:
    return column.table == "component" and column.field.name == name
