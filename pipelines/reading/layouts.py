"""Splits a table that contains both SKUs and components, by its layout.

*Long*: a line for each component with its SKU repeated. Component columns identify it, or lines of one SKU with the
same or an empty name that differ in material, format or weight; in the second case those columns describe components
wherever a SKU has several lines. *Wide* and *materials*: components side by side in one line. Their columns stay so,
one group for each component (`groups.py` recognises them); `graphs.py` makes a component of each group of a line.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from pipelines.reading.fields import WEIGHT_HELPERS, Column, fields_of
from pipelines.reading.grid import LINES_OF_SHEET, LineFault, refuse
from pipelines.reading.groups import COMPONENT_FIELDS
from pipelines.reading.lines import MOST_LISTED, SAME_PART
from pipelines.reading.part_types import part_types
from pipelines.reading.sheet import Sheet
from pipelines.reading.unit_columns import choice_for, is_shared, unit_per_group, weights_of_shared_unit
from pipelines.reading.values import as_codes
from schemas.messages import Message
from schemas.words import code_of

_DISTINGUISHING: Final = ("material", "packaging_format", "weight_grams")
_TYPE: Final = "component_type"
_COMPONENT_HELPERS: Final = ("unit_count", "weight_share_percent")
"""Columns that describe parts: where no line is a part they mean something else."""


def split_layout(main: Sheet, parts: Sheet | None, layout: str | None) -> tuple[Sheet, Sheet | None, str]:
    """Return the SKUs, the components and the layout; a components sheet, or `rows`, leaves the main table unsplit."""
    grouped = [column for column in main.columns if column.group is not None]
    found = None if not grouped else "materials" if any(column.fixed for column in grouped) else "wide"
    if layout in ("wide", "materials") and layout != found:
        named = {"wide": Message("numbered groups of columns"), "materials": Message("weight columns of materials")}[
            layout
        ]
        raise refuse(
            "invalid_mapping",
            Message("The mapping's layout is {layout}, but no {columns} are recognised.", layout=layout, columns=named),
            "mapping",
        )
    if parts is not None and layout not in (None, "rows"):
        message = Message(
            "The mapping's layout is {told}, but the components stand in a sheet of their own; leave it out.",
            told=layout,
        )
        raise refuse("invalid_mapping", message, "mapping")
    stray = next((column.name for column in main.columns if column.table == "component" and column.mapped), None)
    if parts is not None and stray is not None:
        message = Message(
            "The mapping reads {name} beside the SKUs, but the components stand in a sheet of their own. Say it "
            "under components.",
            name=stray,
        )
        raise refuse("invalid_mapping", message, "mapping")
    if parts is not None or layout == "rows":
        without = main.without([column.name for column in main.columns if column.table == "component"])
        return _without_helpers(without), parts, "rows"
    if found is not None and layout != "long":
        return *_split_groups(main), found
    main, parts = _split_long(main)
    return (main, None, "rows") if parts is None else (*_without_repeats(main, parts), "long")


def _without_repeats(main: Sheet, parts: Sheet) -> tuple[Sheet, Sheet]:
    """Return both without lines that say a part once more on a further sheet; other values are a fault of its SKU.

    Sheets of months list a packaging with all its parts each; sheets of levels list other parts of it.
    """
    named = [name for name in ("sku_code", "component_type", "material_family") if name in parts.table.columns]
    if not main.sheets:
        return main, parts
    said = [name for name in parts.table.columns if name != "line"]
    lines = parts.table.with_row_index("at").with_columns(sheet=pl.col("line") // LINES_OF_SHEET)
    lines = lines.with_columns(
        earlier=pl.col("sheet") > pl.col("sheet").min().over(named),
        first=pl.col("line").min().over(named),
        same=~pl.struct(said).is_first_distinct(),
    )
    again = lines.filter(pl.col("earlier") & pl.col("sku_code").is_not_null())
    faults = [
        LineFault(line, "duplicate_row", _other_part(first), None, code)
        for line, first, code in again.filter(~pl.col("same")).select("line", "first", "sku_code").iter_rows()
    ]
    listed = [(line, SAME_PART) for line in again.filter("same")["line"]]
    skipped = tuple(sorted((*main.skipped, *listed)))[:MOST_LISTED]
    kept = sorted(set(range(lines.height)) - set(again["at"]))
    return replace(main, skipped=skipped), replace(parts.rows_at(kept), faults=(*parts.faults, *faults))


def _other_part(line: int) -> Message:
    return Message(
        "Line {line} has the same part with other values; name a part on one sheet, or with the same values on each.",
        line=line,
    )


def _split_long(sheet: Sheet) -> tuple[Sheet, Sheet | None]:
    """Return the SKUs and the components of one table; the components are None where it has one line per SKU.

    A SKU's own field is the first value that one of its lines gives; a line that gives another one is a fault. A line
    without code and name that gives a component belongs to the SKU above it: merged cells have their value once.
    """
    table = sheet.table.with_columns(as_codes(pl.col("sku_code")))
    parts = [column for column in sheet.columns if column.table == "component"]
    filled = replace(sheet, table=_fill_codes(table, _TYPE if parts else "material", keys=["sku_code", "name"]))
    helpers = [column for column in sheet.columns if column.field in WEIGHT_HELPERS]
    if not parts:
        repeated = _component_lines(filled.table, sheet.columns)
        return (_without_helpers(sheet), None) if repeated is None else _split_repeated(filled, repeated, helpers)
    sheet = filled
    moved = _as_component_columns(sheet.columns, parts)
    parts = [*parts, *moved.values()]
    of_lines = sheet.with_copies(moved.items())
    telling = [column.name for column in parts if column.constant is None] or [column.name for column in parts]
    there = of_lines.table.select(pl.any_horizontal(pl.col(telling).is_not_null())).to_series()
    helpers = _helpers_of_components(helpers, sheet.columns, parts)
    own = [c for c in sheet.columns if c.table == "sku" and c not in helpers and c.name not in moved]
    table = sheet.table.with_columns(grouped=pl.lit(value=True))
    if (unit := _unit_of_sku_weight(sheet.columns, own)) is not None:
        own = [*(column for column in own if column != unit), unit]
        table = table.with_columns(pl.when(pl.col("weight_grams").is_not_null()).then(pl.col(unit.name)))
    return _split(replace(sheet, table=table), own, of_lines.select([_key(own), *parts, *helpers], there))


def _split_repeated(sheet: Sheet, repeated: pl.Series, helpers: list[Column]) -> tuple[Sheet, Sheet]:
    """Return the same of a table without component columns, whose `repeated` lines are the components of their SKU."""
    named = {column.name: column for column in sheet.columns}
    moved = {old: _as_part(named[old], new) for old, new in COMPONENT_FIELDS.items() if old in named}
    of_lines = sheet.with_copies(moved.items())
    word = named.get("packaging_format")
    types = part_types(sheet.table["material" if word is None else word.name], sheet.part_words() if word else None)
    kind = _as_part(word or named["material"], _TYPE)
    of_lines = of_lines.with_cells(kind, types).select([_key(sheet.columns), kind, *moved.values(), *helpers], repeated)
    cleared = {*COMPONENT_FIELDS, *(column.name for column in helpers), *_formats_of_components(sheet.table, repeated)}
    cells = [pl.when(~repeated).then(pl.col(name)) for name in sorted(cleared & set(sheet.table.columns))]
    return _split(
        replace(sheet, table=sheet.table.with_columns(*cells, grouped=repeated)), list(sheet.columns), of_lines
    )


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


def _without_helpers(sheet: Sheet) -> Sheet:
    """Return the table without the columns that describe parts, unless the mapping says that they are of the SKU."""
    told = [c for c in sheet.columns if choice_for(c, sheet.mapped.quantity) is not None]
    return sheet.without([c.name for c in sheet.columns if c.name in _COMPONENT_HELPERS and c not in told])


def lines_are_parts(sheet: Sheet) -> bool:
    """Return whether a table has component columns, or lines of one SKU that are its components."""
    if any(column.table == "component" for column in sheet.columns):
        return True
    table = sheet.table.with_columns(pl.col("sku_code").str.strip_chars())
    return _component_lines(_fill_codes(table, "material", keys=["sku_code", "name"]), sheet.columns) is not None


def _split(sheet: Sheet, own: list[Column], lines: Sheet) -> tuple[Sheet, Sheet]:
    """Return the SKUs in the columns `own`, and the components of `lines`.

    Only lines that are `grouped` are one SKU with others of the same code.
    """
    names = [column.name for column in own if column.name != "sku_code"]
    table = _with_food_contact_of_sku(sheet.table)
    first = table.with_columns(
        pl.when("grouped").then(pl.col(name).drop_nulls().first().over("sku_code")).otherwise(pl.col(name)).alias(name)
        for name in names
    )
    code = pl.col("sku_code")
    of_sku = first.select(~pl.col("grouped") | code.is_null() | code.is_first_distinct()).to_series()
    main = replace(sheet, table=first).select(own, of_sku)
    return main, _of_parts(lines, faults=_conflicts(table, first, names))


def _split_groups(sheet: Sheet) -> tuple[Sheet, Sheet]:
    """Return the SKUs, and the components of each SKU's first line; a later line is refused as a repeat.

    Each group without a column of units has the sheet's one; the SKU's own weight keeps it too.
    """
    shared = next((column for column in sheet.columns if is_shared(column)), None)
    copies = unit_per_group(sheet.columns)
    if shared is not None:
        sheet = sheet.with_copies((shared.name, column) for column in copies)
    weighed = any(column.name == "weight_grams" for column in weights_of_shared_unit(sheet.columns))
    whole = not copies or weighed or (shared is not None and shared.constant is not None)
    own = [c for c in sheet.columns if c.group is None and (whole or not is_shared(c))]
    parts = [_key(sheet.columns), *(column for column in sheet.columns if column.group is not None)]
    codes = sheet.table["sku_code"].str.strip_chars()
    return sheet.select(own), _of_parts(sheet.select(parts, codes.is_not_null() & codes.is_first_distinct()))


def _key(columns: Sequence[Column]) -> Column:
    """Return the column of codes, of which the components have it too."""
    return next(column for column in columns if column.name == "sku_code")


def _of_parts(lines: Sheet, faults: tuple[LineFault, ...] = ()) -> Sheet:
    """Return lines as a table of components; what is said of the whole table is said of the SKUs."""
    columns = tuple(replace(column, table="component") for column in lines.columns)
    return replace(lines, columns=columns, ignored=(), skipped=(), questions=(), faults=faults)


def _with_food_contact_of_sku(table: pl.DataFrame) -> pl.DataFrame:
    """Clear the `no` of parts beside a part that touches food: a SKU touches food where one of its parts does."""
    if "food_contact" not in table.columns:
        return table
    cells = pl.col("food_contact")
    truths = {cell: code_of(cell, "truth") for cell in table["food_contact"].drop_nulls().unique()}
    table = table.with_columns(truth=cells.replace_strict(truths, default=None, return_dtype=pl.String))
    beside = pl.col("grouped") & (pl.col("truth") == "false") & (pl.col("truth") == "true").any().over("sku_code")
    return table.with_columns(food_contact=pl.when(~beside.fill_null(value=False)).then(cells)).drop("truth")


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
