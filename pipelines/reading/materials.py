"""Splits material cells that say more than a family: `Plastiques / PEBD - Polyethylène`, `PET recyclé`.

The family stays in its column, the rest becomes the material's detail where the table gives none. The rule-set's words
give the family of a text that names none (`compliance.words`); a text that neither knows stays a fault of its cell.
"""

import re
from dataclasses import replace
from typing import Final

import polars as pl

from compliance import ruleset
from compliance.words import resolve_material
from pipelines.reading.fields import LONGEST_VALUE, Column, fields_of
from pipelines.reading.grid import TEXT
from pipelines.reading.sheet import Sheet
from pipelines.reading.values import without_language
from schemas.vocabularies import VOCABULARIES
from schemas.words import code_of, fold, words

_DETAIL: Final = {"material": "material_subtype", "material_family": "polymer_or_grade"}
_SHARE: Final = re.compile(r"(?<!\d)\d++(?:[.,]\d++)?+\s*+%")
_SHARE_SEPARATOR: Final = re.compile(r"[/,;+&](?!\d)")
"""Separators of materials that each have a share: `carton 80 % / PE 20 %`."""
_SEPARATOR: Final = re.compile(r"/|(?<=\s)[-–—](?=\s)")


def with_details(sheet: Sheet) -> Sheet:
    """Put each family and each detail in a column of its own; a detail that a line gives itself is kept."""
    for column in sheet.columns:
        if column.field.name in _DETAIL:
            sheet = _split_column(sheet, column)
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
    families = [_family_of_detail(text) for text in distinct]
    if not any(families):
        return sheet
    family = cells.replace_strict(distinct, families, default=None, return_dtype=pl.String).alias("material")
    column = replace(own, name="material", field=fields_of("sku")["material"], exact=False)
    kinds = None if sheet.kinds is None else sheet.kinds.with_columns(pl.lit(TEXT, pl.UInt8).alias("material"))
    return replace(sheet, columns=(*sheet.columns, column), table=sheet.table.with_columns(family), kinds=kinds)


def _family_of_detail(text: str) -> str | None:
    """Return the family that a detail means, in the SKU's vocabulary; None where it means none, or two."""
    return code_of(text, "material") or (family_and_detail(text, "material") or (None,))[0]


def family_and_detail(text: str, vocabulary: str) -> tuple[str, str] | None:
    """Return the family and the detail of a material text; None where it is a family's word, or means none or two.

    `vocabulary` is `material` or `material_family`.
    """
    text = without_language(text).strip()
    if len(text) > LONGEST_VALUE:
        return None
    if code_of(text, vocabulary) is not None:
        return None
    if len(_SHARE.findall(text)) > 1:
        family = _only_family(
            [
                _family_by_ruleset(part) or code_of(_SHARE.sub("", part), vocabulary)
                for part in _SHARE_SEPARATOR.split(text)
            ]
        )
        return None if family is None else (family, text)
    if " " in (grade := words("material_column").get(fold(text), "")):
        named, detail = grade.split(" ", 1)
        return (named, detail) if named in VOCABULARIES[vocabulary] else None
    first, *rest = map(str.strip, _SEPARATOR.split(text))
    families = [code for part in (first, *rest) if (code := code_of(part, vocabulary)) is not None]
    if len(set(families)) > 1:
        return None
    if rest and families and code_of(first, vocabulary) is not None:
        whole = text[len(first) :].lstrip(" /-–—")
        return families[0], next((named for named in (whole, *rest) if _family_by_ruleset(named) is not None), whole)
    if families:
        return None
    virgin = " ".join(word for word in text.split() if code_of(word, "header_word") != "recycled")
    for detail in (text, virgin):
        if (family := _family_by_ruleset(detail)) in VOCABULARIES[vocabulary]:
            return str(family), detail
    family = _only_family([_family_by_ruleset(part) for part in (first, *rest)])
    return (family, text) if family in VOCABULARIES[vocabulary] else None


def _only_family(families: list[str | None]) -> str | None:
    """Return the family that all parts of a text mean: `PS - Polystyrène` names one material twice."""
    return families[0] if len(set(families)) == 1 else None


def _family_by_ruleset(text: str) -> str | None:
    """Return the family of the material that a text means by the rule-set's words; None where that is not a single one.

    A bare number means none: `1` may be the resin code of PET, and as well a number of the sender's own list.
    """
    if not any(map(str.isalpha, text)):
        return None
    rules = ruleset.load()
    code = resolve_material(text, rules)
    return rules.materials[code].family if code is not None and rules.materials[code].specified else None


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
        return replace(sheet, table=sheet.table.with_columns(family, sheet.table[own.name].fill_null(detail)))
    name = column.name.removesuffix(column.field.name) + _DETAIL[column.field.name]
    field = fields_of(column.table)[_DETAIL[column.field.name]]
    kinds = None if sheet.kinds is None else sheet.kinds.with_columns(pl.lit(TEXT, pl.UInt8).alias(name))
    table = sheet.table.with_columns(family, detail.alias(name))
    return replace(sheet, columns=(*sheet.columns, replace(column, name=name, field=field)), table=table, kinds=kinds)


def _is_detail_of(column: Column, material: Column) -> bool:
    return column.group == material.group and column.field.name == _DETAIL[material.field.name]
