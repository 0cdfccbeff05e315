"""Splits a table that contains both SKUs and components, by its layout, and its cells that say several things.

*Long*: a line for each component with its SKU repeated. Component columns identify it, or lines of one SKU with the
same or an empty name that differ in material, format or weight; in the second case those columns describe components
wherever a SKU has several lines. *Wide* and *materials*: components side by side in one line. Their columns stay so,
one group for each component (`columns.py` recognises them); `rows.py` makes a component of each group of a line.

A material's cell that says more than a family (`Plastiques / PEBD - Polyethylène`, `Weißblech`) is split, and a graph
with a part whose word says no type is held back and asked about (decisions §13).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from compliance import ruleset
from compliance.words import resolve_format
from pipelines.reading.by_cells import OF_PART, SUM
from pipelines.reading.columns import ROUNDED_SHARE, SHARE_OF_WEIGHT, recognise
from pipelines.reading.grid import (
    CLEARED,
    FIELDS_OF_PART,
    LINES_OF_SHEET,
    SUPPLIER,
    VOLUME,
    VOLUME_HALF,
    VOLUME_YEAR,
    WEIGHT_HELPERS,
    WEIGHTS,
    Column,
    LineFault,
    fields_of,
    invalid_mapping,
    letter,
)
from pipelines.reading.lines import MOST_LISTED, SAME_PART
from pipelines.reading.questions import question
from pipelines.reading.sheet import Sheet
from pipelines.reading.units import choice_for, is_shared, unit_per_group, weights_of_shared_unit
from pipelines.reading.values import as_codes, unescaped
from pipelines.reading.words import (
    facts_of_text,
    family_of_detail,
    names_part,
    part_type,
    part_types,
    parts_named,
    read_material,
)
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import quote
from schemas.vocabularies import VOCABULARIES
from schemas.words import code_of, fold

_DISTINGUISHING: Final = ("material", "packaging_format", "weight_grams")
_TYPE: Final = "component_type"
_COMPONENT_HELPERS: Final = ("unit_count", SHARE_OF_WEIGHT)
"""Columns that describe parts: where no line is a part they mean something else."""


def split_layout(main: Sheet, parts: Sheet | None, layout: str | None) -> tuple[Sheet, Sheet | None, str]:
    """Return the SKUs, the components and the layout; a components sheet, or `rows`, leaves the main table unsplit."""
    grouped = [column for column in main.columns if column.group is not None]
    of_materials = any("material_family" in dict(column.fixed) for column in grouped)
    form = None if not grouped else "materials" if of_materials else "wide"
    wrong: Message | None = None
    if layout in ("wide", "materials") and layout != form:
        groups = Message("numbered groups of columns") if layout == "wide" else Message("weight columns of materials")
        wrong = Message(
            "The mapping's layout is {layout}, but no {columns} are recognised.", layout=layout, columns=groups
        )
    elif parts is not None and layout not in (None, "rows"):
        wrong = Message(
            "The mapping's layout is {told}, but the components stand in a sheet of their own; leave it out.",
            told=layout,
        )
    elif parts is not None and (stray := [c.name for c in main.columns if c.table == "component" and c.mapped]):
        wrong = Message(
            "The mapping reads {name} beside the SKUs, but the components stand in a sheet of their own. Say it "
            "under components.",
            name=stray[0],
        )
    if wrong is not None:
        raise invalid_mapping(wrong)
    if parts is not None or layout == "rows":
        without = main.without([column.name for column in main.columns if column.table == "component"])
        return _without_helpers(without), parts, "rows"
    if form is not None and layout != "long":
        return *_split_groups(main), form
    main, parts = _split_long(main)
    return (main, None, "rows") if parts is None else (*_without_repeats(main, parts), "long")


def _without_repeats(main: Sheet, parts: Sheet) -> tuple[Sheet, Sheet]:
    """Return both without lines that say a part once more on a further sheet; other values are a fault of its SKU.

    Sheets of months list a packaging with all its parts each; sheets of levels list other parts of it.
    """
    keys = [name for name in ("sku_code", _TYPE, "material_family") if name in parts.table.columns]
    if not main.sheets:
        return main, parts
    said = [name for name in parts.table.columns if name != "line"]
    lines = parts.table.with_row_index("at").with_columns(sheet=pl.col("line") // LINES_OF_SHEET)
    lines = lines.with_columns(
        earlier=pl.col("sheet") > pl.col("sheet").min().over(keys),
        first=pl.col("line").min().over(keys),
        same=~pl.struct(said).is_first_distinct(),
    )
    again = lines.filter(pl.col("earlier") & pl.col("sku_code").is_not_null())
    faults = []
    for line, first, code in again.filter(~pl.col("same")).select("line", "first", "sku_code").iter_rows():
        message = Message(
            "Line {line} has the same part with other values; name a part on one sheet, or with the same values on "
            "each.",
            line=first,
        )
        faults.append(LineFault(line, "duplicate_row", message, None, code))
    listed = [(line, SAME_PART) for line in again.filter("same")["line"]]
    skipped = tuple(sorted((*main.skipped, *listed)))[:MOST_LISTED]
    kept = sorted(set(range(lines.height)) - set(again["at"]))
    return replace(main, skipped=skipped), replace(parts.rows_at(kept), faults=(*parts.faults, *faults))


def _split_long(sheet: Sheet) -> tuple[Sheet, Sheet | None]:
    """Return the SKUs and the components of one table; the components are None where it has one line per SKU.

    A SKU's own field is the first value that one of its lines gives; a line that gives another one is a fault. A line
    without code and name that gives a component belongs to the SKU above it: merged cells have their value once.
    """
    table = sheet.table.with_columns(as_codes(pl.col("sku_code")))
    parts = [column for column in sheet.columns if column.table == "component"]
    filled = replace(sheet, table=_fill_codes(table, _TYPE if parts else "material", keys=_KEYS))
    helpers = [column for column in sheet.columns if column.field in WEIGHT_HELPERS or _is_of_parts(column)]
    if not parts:
        repeated = _component_lines(filled.table, sheet.columns)
        return (_without_helpers(sheet), None) if repeated is None else _split_repeated(filled, repeated, helpers)
    sheet = filled
    by_name, of_parts = {column.name: column for column in sheet.columns}, {column.name for column in parts}
    fields = {old: new for old, new in FIELDS_OF_PART.items() if old in by_name and new not in of_parts}
    if "material" not in by_name or of_parts & {"material_family", "component_id"}:
        fields = {old: new for old, new in fields.items() if _differs_within_skus(sheet, by_name[old])}
    # A part needs a material: beside `Élément`, `Matériau` is the part's, and so is `Poids (g)`.
    moved = {old: _as_part(by_name[old], new) for old, new in fields.items()}
    if (metals := by_name.get(SUM)) is not None and OF_PART not in of_parts and _differs_within_skus(sheet, metals):
        moved[SUM] = replace(metals, name=OF_PART, table="component")
    parts = [*parts, *moved.values()]
    of_lines = sheet.with_copies(moved.items())
    telling = [column.name for column in parts if column.constant is None] or [column.name for column in parts]
    there = of_lines.table.select(pl.any_horizontal(pl.col(telling).is_not_null())).to_series()
    # The parts' own column of units wins over a shared one.
    names = {column.field.name for column in parts}
    shared = "weight_unit" not in names and any(
        c.field.name == "weight_g" for c in weights_of_shared_unit([*sheet.columns, *parts])
    )
    helpers = [c for c in helpers if _is_of_parts(c) or ("weight_g" in names and (not is_shared(c) or shared))]
    own = [c for c in sheet.columns if c.table == "sku" and c not in helpers and c.name not in moved]
    table = sheet.table.with_columns(grouped=pl.lit(value=True))
    unit = next((column for column in sheet.columns if column.table == "sku" and is_shared(column)), None)
    weighs = any(c.name == "weight_grams" for c in own) and any(
        c.name == "weight_grams" for c in weights_of_shared_unit(sheet.columns)
    )
    if unit is not None and weighs:  # of the SKU's own weight
        own = [*(column for column in own if column != unit), unit]
        table = table.with_columns(pl.when(pl.col("weight_grams").is_not_null()).then(pl.col(unit.name)))
    return _split(replace(sheet, table=table), own, of_lines.select([_key(own), *parts, *helpers], there))


def _differs_within_skus(sheet: Sheet, column: Column) -> bool:
    """Return whether the lines of one SKU, which are its parts, give a field different values: it is the parts'."""
    if column.constant is not None or column.mapped:
        return False
    given = sheet.table.select("sku_code", column.name).drop_nulls()
    return given.n_unique() > given["sku_code"].n_unique()


def _split_repeated(sheet: Sheet, repeated: pl.Series, helpers: list[Column]) -> tuple[Sheet, Sheet]:
    """Return the same of a table without component columns, whose `repeated` lines are the components of their SKU.

    A format names each part where a SKU has several, and else the packaging that they make together.
    """
    by_name = {column.name: column for column in sheet.columns}
    moved = {old: _as_part(by_name[old], new) for old, new in FIELDS_OF_PART.items() if old in by_name}
    word = by_name.get("packaging_format")
    sheet = sheet if word is not None else _with_type_asked(sheet, repeated)
    of_lines = sheet.with_copies(moved.items())
    types = part_types(sheet.table["material" if word is None else word.name], sheet.part_words() if word else None)
    kind = _as_part(word or by_name["material"], _TYPE)
    of_lines = of_lines.with_cells(kind, types).select([_key(sheet.columns), kind, *moved.values(), *helpers], repeated)
    cleared = {*FIELDS_OF_PART, *(column.name for column in helpers)}
    if word is not None:
        formats = sheet.table.filter(repeated).select(pl.col(word.name).n_unique().over("sku_code")).to_series()
        cleared |= {word.name} if (formats > 1).any() else set()
    asked = any(about["kind"] == "quantity" for about in sheet.questions)
    of_open = sheet.table["line"].is_in(list(sheet.held)) & asked  # weights whose quantity is open
    cells = [
        pl.when(~(repeated | of_open) if name == "weight_grams" else ~repeated).then(pl.col(name))
        for name in sorted(cleared & set(sheet.table.columns))
    ]
    table = sheet.table.with_columns(*cells, grouped=repeated)
    return _split(replace(sheet, table=table), [c for c in sheet.columns if not _is_of_parts(c)], of_lines)


def _with_type_asked(sheet: Sheet, repeated: pl.Series) -> Sheet:
    """Return a sheet whose lines are parts with a question where a column that is not read names them.

    Without it each part would be the body: its graph waits for the answer.
    """
    for at, header in sheet.ignored:
        if not _may_name_parts(header, at, sheet.samples.get(at, ())):
            continue
        message = Message(
            "{header} may say which part of the packaging each line is; without it the components of its items are "
            "not read. If it does, say so: mapping={mapping}.",
            header=quote(header),
            mapping={"columns": {_TYPE: letter(at)}},
        )
        column = Column(_TYPE, fields_of("component")[_TYPE], "component", at, header)
        return replace(
            sheet,
            questions=(*sheet.questions, sheet.ask("column", column, message, could_be=[_TYPE])),
            held=(*sheet.held, *sheet.table["line"].filter(repeated)),
            ignored=tuple(entry for entry in sheet.ignored if entry[0] != at),
        )
    return sheet


def _may_name_parts(header: str, at: int, texts: Sequence[str]) -> bool:
    """Return whether a column names the parts of its lines: by a word for one, or by its header over unknown words."""
    if any(part_type(text) not in (None, "body") for text in texts):
        return True
    column = recognise(header, at, "sku")
    of_parts = column is not None and column.field.name == _TYPE
    return of_parts and bool(texts) and not any(char.isdigit() for text in texts for char in text)


_OF_UNITS: Final = ("markets", VOLUME_YEAR.name, VOLUME_HALF.name)


def split_units(sheet: Sheet) -> tuple[Sheet, Sheet | None]:
    """Return the SKUs, and their units where each line names the market of its own; None where no line does.

    A line without code and name belongs to the SKU above it. Units are not read while their markets are asked about.
    """
    units = [column for column in sheet.columns if column.field == VOLUME and column.market is None]
    if not units:
        return sheet, None
    table = sheet.table.with_columns(as_codes(pl.col("sku_code")))
    table = _fill_codes(table, units[0].name, keys=_KEYS).with_columns(grouped=pl.col("sku_code").is_not_null())
    of_units = [column for column in sheet.columns if column in units or column.name in _OF_UNITS]
    own = [column for column in sheet.columns if column not in of_units]
    whole = replace(sheet, table=table)
    lines = whole.select([_key(own), *of_units], table["grouped"])
    if not any(column.name == "markets" for column in of_units):
        return _split(whole.without([column.name for column in of_units]), own, lines)[0], None
    skus, with_faults = _split(whole, own, lines)
    return skus, replace(with_faults, columns=lines.columns)


def with_codes_filled(parts: Sheet) -> Sheet:
    """Fill the code of the line above into lines of a components sheet that have a component and no code."""
    return replace(parts, table=_fill_codes(parts.table, _TYPE, keys=_KEYS[:1]))


_KEYS: Final = ("sku_code", "name")


def _fill_codes(table: pl.DataFrame, distinguishing: str, *, keys: Sequence[str]) -> pl.DataFrame:
    """Fill in the code of the line above where a line has a component and none of the keys that the table has."""
    if distinguishing not in table.columns or not table["sku_code"].null_count():
        return table
    unkeyed = pl.all_horizontal(pl.col(name).is_null() for name in keys if name in table.columns)
    carried = unkeyed & pl.col(distinguishing).is_not_null()
    code = pl.col("sku_code")
    above = code.forward_fill().over(pl.col("line") // LINES_OF_SHEET)  # no line continues one of another sheet
    return table.with_columns(pl.when(carried).then(above).otherwise(code).alias("sku_code"))


def _without_helpers(sheet: Sheet) -> Sheet:
    """Return the table without the columns that describe parts, unless the mapping says that they are of the SKU.

    Refuse a mapping that gives a supplier to rows without parts.
    """
    told = [c for c in sheet.columns if choice_for(c, sheet.mapped.quantity) is not None]
    suppliers = {letter(column.position): column for column in sheet.columns if _is_of_parts(column)}
    if any(column.mapped for column in suppliers.values()):
        raise invalid_mapping(
            Message("A supplier is of parts, and no row of this table has one; leave supplier_id out.")
        )
    open_questions = tuple(about for about in sheet.questions if about["column"] not in suppliers)
    unwanted = [c.name for c in sheet.columns if (c.name in _COMPONENT_HELPERS and c not in told) or _is_of_parts(c)]
    return replace(sheet, questions=open_questions).without(unwanted)


def _is_of_parts(column: Column) -> bool:
    """Return whether a column of the SKUs names the supplier of the parts of each row."""
    return column.table == "sku" and column.field == SUPPLIER


def lines_are_parts(sheet: Sheet) -> bool:
    """Return whether a table has component columns, or lines of one SKU that are its components.

    Shares of materials are no components: a product has them too.
    """
    if any(column.table == "component" and column.field.name != SHARE_OF_WEIGHT for column in sheet.columns):
        return True
    table = sheet.table.with_columns(pl.col("sku_code").str.strip_chars())
    return _component_lines(_fill_codes(table, "material", keys=_KEYS), sheet.columns) is not None


def _split(sheet: Sheet, own: list[Column], lines: Sheet) -> tuple[Sheet, Sheet]:
    """Return the SKUs in the columns `own`, and the components of `lines`.

    Only lines that are `grouped` are one SKU with others of the same code; of those a value that differs from that of
    an earlier line is a fault. A SKU touches food where one of its parts does, so that beside it a `no` is cleared.
    """
    names = [column.name for column in own if column.name != "sku_code"]
    table = sheet.table
    if "food_contact" in table.columns:
        cells = pl.col("food_contact")
        truths = {cell: code_of(cell, "truth") for cell in table["food_contact"].drop_nulls().unique()}
        table = table.with_columns(truth=cells.replace_strict(truths, default=None, return_dtype=pl.String))
        beside = pl.col("grouped") & (pl.col("truth") == "false") & (pl.col("truth") == "true").any().over("sku_code")
        table = table.with_columns(food_contact=pl.when(~beside.fill_null(value=False)).then(cells)).drop("truth")
    first = table.with_columns(
        pl.when("grouped").then(pl.col(name).drop_nulls().first().over("sku_code")).otherwise(pl.col(name)).alias(name)
        for name in names
    )
    faults = []
    for name in names:
        differs = (table[name].is_not_null() & (table[name] != first[name])).fill_null(value=False)
        both = table.select("line", "sku_code", name).with_columns(before=first[name]).filter(differs)
        for line, code, value, before in both.iter_rows():
            faults.append(LineFault(line, "duplicate_sku_code", _given_before(name, before[:200]), value, code))
    code = pl.col("sku_code")
    of_sku = first.select(~pl.col("grouped") | code.is_null() | code.is_first_distinct()).to_series()
    return replace(sheet, table=first).select(own, of_sku), _of_parts(lines, faults=tuple(faults))


def _split_groups(sheet: Sheet) -> tuple[Sheet, Sheet]:
    """Return the SKUs, and the components of each SKU's first line; a later line is refused as a repeat.

    Each group without a column of units has the sheet's one; the SKU's own weight keeps it too.
    """
    sheet, faults = _with_weights_of_shares(sheet)
    shared = next((column for column in sheet.columns if is_shared(column)), None)
    copies = unit_per_group(sheet.columns)
    if shared is not None:
        sheet = sheet.with_copies((shared.name, column) for column in copies)
    weighed = any(column.name == "weight_grams" for column in weights_of_shared_unit(sheet.columns))
    whole = not copies or weighed or (shared is not None and shared.constant is not None)
    own = [c for c in sheet.columns if c.group is None and (whole or not is_shared(c)) and not _is_of_parts(c)]
    suppliers = [column for column in sheet.columns if _is_of_parts(column)]
    parts = [_key(sheet.columns), *(c for c in sheet.columns if c.group is not None), *suppliers]
    codes = sheet.table["sku_code"].str.strip_chars()
    lines = sheet.select(parts, codes.is_not_null() & codes.is_first_distinct())
    return sheet.select(own), _of_parts(lines, faults)


def _with_weights_of_shares(sheet: Sheet) -> tuple[Sheet, tuple[LineFault, ...]]:
    """Give parts that have shares the weight of their SKU, of which `complete_weights` takes the share; or no shares.

    `Material 1 | Anteil 1 (%)` beside a weight of the packaging. Where a part has a weight of its own, or the SKU none,
    a share weighs nothing and is ignored. The shares of a line must be of all its parts and 100 % together.
    """
    shares = {c.group: c for c in sheet.columns if c.group is not None and c.field.name == SHARE_OF_WEIGHT}
    total = next((c for c in sheet.columns if c.group is None and c.name == "weight_grams"), None)
    if not shares or any(column.position in sheet.in_question for column in shares.values()):
        return sheet, ()
    if total is None or any(c.group is not None and c.field.name in WEIGHTS for c in sheet.columns):
        return sheet.without([column.name for column in shares.values()]), ()
    field = fields_of("component")["weight_g"]
    of_parts = {
        share.name: replace(
            total,
            name=f"component_{group}_weight_g",
            field=field,
            table="component",
            group=group,
            exact=False,
            fixed=share.fixed,
        )
        for group, share in shares.items()
    }
    sheet = sheet.with_copies((total.name, weight) for weight in of_parts.values())
    given = pl.DataFrame([sheet.read(share).alias(share.name) for share in shares.values()])
    cells = [pl.when(given[name].is_not_null()).then(pl.col(of.name)) for name, of in of_parts.items()]
    sums, counts = given.sum_horizontal(), given.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()
    there = [  # parts that a line has, those without a share too
        sheet.table.select(pl.any_horizontal(pl.col(names).is_not_null())).to_series()
        for group in {c.group for c in sheet.columns if c.group is not None}
        if (names := [c.name for c in sheet.columns if c.group == group and c.field.name == "material_family"])
    ]
    there += [given[share.name].is_not_null() for share in shares.values() if share.fixed]
    parts = pl.DataFrame([part.alias(str(at)) for at, part in enumerate(there)]).sum_horizontal()
    wrong = (counts > 0) & (((sums - 100).abs() > counts * ROUNDED_SHARE) | (counts != parts))
    message = Message("The shares of the parts must be 100 % together, each part with its own; correct them.")
    faults = tuple(
        LineFault(line, "out_of_range", message, f"{given_sum:g} %", code)
        for line, code, given_sum in sheet.table.select("line", "sku_code", sum=sums).filter(wrong).iter_rows()
    )
    return replace(sheet, table=sheet.table.with_columns(cells)), faults


def _key(columns: Sequence[Column]) -> Column:
    """Return the column of codes, of which the components have it too."""
    return next(column for column in columns if column.name == "sku_code")


def _given_before(name: str, before: str) -> Message:
    if name == "packaging_level":
        return Message(
            "An earlier line of this SKU gives {name} as “{before}”; packaging of another level is a SKU of its own: "
            "give it another code.",
            name=name,
            before=before,
        )
    return Message(
        "An earlier line of this SKU gives {name} as “{before}”; give it once, or the same.", name=name, before=before
    )


def _of_parts(lines: Sheet, faults: tuple[LineFault, ...] = ()) -> Sheet:
    """Return lines as a table of components; what is said of the whole table is said of the SKUs."""
    columns = tuple(replace(column, table="component") for column in lines.columns)
    return replace(lines, columns=columns, ignored=(), skipped=(), questions=(), faults=faults)


def _component_lines(table: pl.DataFrame, columns: tuple[Column, ...]) -> pl.Series | None:
    """Return the lines of SKUs whose lines are their components; None where there is no such SKU."""
    names = {column.name for column in columns}
    distinguishing = [name for name in _DISTINGUISHING if name in names]
    if "material" not in names or table["sku_code"].n_unique() == table.height:
        return None
    code, sheet = pl.col("sku_code"), pl.col("line") // LINES_OF_SHEET
    # A table of codes and volumes needs no names.
    name = pl.col("name").str.strip_chars() if "name" in table.columns else pl.lit(None, pl.String)
    one_name = name.drop_nulls().n_unique().over(code) <= 1
    differ = pl.struct(distinguishing).n_unique().over(code, sheet) > 1
    lines = table.select((code.is_not_null() & one_name & differ).fill_null(value=False)).to_series()
    return lines if lines.any() else None


def _as_part(column: Column, name: str) -> Column:
    """Return a SKU's column as the one of a part's field."""
    return replace(column, name=name, field=fields_of("component")[name], table="component", exact=False)


_DETAIL: Final = {"material": "material_subtype", "material_family": "polymer_or_grade"}
_FACTS: Final = ("colour", "metallised")
"""Fields of a part that the text of its material can fill."""


def with_details(sheet: Sheet) -> Sheet:
    """Put each family, each detail and what it says of its part in columns; what a line gives itself is kept.

    The family stays in its column, the rest becomes the material's detail where the table gives none, and a colour or a
    metallisation that the text names fills the part's own field where the table gives none (decisions §13). A text that
    is not known stays a fault of its cell.
    """
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
    families = {text: family_of_detail(text) for text in cells.drop_nulls().unique(maintain_order=True)}
    if not any(families.values()):
        return sheet
    column = replace(own, name="material", field=fields_of("sku")["material"], exact=False)
    return sheet.with_cells(column, cells.replace_strict(families, default=None, return_dtype=pl.String))


def _split_column(sheet: Sheet, column: Column) -> Sheet:
    cells = sheet.table[column.name]
    distinct = cells.drop_nulls().unique(maintain_order=True)
    materials = {text: read_material(text, str(column.field.vocabulary)) for text in distinct}
    details = {text: None if material is None else material.detail for text, material in materials.items()}
    if not any(details.values()):
        return sheet
    families = {text: text if material is None else material.family for text, material in materials.items()}
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
            sheet = _filled(sheet, part, name, texts.replace_strict(cells, default=None, return_dtype=pl.String))
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


_FILMS: Final = frozenset({"film", "foil", "wrap", "shrink_wrap", "stretch_wrap", "bubble_wrap", "luggage_wrap"})
_OF_FILM: Final = ("sleeve", "seal", "label", "liner", "body")
"""What a film, a foil or a wrap can be, the packaging itself last."""
_OF_PACKAGING: Final = ("body", "liner", "sleeve")
"""What a bag, a net or an insert can be."""
_MOST_ASKED: Final = 100
"""Words that are asked about one by one; more words than that are no names of parts."""


def without_open(parts: Sheet, main: Sheet, *, separate: bool) -> tuple[Sheet, list[Asked]]:
    """Return the components of the SKUs whose parts all have a type, and a question for each open word.

    `Film` may be the seal of a tray, a wrap around a box or the packaging itself: as a body it would make the box a
    composite. The SKU's other fields are read; its graph is, once `mapping.values` of component_type says what the word
    is. An unknown word in a column of component_type is a fault of its line as well: there the field's own vocabulary
    is known. `separate` is true for a components sheet, whose mapping is its own.
    """
    of_main = {column.position for column in main.columns if column.name in ("packaging_format", "material")}
    held = parts.table["line"].is_in(list(parts.held))
    questions: dict[tuple[str, str], Asked] = {}
    for column in (c for c in parts.columns if c.field.name in (_TYPE, "shape") and c.constant is None):
        cells = unescaped(parts.table[column.name])
        typed = next((c for c in parts.columns if c.group == column.group and c.field.name == _TYPE), None)
        if column.field.name == "shape" and typed is not None:
            cells = cells.set(parts.table[typed.name].is_not_null(), None)
        words = [
            word
            for word in cells.drop_nulls().unique(maintain_order=True)
            if part_type(word) is None and word.strip() and word not in CLEARED and not word.startswith("#")
        ]
        faulty = column.field.name == _TYPE and column.position not in of_main
        open_words = [word for word in words if not faulty or names_part(word)]
        if open_words:
            held |= cells.is_in(open_words).fill_null(value=False)
        for word in words[:_MOST_ASKED]:
            questions.setdefault((column.header, fold(word)), _about_part(column, word, parts, separate=separate))
    if held.any():  # all lines of such a SKU
        codes = unescaped(parts.table["sku_code"]).to_frame("code").select(as_codes(pl.col("code")))["code"]
        of_skus = codes.is_in(codes.filter(held).drop_nulls().to_list()).fill_null(value=False)
        parts = parts.rows_at((~(held | of_skus)).arg_true().to_list())
    return parts, list(questions.values())[:_MOST_ASKED]


def _about_part(column: Column, word: str, parts: Sheet, *, separate: bool) -> Asked:
    """Return an open word as `source.asked` shows it, with the piece of mapping that settles it."""
    form = resolve_format(word, ruleset.load())
    could_be = VOCABULARIES[_TYPE] if form is None else _OF_FILM if form.key in _FILMS else _OF_PACKAGING
    if named := parts_named(word):  # `Label adhesive`, `Cap + liner`
        could_be = (*named, *(each for each in could_be if each not in named))
    likely = next(iter(could_be))
    message = Message(
        "{text} can be several parts of a packaging, or the packaging itself; the components of its items are not "
        "read. Say what it is: mapping={mapping}.",
        text=quote(word),
        mapping={"values": {"component_type": {word: likely}}},
    )
    return question(
        "value",
        message,
        could_be=list(could_be),
        column=column,
        sheet=parts.name,
        text=word,
        of_components=separate,
    )
