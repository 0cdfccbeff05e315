"""Judges the columns of a table by their names, their values and their neighbours; what is not certain is asked about.

One column after the other: the code list that it speaks (`unread.py`), shares that may be fractions, quantities beside
weights, and at last whether weights and materials are the packaging's or the product's (decisions §13, decision 0030).
`units.py` judges columns of units, `grammar.py` a single header.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import polars as pl

from compliance.weights import is_likely
from pipelines.reading.columns import ROUNDED_SHARE, SHARE_OF_WEIGHT
from pipelines.reading.grammar import counts_packagings, mentions, quantity_of, word_roles
from pipelines.reading.grid import (
    NUMBER,
    SUPPLIER,
    VOLUME,
    VOLUME_YEAR,
    WEIGHT_HELPERS,
    WEIGHTS,
    Column,
    LineFault,
    letter,
)
from pipelines.reading.lines import SAME_PART
from pipelines.reading.mapping import QUANTITIES
from pipelines.reading.neighbours import is_of_lines, is_of_packaging_part, names_total
from pipelines.reading.questions import question, refused
from pipelines.reading.sheet import Sheet
from pipelines.reading.units import choice_for
from pipelines.reading.unread import (
    about_weights_of_units,
    fractions_asked,
    weights_of_cases,
    weights_of_units,
    with_classes_asked,
    with_code_lists,
    with_hues_asked,
    with_unread_asked,
    with_versions_asked,
)
from pipelines.reading.values import read_values
from pipelines.reading.words import level_of, names_part, names_sales_level
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import quote
from schemas.words import fold, words

_OF_WEIGHTS: Final = ("weight_unit", "unit_count", "total_count")


def judge_columns(sheet: Sheet, *, of_parts: bool) -> Sheet:
    """Return a sheet with its code lists, fractions and quantities judged; `of_parts`: its lines are parts.

    A column that is asked about keeps back the graphs whose parts it is of. Raises `ReadingRefused` where lines are
    totals and nothing says how many packagings they are of.
    """
    sheet, questions = with_code_lists(with_classes_asked(with_hues_asked(sheet)))
    questions += fractions_asked(sheet)
    positions = sheet.in_question | {column.position for column, _ in questions}
    sheet = replace(sheet, questions=(*sheet.questions, *(about for _, about in questions)), in_question=positions)
    sheet = _with_quantities(sheet, of_parts=of_parts)
    held = of_parts and any(c.position in sheet.in_question and c.field.kind != "markets" for c in sheet.columns)
    return replace(sheet, held=tuple(sheet.table["line"]), others=pl.DataFrame()) if held else sheet


def without_asked(sheet: Sheet) -> Sheet:
    """Return the table of SKUs without the columns that are asked about, and without the units of such weights."""
    kept = tuple(c for c in sheet.columns if c.position not in sheet.in_question or c.constant is not None)
    if kept == sheet.columns:
        return sheet
    weighed = any(column.field.unit == "g" for column in kept)
    return replace(sheet, columns=tuple(c for c in kept if weighed or c.field.name not in _OF_WEIGHTS))


_FIELDS: Final = {field.name: field for field in WEIGHT_HELPERS}
_HELPERS: Final = {"multiply": "unit_count", "divide": "total_count"}
_NO_KEYS: Final = (*WEIGHTS, "weight_unit", VOLUME_YEAR.name, SUPPLIER.name)
"""Fields in which lines of one part may differ."""
_LEAST_G: Final = 0.1
"""Grams of the lightest packaging that a total is divided into: with less the weight is that of one."""
_LEAST_OF_LIKELY_G: Final = 1
"""The same where no weight of the table is too heavy for one packaging."""
_SAME: Final = 0.02
"""Share by which the weights of one part may differ on several lines: totals are rounded."""
_MOST_LISTED: Final = 100
_MEANINGS: Final = {
    "multiply": Message("how often one packaging has the part of its line"),
    "divide": Message("how many packagings the weight of its line is of"),
}


def _with_quantities(sheet: Sheet, *, of_parts: bool) -> Sheet:
    """Return the sheet with its quantities applied to its weights, or asked about.

    A bill of materials says how often a part is in one packaging: its weight is multiplied where the header says *per*,
    and asked about where it does not. A table of what was sold has totals: the same part of one SKU on several lines,
    of another nation or period, or weights that no packaging has. They are divided where every line of a part then
    weighs the same; else lines by nation or period raise `ReadingRefused`, and a single column is asked about (§13).
    """
    weights = [c for c in sheet.columns if c.field.name in WEIGHTS and c.group is None and c.constant is None]
    weight = next((c for c in weights if c.table == "component"), next(iter(weights), None))
    if weight is None:
        return sheet
    quantities = [column for column in sheet.watched if quantity_of(column.header) is not None]
    of_items = [c for c in quantities if of_parts and fold(c.header) in words("base_quantity")]
    quantities = [column for column in quantities if column not in of_items] or quantities
    for column in quantities:
        if (told := choice_for(column, sheet.mapped.quantity)) is not None:
            return sheet if told == "ignore" else _applied(sheet, column, weight, told)
    for column in quantities:
        cells = sheet.others[column.name]
        numbers = _numbers(cells, column, sheet)
        if not ((numbers == 1) | cells.is_null()).fill_null(value=False).all():
            return _with_quantity(sheet, column, weight, numbers, of_parts=of_parts)
    repeated = _repeated(sheet, weight)
    if choice_for(weight, sheet.mapped.quantity) == "ignore":
        return sheet
    if not _differ(sheet, repeated):
        grams = _numbers(sheet.table[weight.name], weight, sheet)
        same = weight.table == "sku" and not of_parts and _agree(grams, repeated)
        return sheet if same else with_versions_asked(sheet, weight, repeated)
    if _agree(_numbers(sheet.table[weight.name], weight, sheet), repeated):
        return _one_line_a_part(sheet, None, weight)
    message = Message(
        "Lines of one part are of several nations or periods, and {header} differs: these are totals, not the "
        "weights of one packaging. Send weights of one, or a column with the quantity of each line. If each line is "
        "a part of its own, say so: mapping={mapping}.",
        header=quote(weight.header),
        mapping={"quantity": {letter(weight.position): "ignore"}},
    )
    raise refused(sheet.ask("quantity", weight, message, could_be=["ignore"]))


def _with_quantity(sheet: Sheet, column: Column, weight: Column, numbers: pl.Series, *, of_parts: bool) -> Sheet:
    """Return the sheet with one quantity applied, asked about, or left out as none of the weight."""
    grams = _numbers(sheet.table[weight.name], weight, sheet)
    if not of_parts and fold(column.header) in words("base_quantity"):  # the weight is of so many
        return _open(sheet, column, weight, pl.repeat(value=True, n=len(grams), eager=True), "divide")
    single = grams / numbers
    repeated = _repeated(sheet, weight)
    totals = _differ(sheet, repeated)
    same_single = _agree(single, repeated, surely=True) and bool((single.drop_nulls() >= _LEAST_G).all())
    same_whole = _agree(grams, repeated)
    if totals and same_single and not same_whole:
        return _applied(sheet, column, weight, "divide")
    if totals and same_whole and not same_single:  # the weight of one in each line: the quantity is of something else
        return _one_line_a_part(sheet, None, weight)
    if totals:
        raise refused(_about_quantity(sheet, column, weight, "divide"))
    unlikely = int((~is_likely(grams)).sum())
    heavy, least = unlikely * 2 > grams.count(), _LEAST_G if unlikely else _LEAST_OF_LIKELY_G
    of_lines = any(is_of_lines(cells.drop_nulls()) for cells in _periods(sheet, column))
    singles = single.drop_nulls()
    if (heavy or of_lines) and len(singles) and bool(is_likely(singles).all() and (singles >= least).all()):
        return _open(sheet, column, weight, pl.repeat(value=True, n=len(grams), eager=True), "divide")
    if any(c.group is not None for c in sheet.columns) or not (of_parts or counts_packagings(column.header)):
        return sheet
    if not of_parts:
        return _open(sheet, column, weight, pl.repeat(value=True, n=len(grams), eager=True), "multiply", whole=True)
    if quantity_of(column.header) == "per" and (numbers.fill_null(1) == numbers.fill_null(1).floor()).all():
        return _applied(sheet, column, weight, "multiply")
    unread = numbers.is_null() & sheet.others[column.name].is_not_null()
    return _open(sheet, column, weight, (numbers != 1).fill_null(value=False) | unread, "multiply")


def _numbers(cells: pl.Series, column: Column, sheet: Sheet) -> pl.Series:
    """Return cells as numbers, null where they are none; a weight is in grams."""
    kinds = None if sheet.kinds is None else sheet.kinds.get_column(column.name, default=None)
    of = replace(column, field=replace(column.field, kind="number", minimum=0, maximum=None))
    return read_values(cells, of, _mark(column, sheet), None if kinds is None else kinds == NUMBER).values


def _mark(column: Column, sheet: Sheet) -> str | None:
    """Return the decimal mark of a column; of a quantity that of all other columns."""
    others = set(sheet.marks.values())
    return sheet.marks.get(column.name, others.pop() if len(others) == 1 else None)


def _repeated(sheet: Sheet, weight: Column) -> pl.Series:
    """Return a number for each line, the same for lines of one part of one SKU; null where a part has only one."""
    if sheet.table["sku_code"].n_unique() == sheet.table.height:
        return pl.Series([None], dtype=pl.UInt32).new_from_index(0, sheet.table.height)
    apart = {
        weight.name,
        *(c.name for c in sheet.columns if c.market or c.field.name in _NO_KEYS),
    }
    keys = [c.name for c in sheet.columns if c.name not in apart and c.field.kind != "markets" and c.constant is None]
    place = pl.struct(keys).rank("dense")
    is_repeated = pl.col("sku_code").is_not_null() & (pl.len().over(keys) > 1)
    return sheet.table.select(pl.when(is_repeated).then(place)).to_series()


def _differ(sheet: Sheet, repeated: pl.Series) -> bool:
    """Return whether lines of one part are of several nations or periods."""
    if repeated.null_count() == len(repeated):
        return False
    groups = [cells for cells in _periods(sheet) if is_of_lines(cells.drop_nulls())]
    groups += [sheet.table[c.name] for c in sheet.columns if c.field.kind == "markets" and c.constant is None]
    several = (pl.DataFrame({"part": repeated, "of": cells}).drop_nulls("part") for cells in groups)
    return any(bool((frame.group_by("part").agg(pl.col("of").n_unique())["of"] > 1).any()) for frame in several)


def _periods(sheet: Sheet, quantity: Column | None = None) -> list[pl.Series]:
    """Return the columns that may be periods or nations."""
    years = [c for c in sheet.columns if c.field == VOLUME_YEAR and c.constant is None]
    return [
        *(sheet.others[column.name] for column in sheet.watched if column != quantity),
        *(sheet.table[column.name] for column in years),
    ]


def _agree(single: pl.Series, repeated: pl.Series, *, surely: bool = False) -> bool:
    """Return whether every line of a part gives the same weight of one; `surely` where some part gives two."""
    spread = pl.DataFrame({"part": repeated, "each": single}).drop_nulls("part").group_by("part")
    limits = spread.agg(low=pl.col("each").min(), high=pl.col("each").max(), known=pl.col("each").count())
    close = (limits["high"] - limits["low"]) <= _SAME * limits["high"]
    return bool(close.fill_null(value=False).all()) and (not surely or bool((limits["known"] > 1).any()))


def _applied(sheet: Sheet, column: Column, weight: Column, use: str) -> Sheet:
    """Return the sheet with the quantity as a helper of the weight; totals leave one line of each part."""
    name = _HELPERS[use]
    if any(c.name == name for c in sheet.columns):
        return sheet
    helper = replace(column, name=name, field=_FIELDS[name], table=weight.table)
    if any(c.table == "sku" for c in sheet.columns):
        helper = replace(helper, table="sku")  # beside SKUs it moves to the parts with the other helpers
    ignored = tuple(entry for entry in sheet.ignored if entry[0] != column.position)
    mark = _mark(column, sheet)
    marks = sheet.marks if mark is None else {**sheet.marks, name: mark}
    whole = replace(sheet.with_cells(helper, sheet.others[column.name]), ignored=ignored, marks=marks)
    return _one_line_a_part(whole, helper, weight) if use == "divide" else whole


def _one_line_a_part(sheet: Sheet, helper: Column | None, weight: Column) -> Sheet:
    """Return the sheet with the first line of each part, and the markets of all; another weight is a fault of its SKU.

    `helper` is the quantity that the weights are divided by. Lines with units of their own stay: units are not dropped.
    """
    if any(column.field == VOLUME for column in sheet.columns):
        return sheet
    without = replace(sheet, columns=tuple(column for column in sheet.columns if column is not helper))
    single = _numbers(sheet.table[weight.name], weight, sheet)
    if helper is not None:
        single /= _numbers(sheet.table[helper.name], helper, sheet)
    lines = sheet.table.select("line", "sku_code", part=_repeated(without, weight), each=single).with_columns(
        first=pl.col("each").first().over("part"), before=pl.col("line").first().over("part")
    )
    later = lines.select(pl.col("part").is_not_null() & ~pl.col("part").is_first_distinct()).to_series()
    extra = lines.filter(later)
    differs = extra.select((pl.col("each") - pl.col("first")).abs() > _SAME * pl.col("first")).to_series()
    faults = []
    for line, before, code in extra.filter(differs).select("line", "before", "sku_code").iter_rows():
        message = Message(
            "Line {line} has the same part, and by its quantity another weight; make the weights of one part the same.",
            line=before,
        )
        faults.append(LineFault(line, "duplicate_row", message, None, code))
    listed = [(line, SAME_PART) for line in extra["line"].filter(~differs.fill_null(value=False))]
    skipped = tuple(sorted((*sheet.skipped, *listed[:_MOST_LISTED])))
    markets = [column.name for column in sheet.columns if column.field.kind == "markets" and column.constant is None]
    of_sku = [pl.col(name).drop_nulls().unique(maintain_order=True).str.join(";").over("sku_code") for name in markets]
    whole = replace(sheet, table=sheet.table.with_columns(of_sku), faults=(*sheet.faults, *faults), skipped=skipped)
    return whole.rows_at((~later).arg_true().to_list())


def _open(sheet: Sheet, column: Column, weight: Column, lines: pl.Series, likely: str, *, whole: bool = False) -> Sheet:
    """Return the sheet with a question; the weight is not read (a `whole` packaging's), or the graphs of `lines`."""
    weights = {weight.position} if likely == "divide" or whole else set()
    ignored = [entry for entry in sheet.ignored if entry[0] != column.position]
    return replace(
        sheet,
        questions=(*sheet.questions, _about_quantity(sheet, column, weight, likely)),
        held=(*sheet.held, *sheet.table["line"].filter(lines)),
        in_question=sheet.in_question | weights,
        ignored=tuple(sorted((*ignored, *((at, weight.header) for at in weights)))),
    )


def _about_quantity(sheet: Sheet, column: Column, weight: Column, likely: str) -> Asked:
    message = Message(
        "{header} may say {means}; {weight} is not read without an answer. Say whether to multiply or divide by it, "
        "or to ignore it: mapping={mapping}.",
        header=quote(column.header),
        means=_MEANINGS[likely],
        weight=quote(weight.header),
        mapping={"quantity": {letter(column.position): likely}},
    )
    could_be = [likely, *(use for use in QUANTITIES if use != likely)]
    return sheet.ask("quantity", column, message, could_be=could_be)


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
    doubtful = [
        column for column in _doubtful_columns(sheet, of_parts=of_parts) if column.position not in sheet.in_question
    ]
    of_cases, of_units = weights_of_cases(sheet), weights_of_units(sheet)
    doubtful = [column for column in doubtful if column not in of_units]
    left = [column for column in sheet.columns if column not in (*doubtful, *of_cases, *of_units)]
    kept = replace(sheet, columns=tuple(left))
    if (doubtful or of_units) and not any(column.field.name in WEIGHTS for column in kept.columns):
        kept = kept.without([column.name for column in kept.columns if column.field.name == "weight_unit"])
    questions = []
    for column in doubtful:
        message = Message(
            "{header} may be the product's or its packaging's, and nothing in the table says which; it is not read. If "
            "it is the packaging's, say so: mapping={mapping}, or name the packaging in its header.",
            header=quote(column.header),
            mapping={"columns": {column.name: letter(column.position)}},
        )
        questions.append(sheet.ask("column", column, message, could_be=[column.name]))
    for column in of_cases:
        message = Message(
            "{header} may be the weight of what several items are packed in, since another column counts per it; it is "
            "not read. If it is the material of one item, say so: mapping={mapping}.",
            header=quote(column.header),
            mapping={"columns": {column.name: letter(column.position)}},
        )
        questions.append(sheet.ask("column", column, message, could_be=[column.name]))
    if of_units:
        questions.append(about_weights_of_units(of_units, sheet))
    kept, of_shares = _without_shares_of_weight(kept)
    kept, open_shares = _without_open_shares(kept)
    kept, of_unread = with_unread_asked(kept, of_whole=sheet)
    return kept, [*questions, *of_shares, *open_shares, *of_unread]


def _without_shares_of_weight(sheet: Sheet) -> tuple[Sheet, list[Asked]]:
    """Return a table without weights of materials that are less than the packaging's in most lines, and the question.

    Of `Verpackungsgewicht | davon Kunststoff` the rest has no column: a packaging of 34 g with 10 g of plastic would be
    all of plastic. Where most lines add up, another one is its SKU's matter (`weight_mismatch`).
    """
    total = next((column for column in sheet.columns if column.name == "weight_grams" and not column.group), None)
    parts = [c for c in sheet.columns if c.group and c.field.name == "weight_g" and c.constant is None]
    if total is None or not parts or any(c.mapped or "material_family" not in dict(c.fixed) for c in parts):
        return sheet, []
    whole = sheet.read(total, _LINES_SUMMED)
    added = pl.DataFrame([sheet.read(part, _LINES_SUMMED).alias(part.name) for part in parts]).sum_horizontal()
    both = ((whole > 0) & (added > 0)).fill_null(value=False)
    if names_total(total.header) and not (~both | ((whole - added).abs() > whole * _TOLERANCE)).any():
        return sheet.without([total.name]), []  # it only repeats what the parts say
    less = (added < whole * (1 - _TOLERANCE)).fill_null(value=False) & both
    if 2 * float(less.sum()) <= float(both.sum()):
        return sheet, []
    headers = ", ".join(quote(column.header) for column in parts)
    message = Message(
        "In most lines {headers} weigh less than {whole}: the rest of the packaging has no column, and without it the "
        "materials would be wrong; they are not read. Add columns of the other materials; or if these are all, say so: "
        "mapping={mapping}.",
        headers=headers,
        whole=quote(total.header),
        mapping={"columns": {column.name: letter(column.position) for column in parts}},
    )
    groups = {column.group for column in parts}
    about = question("column", message, could_be=["materials"], sheet=sheet.name, text=headers)
    return replace(sheet, columns=tuple(column for column in sheet.columns if column.group not in groups)), [about]


def _without_open_shares(sheet: Sheet) -> tuple[Sheet, list[Asked]]:
    """Return a table without the shares of materials that are not 100 % together in most lines, and the question.

    Of `Verpackungsgewicht | Kunststoff %` the rest has no material. Without a weight that they are of, none is read.
    """
    shares = [column for column in sheet.columns if column.field.name == SHARE_OF_WEIGHT and column.fixed]
    without = replace(sheet, columns=tuple(column for column in sheet.columns if column not in shares))
    if not shares or any(column.position in sheet.in_question for column in shares):
        return without, []  # whether they are fractions is asked
    if any(column.mapped for column in shares):
        return sheet, []
    given = pl.DataFrame([sheet.read(share, _LINES_SUMMED).alias(share.name) for share in shares])
    counts = given.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()
    whole = ((given.sum_horizontal() - 100).abs() <= counts * ROUNDED_SHARE) & (counts > 0)
    of_weight = any(column.name == "weight_grams" for column in sheet.columns)
    if of_weight and len(shares) > 1 and 2 * int(whole.sum()) > int((counts > 0).sum()):
        return sheet, []
    headers = ", ".join(quote(column.header) for column in shares)
    message = Message(
        "{headers} may be the materials' shares of the packaging's weight; but in most lines they are not 100 % "
        "together, or no weight is read. They are not read. If they are such shares, say so: mapping={mapping}.",
        headers=headers,
        mapping={"columns": {column.name: letter(column.position) for column in shares}},
    )
    about = question("column", message, could_be=["shares"], sheet=sheet.name, text=headers)
    return without, [about]


def _doubtful_columns(sheet: Sheet, *, of_parts: bool) -> list[Column]:
    """Return the columns of weights and materials where nothing says that they are the packaging's.

    A product has a weight and a material as well. They are the packaging's where something says so: the mapping, the
    header itself, a title or the sheet's name, other columns that only packaging has, lines or columns of components.
    Where nothing does, or the table also contains the product's own measures, they are doubtful.
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


def _names_its_packaging(column: Column) -> bool:
    """Return whether a header alone says that it is the packaging's, by its words or by being the field's own name.

    `material` is an ordinary word, which feeds of products use as well.
    """
    by_name = (column.exact and column.name != "material") or column.header.strip().lower() == "weight_g"
    by_words = names_sales_level(column.header) or mentions(column.header, "packaging")
    return by_name or by_words or bool(word_roles(column.header) & {"empty", "tare"})


def _is_doubtful_weight(column: Column, sheet: Sheet, *, has_unit: bool, measured: bool) -> bool:
    """Return whether a weight may be the product's: it is beside measures or a packaging weight, or nothing says more.

    Beside weights of parts it is the packaging's where it is their sum in most of the lines that give both.
    """
    parts = [c for c in sheet.columns if c.table == "component" and c.field.name == "weight_g"]
    if parts:
        total = sheet.read(column, _LINES_SUMMED)
        read = [sheet.read(part, _LINES_SUMMED).alias(part.name) for part in parts if part.group is not None]
        added = pl.DataFrame(read).sum_horizontal() if read else total * 0
        both = ((total > 0) & (added > 0)).fill_null(value=False)
        close = ((total - added).abs() <= total * _TOLERANCE).fill_null(value=False)
        return not both.any() or float((both & close).sum()) < _SHARE_OF_LINES * float(both.sum())
    if not has_unit or measured or "parcel" in word_roles(column.header):
        return True
    return any({"weight", "packaging"} <= word_roles(text) and level_of(text) is None for _, text in sheet.ignored)


def _signs_of_packaging(sheet: Sheet) -> Iterator[bool]:
    """Yield for each column whether it says that the table is of packaging: formats do by most of their texts."""
    for column in sheet.columns:
        is_part = column.table == "component" and column.field.name != SHARE_OF_WEIGHT  # a product has materials too
        if is_part or column.name in _FIELDS_OF_PACKAGING or mentions(column.header, "packaging"):
            yield True
        elif column.name == "packaging_format":
            texts = sheet.table[column.name].drop_nulls().unique()
            yield 2 * sum(any(map(names_part, (text, *text.split("/")))) for text in texts) > len(texts)
        elif column.name == "weight_grams" and _names_its_packaging(column):
            yield True
    for _, header in sheet.ignored:
        yield mentions(header, "packaging") or is_of_packaging_part(header)
