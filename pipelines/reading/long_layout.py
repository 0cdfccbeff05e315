"""Splits the long layout, a table with a line for each component and its SKU repeated, into SKUs and components.

Component columns identify it, or lines of one SKU with the same or an empty name that differ in material, format
or weight. In the second case those columns describe components wherever a SKU has several lines.
"""

from dataclasses import replace
from typing import Final

import polars as pl

from pipelines.reading.fields import WEIGHT_HELPERS, Column, fields_of
from pipelines.reading.grid import LINES_OF_SHEET, TEXT, LineFault
from pipelines.reading.groups import COMPONENT_FIELDS
from pipelines.reading.part_types import part_types, typed_or_open
from pipelines.reading.sheet import Sheet
from pipelines.reading.unit_columns import is_named, is_shared, weights_of_shared_unit
from pipelines.reading.values import as_codes
from schemas.messages import Message
from schemas.words import code_of

_DISTINGUISHING: Final = ("material", "packaging_format", "weight_grams")
_TYPE: Final = "component_type"
_COMPONENT_HELPERS: Final = ("unit_count", "weight_share_percent")
"""Columns that describe parts: where no line is a part they mean something else."""


def split_long(sheet: Sheet) -> tuple[Sheet, Sheet | None]:
    """Return the SKUs and the components of one table; the components are None where it has one line per SKU.

    A SKU's own field is the first value that one of its lines gives; a line that gives another one is a fault. A line
    without code and name that gives a component belongs to the SKU above it: merged cells have their value once.
    """
    table = sheet.table.with_columns(as_codes(pl.col("sku_code"))).with_row_index("at")
    parts = [column for column in sheet.columns if column.table == "component"]
    table = _fill_codes(table, _TYPE if parts else "material", keys=["sku_code", "name"])
    helpers = [column for column in sheet.columns if column.field in WEIGHT_HELPERS]
    if parts:
        of_parts = _as_component_columns(sheet.columns, parts)
        parts = [*parts, *of_parts.values()]
        given = table.with_columns(pl.col(old).alias(column.name) for old, column in of_parts.items())
        distinguishing = [column for column in parts if column.constant is None] or parts
        given = given.filter(pl.any_horizontal(pl.col([column.name for column in distinguishing]).is_not_null()))
        helpers = _helpers_of_components(helpers, sheet.columns, parts)
        own = [c for c in sheet.columns if c.table == "sku" and c not in helpers and c.name not in of_parts]
        if (unit := _unit_of_sku_weight(sheet.columns, own)) is not None:
            own = [*(column for column in own if column != unit), unit]
            table = table.with_columns(pl.when(pl.col("weight_grams").is_not_null()).then(pl.col(unit.name)))
        everywhere = pl.repeat(value=True, n=table.height, eager=True)
        parts = [*parts, *(replace(column, table="component") for column in helpers)]
        return _split(sheet, table.with_columns(grouped=everywhere), own, parts, given)
    repeated = _component_lines(table, sheet.columns)
    if repeated is None:
        return _without_helpers(sheet), None
    parts = _component_columns(sheet.columns)
    given = table.filter(repeated).with_columns(
        pl.col(old).alias(new) for old, new in COMPONENT_FIELDS.items() if old in table
    )
    named = "packaging_format" in given.columns
    types = typed_or_open(given["packaging_format"], sheet.part_words()) if named else part_types(given["material"])
    given = given.with_columns(types.alias(_TYPE))
    moved = (*COMPONENT_FIELDS, *(column.name for column in helpers), *_formats_of_components(table, repeated))
    cleared = [pl.when(~repeated).then(pl.col(name)) for name in dict.fromkeys(moved) if name in table]
    return _split(sheet, table.with_columns(*cleared, grouped=repeated), list(sheet.columns), parts, given)


def _helpers_of_components(helpers: list[Column], columns: tuple[Column, ...], parts: list[Column]) -> list[Column]:
    """Return the helper columns of the parts' weights; the parts' own column of units wins over a shared one.

    Empty where the parts have no weights.
    """
    names = {column.field.name for column in parts}
    sharing = {column.field.name for column in weights_of_shared_unit([*columns, *parts])}
    return [
        column
        for column in helpers
        if "weight_g" in names and (not is_shared(column) or ("weight_unit" not in names and "weight_g" in sharing))
    ]


def _unit_of_sku_weight(columns: tuple[Column, ...], own: list[Column]) -> Column | None:
    """Return the column of units of the SKU's own weight; None where the SKU has no such weight."""
    unit = next((column for column in columns if column.table == "sku" and is_shared(column)), None)
    kept = any(column.name == "weight_grams" for column in own)
    sharing = any(column.name == "weight_grams" for column in weights_of_shared_unit(columns))
    return unit if kept and sharing else None


def with_codes_filled(parts: Sheet) -> Sheet:
    """Fill the code of the line above into lines of a components sheet that have a component and no code."""
    return replace(parts, table=_fill_codes(parts.table, _TYPE, keys=["sku_code"]))


def _fill_codes(table: pl.DataFrame, distinguishing: str, *, keys: list[str]) -> pl.DataFrame:
    """Fill in the code of the line above where a line has a component and none of the keys."""
    if distinguishing not in table.columns or not table["sku_code"].null_count():
        return table
    carried = pl.all_horizontal(pl.col(keys).is_null()) & pl.col(distinguishing).is_not_null()
    code = pl.col("sku_code")
    above = code.forward_fill().over(pl.col("line") // LINES_OF_SHEET)  # no line continues one of another sheet
    return table.with_columns(pl.when(carried).then(above).otherwise(code).alias("sku_code"))


def without_parts(sheet: Sheet) -> Sheet:
    """Return the table of SKUs alone; its component columns are listed as ignored."""
    names = [column.name for column in sheet.columns if column.table == "component"]
    return _without_helpers(sheet.without(names))


def _without_helpers(sheet: Sheet) -> Sheet:
    """Return the table without the columns that describe parts, unless the mapping says that they are of the SKU."""
    told = [c for c in sheet.columns if any(is_named(place, c) for place in sheet.mapped.quantity)]
    return sheet.without([c.name for c in sheet.columns if c.name in _COMPONENT_HELPERS and c not in told])


def lines_are_parts(sheet: Sheet) -> bool:
    """Return whether a table has component columns, or lines of one SKU that are its components."""
    if any(column.table == "component" for column in sheet.columns):
        return True
    table = sheet.table.with_columns(pl.col("sku_code").str.strip_chars())
    return _component_lines(_fill_codes(table, "material", keys=["sku_code", "name"]), sheet.columns) is not None


def _split(
    sheet: Sheet, table: pl.DataFrame, own: list[Column], parts: list[Column], given: pl.DataFrame
) -> tuple[Sheet, Sheet]:
    """Return the SKUs of `table` in the columns `own`, and the components of `given` in the columns `parts`.

    Only `grouped` lines are one SKU with others of the same code.
    """
    key = next(column for column in own if column.name == "sku_code")
    names = [column.name for column in own if column is not key]
    table = _with_food_contact_of_sku(table)
    first = table.with_columns(
        pl.when("grouped").then(pl.col(name).drop_nulls().first().over("sku_code")).otherwise(pl.col(name)).alias(name)
        for name in names
    )
    skus = first.filter(~pl.col("grouped") | pl.col("sku_code").is_null() | pl.col("sku_code").is_first_distinct())
    main = replace(
        sheet,
        columns=tuple(own),
        table=skus.select("sku_code", *names, "line"),
        kinds=_cell_kinds(sheet, own, skus["at"]),
        marks={name: mark for name, mark in sheet.marks.items() if name in {"sku_code", *names}},
    )
    key = replace(key, table="component")
    marks = {
        column.name: sheet.marks[old]
        for column in parts
        for old in (_name_in_sheet(column, sheet),)
        if old in sheet.marks
    }
    graph = replace(
        sheet,
        columns=(key, *parts),
        ignored=(),
        table=given.select("sku_code", *(c.name for c in parts), "line"),
        kinds=_cell_kinds(sheet, [key, *parts], given["at"]),
        marks=marks,
        skipped=(),
        questions=(),
        faults=_conflicts(table, first, names),
    )
    return main, graph


def _with_food_contact_of_sku(table: pl.DataFrame) -> pl.DataFrame:
    """Clear the `no` of parts beside a part that touches food: a SKU touches food where one of its parts does."""
    if "food_contact" not in table.columns:
        return table
    cells = pl.col("food_contact")
    truths = {cell: code_of(cell, "truth") for cell in table["food_contact"].drop_nulls().unique()}
    table = table.with_columns(truth=cells.replace_strict(truths, default=None, return_dtype=pl.String))
    beside = pl.col("grouped") & (pl.col("truth") == "false") & (pl.col("truth") == "true").any().over("sku_code")
    return table.with_columns(food_contact=pl.when(~beside.fill_null(value=False)).then(cells)).drop("truth")


def _name_in_sheet(column: Column, sheet: Sheet) -> str:
    """Return the name of a column in the sheet."""
    return next(own.name for own in sheet.columns if own.position == column.position)


def _cell_kinds(sheet: Sheet, columns: list[Column], at: pl.Series) -> pl.DataFrame | None:
    """Return the cell kinds of some columns and rows; a derived column is text."""
    if sheet.kinds is None:
        return None
    kinds = {column.name: sheet.kinds[_name_in_sheet(column, sheet)].gather(at) for column in columns}
    if _TYPE in kinds and _TYPE not in sheet.kinds.columns:
        kinds[_TYPE] = pl.repeat(TEXT, len(at), dtype=pl.UInt8, eager=True)
    return pl.DataFrame(kinds)


def _conflicts(given: pl.DataFrame, first: pl.DataFrame, names: list[str]) -> tuple[LineFault, ...]:
    """Return the faults of lines whose SKU fields differ from those of an earlier line of the SKU."""
    faults = []
    for name in names:
        differs = (given[name].is_not_null() & (given[name] != first[name])).fill_null(value=False)
        both = given.select("line", "sku_code", name).with_columns(before=first[name]).filter(differs)
        for line, code, value, before in both.iter_rows():
            message = Message(
                "An earlier line of this SKU gives {name} as “{before}”; give it once, or the same.",
                name=name,
                before=before[:200],
            )
            faults.append(LineFault(line, "duplicate_sku_code", message, value, code))
    return tuple(faults)


def _component_lines(table: pl.DataFrame, columns: tuple[Column, ...]) -> pl.Series | None:
    """Return the lines of SKUs whose lines are their components; None where there is no such SKU."""
    names = {column.name for column in columns}
    distinguishing = [name for name in _DISTINGUISHING if name in names]
    if "material" not in names:
        return None
    code, sheet = pl.col("sku_code"), pl.col("line") // LINES_OF_SHEET
    one_name = pl.col("name").str.strip_chars().drop_nulls().n_unique().over(code) <= 1
    differ = pl.struct(distinguishing).n_unique().over(code, sheet) > 1
    lines = table.select((code.is_not_null() & one_name & differ).fill_null(value=False)).to_series()
    return lines if lines.any() else None


def _as_component_columns(columns: tuple[Column, ...], parts: list[Column]) -> dict[str, Column]:
    """Return the SKU's columns that describe the parts, by name, where no column gives the material of a part.

    A part needs a material: beside `Élément`, `Matériau` is the part's, and so is `Poids (g)`.
    """
    named, of_parts = {column.name: column for column in columns}, {column.name for column in parts}
    if "material" not in named or of_parts & {"material_family", "component_id"}:
        return {}
    return {
        old: _as_part(named[old], new) for old, new in COMPONENT_FIELDS.items() if old in named and new not in of_parts
    }


def _as_part(column: Column, name: str) -> Column:
    """Return a SKU's column as the one of a part's field."""
    return replace(column, name=name, field=fields_of("component")[name], table="component", exact=False)


def _formats_of_components(table: pl.DataFrame, repeated: pl.Series) -> list[str]:
    """Return `packaging_format` where it names each part, and not the packaging that they make together."""
    if "packaging_format" not in table.columns:
        return []
    formats = table.filter(repeated).select(pl.col("packaging_format").n_unique().over("sku_code")).to_series()
    return ["packaging_format"] if (formats > 1).any() else []


def _component_columns(columns: tuple[Column, ...]) -> list[Column]:
    """Return the component columns that the SKU columns make."""
    named = {column.name: column for column in columns}
    kept = [_as_part(named[old], new) for old, new in COMPONENT_FIELDS.items() if old in named]
    kept += [replace(column, table="component") for column in columns if column.field in WEIGHT_HELPERS]
    return [_as_part(named.get("packaging_format", named["material"]), _TYPE), *kept]
