"""Judges columns of quantities beside weights: how many of a part a packaging has, or how many packagings were sold.

A bill of materials says how often a part is in one packaging: its weight is multiplied where the header says *per*, and
asked about where it does not. A table of what was sold has totals: the same part of one SKU on several lines, of
another nation or period, or weights that no packaging has. They are divided where every line of a part then weighs the
same; else a table of lines by nation or period is refused, and a single column asked about (decisions §13).
"""

from dataclasses import replace
from typing import Final

import polars as pl

from compliance.weights import is_likely
from pipelines.reading.column_values import is_of_lines, quantity_of
from pipelines.reading.fields import VOLUME_YEAR, WEIGHT_HELPERS, WEIGHTS, Column
from pipelines.reading.grid import NUMBER, LineFault, letter
from pipelines.reading.lines import SAME_PART
from pipelines.reading.mapping import QUANTITIES
from pipelines.reading.questions import refused
from pipelines.reading.sheet import Sheet
from pipelines.reading.unit_columns import choice_for
from pipelines.reading.values import read_values
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import shown

_FIELDS: Final = {field.name: field for field in WEIGHT_HELPERS}
_HELPERS: Final = {"multiply": "unit_count", "divide": "total_count"}
_LEAST_G: Final = 0.1
"""Grams of the lightest packaging that a total is divided into: with less the weight is that of one."""
_SAME: Final = 0.02
"""Share by which the weights of one part may differ on several lines: totals are rounded."""


def with_quantities(sheet: Sheet, *, of_parts: bool) -> Sheet:
    """Return the sheet with its quantities applied to its weights, or asked about.

    `of_parts` is true where its lines are parts. Raises `ReadingRefused` where lines are totals and nothing says how
    many packagings they are of.
    """
    weight = _weight_of(sheet)
    if weight is None:
        return sheet
    watched = [column for column in sheet.watched if quantity_of(column.header) is not None]
    for column in watched:
        if (told := choice_for(column, sheet.mapped.quantity)) is not None:
            return sheet if told == "ignore" else _applied(sheet, column, weight, told)
    for column in watched:
        cells = sheet.others[column.name]
        numbers = _numbers(cells, column, sheet)
        if ((numbers == 1) | cells.is_null()).fill_null(value=False).all():
            continue
        return _judged(sheet, column, weight, numbers, of_parts=of_parts)
    return _without_repeats(sheet, weight)


def _without_repeats(sheet: Sheet, weight: Column) -> Sheet:
    """Return the sheet with one line for each part that stands once for each nation or period, with the same weight."""
    repeated = _repeated(sheet, weight)
    if choice_for(weight, sheet.mapped.quantity) == "ignore" or not _differ(sheet, repeated):
        return sheet
    if not _agree(_numbers(sheet.table[weight.name], weight, sheet), repeated):
        raise refused([_about_lines(sheet, weight)])
    return _one_line_a_part(sheet, None, weight)


def _about_lines(sheet: Sheet, weight: Column) -> Asked:
    message = Message(
        "Lines of one part are of several nations or periods, and {header} differs: these are totals, not the "
        "weights of one packaging. Send weights of one, or a column with the quantity of each line. If each line is "
        "a part of its own, say so: mapping={mapping}.",
        header=shown(weight.header),
        mapping={"quantity": {letter(weight.position): "ignore"}},
    )
    return sheet.ask("quantity", weight, message, could_be=["ignore"])


def _judged(sheet: Sheet, column: Column, weight: Column, numbers: pl.Series, *, of_parts: bool) -> Sheet:
    grams = _numbers(sheet.table[weight.name], weight, sheet)
    each = grams / numbers
    repeated = _repeated(sheet, weight)
    totals = _differ(sheet, repeated)
    if totals and _agree(each, repeated):
        return _applied(sheet, column, weight, "divide")
    if totals:
        raise refused([_question(sheet, column, weight, "divide", _TOTALS)])
    heavy = int((~is_likely(grams)).sum()) * 2 > grams.len() - grams.null_count()
    of_lines = any(is_of_lines(cells.drop_nulls()) for cells in _periods(sheet, column))
    if (heavy or of_lines) and bool(is_likely(each.drop_nulls()).all() and (each.drop_nulls() >= _LEAST_G).all()):
        return _open(sheet, column, weight, pl.Series([True]).new_from_index(0, len(grams)), "divide")
    if not of_parts or any(c.group is not None for c in sheet.columns):
        return sheet
    if quantity_of(column.header) == "per" and (numbers.fill_null(1) == numbers.fill_null(1).floor()).all():
        return _applied(sheet, column, weight, "multiply")
    unread = numbers.is_null() & sheet.others[column.name].is_not_null()
    return _open(sheet, column, weight, (numbers != 1).fill_null(value=False) | unread, "multiply")


def _weight_of(sheet: Sheet) -> Column | None:
    """Return the weight that a quantity beside it is of: a part's, else the SKU's."""
    weights = [c for c in sheet.columns if c.field.name in WEIGHTS and c.group is None and c.constant is None]
    return next((c for c in weights if c.table == "component"), next(iter(weights), None))


def _numbers(cells: pl.Series, column: Column, sheet: Sheet) -> pl.Series:
    """Return cells as numbers, null where they are none; a weight is in grams."""
    kinds = None if sheet.kinds is None or column.name not in sheet.kinds.columns else sheet.kinds[column.name]
    of = replace(column, field=replace(column.field, kind="number", minimum=0, maximum=None))
    return read_values(cells, of, _mark(column, sheet), None if kinds is None else kinds == NUMBER).values


def _mark(column: Column, sheet: Sheet) -> str | None:
    """Return the decimal mark of a column; of a quantity that of all other columns."""
    others = set(sheet.marks.values())
    return sheet.marks.get(column.name, others.pop() if len(others) == 1 else None)


def _repeated(sheet: Sheet, weight: Column) -> pl.Series:
    """Return a number for each line, the same for lines of one part of one SKU; null where a part has only one."""
    apart = {
        weight.name,
        *(c.name for c in sheet.columns if c.market or c.field.name in (*WEIGHTS, "weight_unit", VOLUME_YEAR.name)),
    }
    keys = [c.name for c in sheet.columns if c.name not in apart and c.field.kind != "markets" and c.constant is None]
    place = pl.struct(keys).rank("dense")
    is_repeated = pl.col("sku_code").is_not_null() & (pl.len().over(keys) > 1)
    return sheet.table.select(pl.when(is_repeated).then(place)).to_series()


def _differ(sheet: Sheet, repeated: pl.Series) -> bool:
    """Return whether lines of one part are of several nations or periods."""
    if repeated.null_count() == len(repeated):
        return False
    named = [cells for cells in _periods(sheet) if is_of_lines(cells.drop_nulls())]
    named += [sheet.table[c.name] for c in sheet.columns if c.field.kind == "markets" and c.constant is None]
    several = (pl.DataFrame({"part": repeated, "of": cells}).drop_nulls("part") for cells in named)
    return any(bool((frame.group_by("part").agg(pl.col("of").n_unique())["of"] > 1).any()) for frame in several)


def _periods(sheet: Sheet, quantity: Column | None = None) -> list[pl.Series]:
    """Return the columns that may be periods or nations."""
    years = [c for c in sheet.columns if c.field == VOLUME_YEAR and c.constant is None]
    return [
        *(sheet.others[column.name] for column in sheet.watched if column != quantity),
        *(sheet.table[column.name] for column in years),
    ]


def _agree(each: pl.Series, repeated: pl.Series) -> bool:
    """Return whether every line of a part gives the same weight of one."""
    spread = pl.DataFrame({"part": repeated, "each": each}).drop_nulls("part").group_by("part")
    limits = spread.agg(low=pl.col("each").min(), high=pl.col("each").max(), none=pl.col("each").null_count())
    return bool(((limits["high"] - limits["low"]) <= _SAME * limits["high"]).fill_null(value=False).all())


def _applied(sheet: Sheet, column: Column, weight: Column, use: str) -> Sheet:
    """Return the sheet with the quantity as a helper of the weight; totals leave one line of each part."""
    name = _HELPERS[use]
    if any(c.name == name for c in sheet.columns):
        return sheet
    helper = replace(column, name=name, field=_FIELDS[name], table=weight.table)
    if weight.table == "component" and any(c.table == "sku" for c in sheet.columns):
        helper = replace(helper, table="sku")  # beside SKUs it moves to the parts with the other helpers
    ignored = tuple(entry for entry in sheet.ignored if entry[0] != column.position)
    mark = _mark(column, sheet)
    marks = sheet.marks if mark is None else {**sheet.marks, name: mark}
    whole = replace(sheet.with_cells(helper, sheet.others[column.name]), ignored=ignored, marks=marks)
    return _one_line_a_part(whole, helper, weight) if use == "divide" else whole


def _one_line_a_part(sheet: Sheet, helper: Column | None, weight: Column) -> Sheet:
    """Return the sheet with the first line of each part, and the markets of all; another weight is a fault of its SKU.

    `helper` is the quantity that the weights are divided by.
    """
    without = replace(sheet, columns=tuple(column for column in sheet.columns if column is not helper))
    repeated = _repeated(without, weight)
    each = _numbers(sheet.table[weight.name], weight, sheet)
    if helper is not None:
        each /= _numbers(sheet.table[helper.name], helper, sheet)
    markets = [column.name for column in sheet.columns if column.field.kind == "markets" and column.constant is None]
    of_sku = [pl.col(name).drop_nulls().unique(maintain_order=True).str.join(";").over("sku_code") for name in markets]
    sheet = replace(sheet, table=sheet.table.with_columns(of_sku))
    lines = pl.DataFrame({"part": repeated, "each": each, "line": sheet.table["line"], "code": sheet.table["sku_code"]})
    lines = lines.with_columns(first=pl.col("each").first().over("part"), before=pl.col("line").first().over("part"))
    later = pl.col("part").is_not_null() & ~pl.col("part").is_first_distinct()
    lines = lines.with_columns(later=later)
    extra = lines.filter("later")
    differs = (pl.col("each") - pl.col("first")).abs() > _SAME * pl.col("first")
    faults = [
        LineFault(line, "duplicate_row", _other_weight(before), None, code)
        for line, before, code in extra.filter(differs).select("line", "before", "code").iter_rows()
    ]
    kept = (~lines["later"]).arg_true().to_list()
    listed = [(line, SAME_PART) for line in extra.filter(~differs.fill_null(value=False))["line"]]
    skipped = tuple(sorted((*sheet.skipped, *listed[:_MOST_LISTED])))
    return replace(sheet.rows_at(kept), faults=(*sheet.faults, *faults), skipped=skipped)


_MOST_LISTED: Final = 100


def _other_weight(line: int) -> Message:
    return Message(
        "Line {line} has the same part, and by its quantity another weight; make the weights of one part the same.",
        line=line,
    )


def _open(sheet: Sheet, column: Column, weight: Column, lines: pl.Series, likely: str) -> Sheet:
    """Return the sheet with a question; the weight is not read, or the graphs of the SKUs that have one of `lines`."""
    held = tuple(sheet.table["line"].filter(lines))
    asked = _question(sheet, column, weight, likely, _TOTALS if likely == "divide" else _PARTS)
    ignored = tuple(entry for entry in sheet.ignored if entry[0] != column.position)
    weights = {weight.position} if likely == "divide" else set()
    return replace(
        sheet,
        questions=(*sheet.questions, asked),
        held=(*sheet.held, *held),
        asked=sheet.asked | weights,
        ignored=tuple(sorted((*ignored, *((at, weight.header) for at in weights)))),
    )


_PARTS: Final = Message("how often one packaging has the part of its line")
_TOTALS: Final = Message("how many packagings the weight of its line is of")


def _question(sheet: Sheet, column: Column, weight: Column, likely: str, means: Message) -> Asked:
    message = Message(
        "{header} may say {means}; {weight} is not read without an answer. Say whether to multiply or divide by it, "
        "or to ignore it: mapping={mapping}.",
        header=shown(column.header),
        means=means,
        weight=shown(weight.header),
        mapping={"quantity": {letter(column.position): likely}},
    )
    could_be = [likely, *(use for use in QUANTITIES if use != likely)]
    return sheet.ask("quantity", column, message, could_be=could_be)
