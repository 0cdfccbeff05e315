"""Types the columns of a sheet: each cell as given, cleared or typed, and every fault with its row and column.

`rows.py` decides what the faults mean for a row; `values.py` types one kind of value.

It also counts what the texts of a table became: `Weißblech` is metal, tinplate; 25 is 25 g (decisions §13, *readings*).
Each different text of a column of words is read once, by the functions that read its cells, and of each column of
numbers the first cell. What a text loses on the way comes first. Readings decide nothing: they are for people who check
an import.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from math import isclose
from typing import Final

import polars as pl

from compliance import ruleset
from compliance.marks import judge_mark
from compliance.words import resolve_format
from pipelines.reading.grid import (
    CLEARED,
    DAY,
    FAULTS,
    FEW,
    NO_FAULTS,
    NO_VALUE,
    NOT_SHOWN,
    NUMBER,
    NUMBERS,
    PART_HELPERS,
    SKU_HELPERS,
    Column,
    TypedColumn,
    all_faults,
    cut,
    faults_where,
    letter,
    longest_cell,
)
from pipelines.reading.sheet import Sheet
from pipelines.reading.side_by_side import add_up
from pipelines.reading.units import complete_weights
from pipelines.reading.values import EMPTY_LIST, MATERIALS, cell_errors, is_null_word, read_values, unescaped
from pipelines.reading.words import facts_of_text, family_of_detail, part_type, read_material, unit_by_factor
from schemas.fields import SKU_CODE, Field
from schemas.imports.types import Reading
from schemas.messages import Message, to_json
from schemas.vocabularies import SUBSTANCES
from schemas.words import code_of, fold

_NOT_DETECTED: Final = Message(
    "This can mean not determined or not detected; leave the cell empty for the first, and write absent, below_limit "
    "or the value for the second."
)
_MERGED_CELLS: Final = Message(
    "The line has neither sku_code nor name. If the cells above reach down to it, repeat the code in each line; "
    "lines of one SKU are its components where a column component_type or material says so."
)
_NO_CODE: Final = Message("A program writes this where it has no value; write the sku_code.")
_UNREAD_KINDS: Final = {
    NO_VALUE: (
        "no_value",
        Message("The cell holds a formula without a stored value; open the file in Excel, save it, and send it again."),
    ),
    DAY: (
        "invalid_format",
        Message("The cell is a date: a spreadsheet has made one of the code. Format it as text, and write it again."),
    ),
    NOT_SHOWN: (
        "invalid_format",
        Message("The cell's number format is not known here; format the cell as text, and write what it shows."),
    ),
}
"""Kinds of cells that are faults: their code and sentence; a day is one in a code."""
_MARKED: Final = r"""^(?:#|'|="|null$|NULL$)"""
"""Cells that are an error, escaped, or `CLEARED`: few columns have any."""
_COLUMNS_AT_A_TIME: Final = 2
"""Polars releases the interpreter lock while it works on a column, so two cores type two columns."""


@dataclass(frozen=True, slots=True)
class TypedSheet:
    """The typed columns of a sheet by name, whether each cell was given, and the faults (at, name, code, message)."""

    sheet: Sheet
    values: dict[str, pl.Series]
    presence: dict[str, pl.Series]
    faults: pl.DataFrame

    def part(self, start: int, length: int) -> "TypedSheet":
        """Return the typed columns of some lines; the sheet and the faults stay those of all lines."""
        values = {name: column.slice(start, length) for name, column in self.values.items()}
        presence = {name: column.slice(start, length) for name, column in self.presence.items()}
        return TypedSheet(self.sheet, values, presence, self.faults)

    def with_faults(self, name: str, faults: pl.DataFrame) -> "TypedSheet":
        """Return a copy with more faults of the column `name`."""
        more = faults.with_columns(name=pl.lit(name)).select(self.faults.columns)
        return TypedSheet(self.sheet, self.values, self.presence, self.faults.vstack(more))


def type_sheet(sheet: Sheet) -> TypedSheet:
    """Type each column of a sheet by itself, then weights together with the columns that complete them."""
    typed = TypedSheet(sheet, {}, {}, pl.DataFrame(schema={**FAULTS, "name": pl.String}))
    cells = pl.col([column.name for column in sheet.columns])
    presence = sheet.table.select(cells.is_not_null()).get_columns()
    are_marked = sheet.table.select(cells.str.contains(_MARKED).any()).row(0)
    longest = sheet.table.select(cells.str.len_bytes().max()).row(0)
    with ThreadPoolExecutor(_COLUMNS_AT_A_TIME, thread_name_prefix="column") as threads:
        apply = map if sheet.table.height <= FEW else threads.map
        columns = list(apply(partial(_type_column, sheet), sheet.columns, presence, are_marked, longest))
    for column, (typed_column, given) in zip(sheet.columns, columns, strict=True):
        typed.values[column.name], typed.presence[column.name] = typed_column.values.alias(column.name), given
        if typed_column.faults.height:
            typed = typed.with_faults(column.name, typed_column.faults)
    add_up(sheet.columns, typed.values, typed.presence)
    if not any(column.field in PART_HELPERS for column in sheet.columns):
        return typed
    weights, faults = complete_weights(sheet.columns, sheet.table, typed.values)
    typed.values.update(weights)
    for name, of_name in faults:
        typed = typed.with_faults(name, of_name)
    return typed


def _type_column(
    sheet: Sheet, column: Column, presence: pl.Series, is_marked: bool, longest: int | None
) -> tuple[TypedColumn, pl.Series]:
    """Return a column's typed cells, and which of those in `presence` are given.

    `is_marked` where some are cleared, escaped, or an error; `longest` is the number of bytes of the longest cell.
    """
    written = sheet.table[column.name]
    cells = unescaped(written) if is_marked else written
    faults = [cell_errors(written)] if is_marked else []
    kinds = None if sheet.kinds is None else sheet.kinds[column.name]
    for kind, (code, message) in _UNREAD_KINDS.items():
        if kinds is not None and (kind != DAY or column.field.is_code):
            faults.append(faults_where(kinds == kind, code, message))
    if column.field == SKU_CODE:
        faults.append(faults_where(is_null_word(cells), "required", _NO_CODE))
    cleared = written.is_in(CLEARED).fill_null(value=False) if is_marked else presence & False
    if cleared.any() and not column.field.nullable:
        message = Message("{name} cannot be cleared; write its value, or leave the cell empty.", name=column.field.name)
        faults.append(faults_where(cleared, "not_null", message))
    cells = cells.set(cleared, None).scatter(all_faults(faults)["at"], None)
    if longest is not None and longest > longest_cell(column.field):
        cells, too_long = _without_too_long(cells, column.field)
        faults.append(too_long)
    if column.field.required and column.field.name != "name" and column.group is None and not presence.all():
        below = presence & False
        if column.field == SKU_CODE:  # cells merged over several lines leave lines without code and name below a SKU's
            unnamed = sheet.table["name"].is_null() if "name" in sheet.table.columns else ~presence
            below = sheet.table["sku_code"].is_not_null().cum_sum().cast(pl.Boolean) & ~presence & unnamed
        message = Message("{name} is missing; each line needs one.", name=column.field.name)
        faults.append(faults_where(~presence & ~below, "required", message))
        faults.append(faults_where(~presence & below, "required", _MERGED_CELLS))
    numbers = None if kinds is None else kinds == NUMBER
    typed = read_values(cells, column, sheet.marks.get(column.name), numbers)
    wrong = typed.faults
    if wrong.height and not column.field.required:
        wrong, unanswered = _without_no_answers(wrong, cells, column)
        presence = presence.scatter(unanswered, values=False)
    return TypedColumn(typed.values, all_faults([*faults, wrong])), presence


def _without_too_long(cells: pl.Series, field: Field) -> tuple[pl.Series, pl.DataFrame]:
    """Return the cells that are no longer than the field's longest value, outer white space apart; others are faults.

    A text field that has a limit is checked where it is typed.
    """
    most = longest_cell(field)
    if field.kind == "text" and field.max_length is not None:
        return cells, NO_FAULTS
    long = (cells.str.strip_chars().str.len_chars() > most).fill_null(value=False)
    message = Message(
        "A cell of {field} has at most {most} characters; this one has more.", field=field.name, most=most
    )
    return cells.set(long, None), faults_where(long, "too_long", message)


def _without_no_answers(faults: pl.DataFrame, cells: pl.Series, column: Column) -> tuple[pl.DataFrame, pl.Series]:
    """Return the faults except those of cells that give no answer (`n/a`, `k.A.`, `NaN`), and the rows of these cells.

    A cell that can be read is never among them: `NA` is Namibia among markets.
    """
    distinct = cells.gather(faults["at"]).unique()
    of_number = column.field.kind in NUMBERS  # there NaN may be the result of a calculation
    programs = set() if of_number else set(distinct.filter(is_null_word(distinct)))
    no_answers = {
        cell: "nothing" if cell in programs else code_of(cell, "no_answer")
        for cell in distinct
        if not cell.startswith("=")
    }
    codes = {cell: code for cell, code in no_answers.items() if code is not None}
    if not codes:
        return faults, faults["at"].clear()
    answers = cells.gather(faults["at"]).replace_strict(codes, default=None, return_dtype=pl.String)
    rows = faults.with_columns(value=answers)
    if any(column.field.name.startswith(substance) for substance in SUBSTANCES):
        two = (pl.col("value") == "nothing_found").fill_null(value=False)
        rows = rows.with_columns(
            message=pl.when(two).then(pl.lit(to_json(_NOT_DETECTED))).otherwise("message"),
            value=pl.when(~two).then("value"),
        )
    return rows.filter(pl.col("value").is_null()).drop("value"), rows.filter(pl.col("value").is_not_null())["at"]


MOST: Final = 200
_MOST_TEXTS: Final = 400
"""Texts of one column that are read, the most frequent first: a column of more is none of words."""
_DETAILS: Final = ("material_subtype", "polymer_or_grade")
_WORDS: Final = ("code", "codes", "markets", "truth", "marks")
_SIGNS: Final = {"percent": "%"}


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of a column with its number of rows; `cell` is what a mapping or an own word made of it."""

    text: str
    cell: str
    rows: int


def readings_of(before: Sheet, *after: Sheet) -> list[Reading]:
    """Return what the texts of a table became, those of merged cells included.

    `after` are the tables of SKUs and of components that it was split into. `before` has the cells as the file has
    them, a row a line.
    """
    by_position = {column.position: column for column in before.columns if column.constant is None}
    by_text: dict[tuple[int, str, str], tuple[bool, Reading]] = {}
    for sheet in after:
        read = [
            (c, own) for c in sheet.columns if c.constant is None and (own := by_position.get(c.position)) is not None
        ]
        for column, own in read:
            for told, value, loses in () if _is_derived(column, sheet, own) else _of_words(column, own, before, sheet):
                reading = _reading(column, told.text, value, told.rows)
                by_text.setdefault((column.position, told.text, value), (loses, reading))
        for column, _ in read:
            for text, rows in before.filled.get(column.position, {}).items():  # of merged cells
                value = unescaped(pl.Series([text])).str.strip_chars()[0]
                if not any(key[:2] == (column.position, text) for key in by_text):
                    by_text[column.position, text, value] = (False, _reading(column, text, value, rows))
    lossy = [reading for loses, reading in by_text.values() if loses]
    kept = [reading for loses, reading in by_text.values() if not loses]
    samples = [reading for sheet in after for reading in _samples(sheet)]
    return [*lossy, *samples, *kept][:MOST]


def _reading(column: Column, text: str, value: str, rows: int) -> Reading:
    return {"column": letter(column.position), "field": column.name, "text": cut(text), "value": value, "rows": rows}


def _is_derived(column: Column, sheet: Sheet, own: Column) -> bool:
    """Return whether a column only keeps what the text of a material beside it says: its detail, its colour."""
    if column.field.name in MATERIALS or column.field == own.field:
        return False
    same = [other for other in sheet.columns if other.position == column.position and other.group == column.group]
    return any(other.field.name in (*MATERIALS, "polymer_or_grade") for other in same if other is not column)


def _of_words(column: Column, own: Column, before: Sheet, sheet: Sheet) -> Iterator[tuple[_Text, str, bool]]:
    """Yield each text of a column with what it became, and whether that says less than the text."""
    name = column.field.name
    if column.field.kind not in _WORDS and name not in (*_DETAILS, "packaging_format", "shape"):
        return
    beside: Column | None = None  # the column of the file that gives the detail of a material itself
    if name in MATERIALS:
        details = (c for c in sheet.columns if (c.group, c.table) == (column.group, column.table))
        position = next((c.position for c in details if c.field.name in _DETAILS and c.constant is None), None)
        beside = next((c for c in before.columns if c.position == position and c.constant is None), None)
        if beside is not None and (beside.field.name not in _DETAILS or position == column.position):
            beside = None
    cells = before.table[own.name]
    groups = [(cells, True)]
    if beside is not None:
        has_detail = before.table[beside.name].is_not_null()
        groups = [(cells.filter(~has_detail), True), (cells.filter(has_detail), False)]
    for part, keeps_detail in groups:
        texts = _texts(part, before.replaced.get(own.name, {}) if len(groups) == 1 else {})
        values = _values([told.cell for told in texts], column, own, before, keeps_detail=keeps_detail)
        for told, value in zip(texts, values, strict=True):
            if value is not None:
                yield told, value, _loses(told, value, column, keeps_detail=keeps_detail)


def _texts(cells: pl.Series, replaced: Mapping[str, tuple[str, int]]) -> list[_Text]:
    """Return the texts of a column, most frequent first; `replaced` are those that were replaced, with their rows."""
    counts = (cells.drop_nulls() if cells.null_count() else cells).value_counts(sort=True).head(_MOST_TEXTS)
    before = [_Text(text, cell, rows) for text, (cell, rows) in replaced.items()]
    taken: dict[str, int] = {}
    for told in before:
        taken[told.cell] = taken.get(told.cell, 0) + told.rows
    rest = [(text, rows - taken.get(text, 0)) for text, rows in counts.iter_rows()]
    return [*before, *(_Text(text, text, rows) for text, rows in rest if rows > 0)]


def _values(
    cells: Sequence[str], column: Column, own: Column, before: Sheet, *, keeps_detail: bool
) -> list[str | None]:
    """Return what is stored for each cell, as it is shown; None where the cell is a fault, or clears its field."""
    name = column.field.name
    if any(cell.startswith(("'", '="')) for cell in cells):
        cells = unescaped(pl.Series(cells, dtype=pl.String)).to_list()
    plain = [None if cell is None or cell in CLEARED else cell for cell in cells]
    if name in MATERIALS:
        of_detail = own.field.name in _DETAILS
        return [None if cell is None else _material(cell, column, of_detail, keeps_detail) for cell in plain]
    if name in _DETAILS:
        facts = [{} if cell is None or column.table == "sku" else facts_of_text(cell) for cell in plain]
        return [_listed(cell, facts) if facts else None for cell, facts in zip(plain, facts, strict=True)]
    if name == "packaging_format":
        return [None if cell is None else _format(cell) for cell in plain]
    if name == "shape":
        return [None if cell is None else part_type(cell) for cell in plain]
    if name == "component_type":
        answered = before.part_words()
        plain = [cell if cell is None else answered.get(fold(cell)) or cell for cell in plain]
    typed = read_values(pl.Series(plain, dtype=pl.String), column, before.marks.get(own.name), None).values
    if column.field.kind == "marks":
        return [None if names is None else ", ".join(map(_mark, names.split(";"))) for names in typed]
    return [None if value is None else _text_of(value) for value in typed.to_list()]


def _text_of(value: object) -> str:
    """Return a typed value as text: truths and lists as in JSON and in a cell."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return ", ".join(text.strip("{}").split(",")) if text.startswith("{") else text


def _material(cell: str, column: Column, of_detail: bool, keeps_detail: bool) -> str | None:
    if of_detail:
        family = family_of_detail(cell)
        return None if family is None else f"{family}, {cell}"
    if (material := read_material(cell, str(column.field.vocabulary))) is None:
        return None
    family, detail = material
    facts = facts_of_text(detail or "") if column.table == "component" else {}
    return _listed(family if detail is None or not keeps_detail else f"{family}, {detail}", facts)


def _listed(text: str | None, facts: dict[str, str]) -> str:
    """Return a material with what its text says of its part: `plastic, PET schwarz, dark`."""
    return ", ".join([str(text), *("metallised" if name == "metallised" else fact for name, fact in facts.items())])


def _mark(name: str) -> str:
    """Return a mark with its kind, that of one which the table of marks does not know is unknown; or the empty list."""
    if name == EMPTY_LIST:
        return name
    return f"{name}: {judge_mark({'mark': name, 'of_epr': None, 'carrier': 'printed'}).kind}"


def _format(cell: str) -> str:
    """Return a format as it is stored, and what it is read as: `Bocal, jar`."""
    form = resolve_format(cell, ruleset.load())
    return cell if form is None or fold(form.key) == fold(cell) else f"{cell}, {form.key}"


def _loses(told: _Text, value: str, column: Column, *, keeps_detail: bool) -> bool:
    """Return whether a value says less than its text: `Flasche` as body, a text that a mapping made a family."""
    if told.text != told.cell:
        return fold(told.text) not in fold(value)
    if column.field.name in MATERIALS:
        material = read_material(told.text, str(column.field.vocabulary))
        return not keeps_detail and material is not None and material.detail is not None
    return column.field.name in ("component_type", "shape") and code_of(told.text, "component_type") is None


def _samples(sheet: Sheet) -> Iterator[Reading]:
    """Yield the first cell of each column of numbers with the number that is stored, and its unit."""
    helpers = {field.name for field in (*SKU_HELPERS, *PART_HELPERS)}
    columns = [c for c in sheet.columns if c.field.kind in NUMBERS and c.field.name not in helpers and not c.constant]
    names = [column.name for column in columns]
    if not names or not sheet.table.height:
        return
    first = dict(zip(names, sheet.table.select(pl.col(names).is_not_null().arg_max()).row(0), strict=True))
    at = sorted({*first.values()})
    needed = [c for c in sheet.columns if c in columns or c.field.name in ("sku_code", *helpers)]
    typed = type_sheet(replace(sheet.rows_at(at), columns=tuple(needed)))
    for column in columns:
        place = first[column.name]
        text, value = sheet.table[column.name][place], typed.values[column.name][at.index(place)]
        if text is not None and value is not None:
            rows = sheet.table.height - sheet.table[column.name].null_count()
            number, unit = f"{value:.15g}" if isinstance(value, float) else str(value), column.field.unit
            with_unit = number if unit is None else f"{number} {_SIGNS.get(unit, unit)}"
            yield _reading(column, text, _step(text, column, sheet, value) + with_unit, rows)


def _step(text: str, column: Column, sheet: Sheet, value: object) -> str:
    """Return what stands between a cell and the number that is stored of it: `25 kg = `; nothing where they are equal.

    A unit in the cell itself is part of its text.
    """
    if column.factor == 1 and sheet.kinds is None and not any(other.field in PART_HELPERS for other in sheet.columns):
        return ""
    bare = read_values(pl.Series([text]), replace(column, factor=Decimal(1)), sheet.marks.get(column.name), None)
    number = bare.values[0]
    if not isinstance(value, int | float) or not isinstance(number, int | float) or not number:
        return ""
    factor = value / number
    if isclose(factor, 1, rel_tol=1e-9):
        return ""
    unit = unit_by_factor(factor, column.field.unit)
    return f"{number:.15g} {unit.name} = " if unit else f"{number:.15g} × {factor:.9g} = "
