"""The long layout: one table with a line for each component and its SKU repeated, split into SKUs and components.

It is known by component columns, or by lines of one SKU with the same or an empty name that differ in material,
format or weight. In the second case those columns speak of components wherever a SKU has several lines.
"""

from dataclasses import replace
from typing import Final

import polars as pl

from pipelines.steps.reading.columns import Column, fields_of
from pipelines.steps.reading.grid import TEXT, LineFault
from pipelines.steps.reading.sheet import Sheet
from schemas.words import code_of

_MOVED: Final = {
    "material": "material_family",
    "material_subtype": "polymer_or_grade",
    "weight_grams": "weight_g",
    "recycled_content_percent": "recycled_content_percent",
}
"""SKU column -> component column, where the lines of a SKU are its components."""
_TELLING: Final = ("material", "packaging_format", "weight_grams")
_TYPE: Final = "component_type"


def split_long(sheet: Sheet) -> tuple[Sheet, Sheet | None]:
    """The SKUs and the components of one table; the components are None where it has one line per SKU.

    A SKU's own field is the first value that one of its lines gives; a line that gives another one is a fault.
    """
    table = sheet.table.with_columns(pl.col("sku_code").str.strip_chars()).with_row_index("at")
    parts = [column for column in sheet.columns if column.table == "component"]
    if parts:
        given = table.filter(pl.any_horizontal(pl.col([column.name for column in parts]).is_not_null()))
        own = [column for column in sheet.columns if column.table == "sku"]
        everywhere = pl.repeat(value=True, n=table.height, eager=True)
        return _split(sheet, table.with_columns(grouped=everywhere), own, parts, given)
    repeated = _repeated(table, sheet.columns)
    if repeated is None:
        return sheet, None
    parts = _moved(sheet.columns)
    given = table.filter(repeated).with_columns(pl.col(old).alias(new) for old, new in _MOVED.items() if old in table)
    given = given.with_columns(_component_types(given))
    cleared = [
        pl.when(~repeated).then(pl.col(name)) for name in (*_MOVED, *_differing(table, repeated)) if name in table
    ]
    return _split(sheet, table.with_columns(*cleared, grouped=repeated), list(sheet.columns), parts, given)


def without_parts(sheet: Sheet) -> Sheet:
    """The table of SKUs alone: its component columns are ignored, because the components stand elsewhere."""
    own = tuple(column for column in sheet.columns if column.table == "sku")
    stray = [(column.position, column.header) for column in sheet.columns if column.table == "component"]
    return replace(sheet, columns=own, ignored=tuple(sorted((*sheet.ignored, *stray))))


def _split(
    sheet: Sheet, table: pl.DataFrame, own: list[Column], parts: list[Column], given: pl.DataFrame
) -> tuple[Sheet, Sheet]:
    """The SKUs of `table` in the columns `own`, and the components of `given` in the columns `parts`.

    Only lines that are `grouped` are one SKU with others of the same code.
    """
    key = next(column for column in own if column.name == "sku_code")
    names = [column.name for column in own if column is not key]
    first = table.with_columns(
        pl.when("grouped").then(pl.col(name).drop_nulls().first().over("sku_code")).otherwise(pl.col(name)).alias(name)
        for name in names
    )
    skus = first.filter(~pl.col("grouped") | pl.col("sku_code").is_null() | pl.col("sku_code").is_first_distinct())
    main = replace(
        sheet, columns=tuple(own), table=skus.select("sku_code", *names, "line"),
        kinds=_kinds(sheet, own, skus["at"]),
        marks={name: mark for name, mark in sheet.marks.items() if name in {"sku_code", *names}},
    )  # fmt: skip
    key = replace(key, table="component")
    marks = {
        column.name: sheet.marks[old] for column in parts for old in (_origin(column, sheet),) if old in sheet.marks
    }
    graph = replace(
        sheet, columns=(key, *parts), ignored=(), table=given.select("sku_code", *(c.name for c in parts), "line"),
        kinds=_kinds(sheet, [key, *parts], given["at"]), marks=marks, skipped=(),
        faults=_conflicts(table, first, names),
    )  # fmt: skip
    return main, graph


def _origin(column: Column, sheet: Sheet) -> str:
    """The name under which the sheet holds a column."""
    return next(own.name for own in sheet.columns if own.position == column.position)


def _kinds(sheet: Sheet, columns: list[Column], at: pl.Series) -> pl.DataFrame | None:
    """The kinds of the cells of some columns and rows; a derived column is text."""
    if sheet.kinds is None:
        return None
    kinds = {column.name: sheet.kinds[_origin(column, sheet)].gather(at) for column in columns}
    if _TYPE in kinds and _TYPE not in sheet.kinds.columns:
        kinds[_TYPE] = pl.repeat(TEXT, len(at), dtype=pl.UInt8, eager=True)
    return pl.DataFrame(kinds)


def _conflicts(given: pl.DataFrame, first: pl.DataFrame, names: list[str]) -> tuple[LineFault, ...]:
    """Lines whose own SKU fields differ from what an earlier line of the SKU says."""
    faults = []
    for name in names:
        differs = (given[name].is_not_null() & (given[name] != first[name])).fill_null(value=False)
        both = given.select("line", "sku_code", name).with_columns(before=first[name]).filter(differs)
        for line, code, value, before in both.iter_rows():
            message = f"An earlier line of this SKU gives {name} as “{before[:200]}”; give it once, or the same."
            faults.append(LineFault(line, "duplicate_sku_code", message, value, code))
    return tuple(faults)


def _repeated(table: pl.DataFrame, columns: tuple[Column, ...]) -> pl.Series | None:
    """The lines of SKUs whose lines are their components; None where there is no such SKU."""
    names = {column.name for column in columns}
    telling = [name for name in _TELLING if name in names]
    if "material" not in names:
        return None
    code = pl.col("sku_code")
    one_name = pl.col("name").str.strip_chars().drop_nulls().n_unique().over(code) <= 1
    differ = pl.struct(telling).n_unique().over(code) > 1
    lines = table.select((code.is_not_null() & one_name & differ).fill_null(value=False)).to_series()
    return lines if lines.any() else None


def _differing(table: pl.DataFrame, repeated: pl.Series) -> list[str]:
    """`packaging_format` where it says what each part is, and not what all of them make."""
    if "packaging_format" not in table.columns:
        return []
    formats = table.filter(repeated).select(pl.col("packaging_format").n_unique().over("sku_code")).to_series()
    return ["packaging_format"] if (formats > 1).any() else []


def _moved(columns: tuple[Column, ...]) -> list[Column]:
    """The component columns that the SKU columns make."""
    fields = fields_of("component")
    named = {column.name: column for column in columns}
    format_or_material = named.get("packaging_format", named["material"])
    kept = [
        replace(named[old], name=new, field=fields[new], table="component", exact=False)
        for old, new in _MOVED.items()
        if old in named
    ]
    return [replace(format_or_material, name=_TYPE, field=fields[_TYPE], table="component", exact=False), *kept]


def _component_types(given: pl.DataFrame) -> pl.Series:
    """The type that a line's format names, else `body`: a line that is a component is one of some kind."""
    formats = given["packaging_format"] if "packaging_format" in given.columns else given["material"]
    types = [_component_type(text) for text in formats]
    return pl.Series(_TYPE, types, dtype=pl.String)


def _component_type(text: str | None) -> str:
    words = [] if text is None else [text, *text.split("/")]
    return next((code for word in words if (code := code_of(word, _TYPE)) is not None), "body")
