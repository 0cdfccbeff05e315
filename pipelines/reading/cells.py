"""Types the columns of a sheet: each cell as given, cleared or typed, and every fault with its row and column.

`rows.py` decides what the faults mean for a row; `values.py` types one kind of value.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import polars as pl

from pipelines.reading.fields import (
    CLEARED,
    FAULTS,
    NUMBERS,
    PART_HELPERS,
    Column,
    TypedColumn,
    faults_where,
    longest_cell,
    no_faults,
)
from pipelines.reading.grid import DAY, NO_VALUE, NOT_SHOWN, NUMBER
from pipelines.reading.sheet import Sheet
from pipelines.reading.units import complete_weights
from pipelines.reading.values import cell_errors, is_null_word, read_values, unescaped
from schemas.fields import SKU_CODE, Field
from schemas.messages import Message, to_json
from schemas.vocabularies import SUBSTANCES
from schemas.words import code_of

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
_COLUMNS_AT_A_TIME: Final = 2
"""Polars releases the interpreter lock while it works on a column, so two cores type two columns."""


@dataclass(frozen=True, slots=True)
class TypedSheet:
    """The typed columns of a sheet by name, whether each cell was given, and the faults (at, name, code, message)."""

    sheet: Sheet
    values: dict[str, pl.Series]
    given: dict[str, pl.Series]
    faults: pl.DataFrame

    def part(self, start: int, length: int) -> "TypedSheet":
        """Return the typed columns of some lines; the sheet and the faults stay those of all lines."""
        values = {name: column.slice(start, length) for name, column in self.values.items()}
        given = {name: column.slice(start, length) for name, column in self.given.items()}
        return TypedSheet(self.sheet, values, given, self.faults)

    def with_faults(self, name: str, found: pl.DataFrame) -> "TypedSheet":
        """Return a copy with more faults of the column `name`."""
        more = found.with_columns(name=pl.lit(name)).select(self.faults.columns)
        return TypedSheet(self.sheet, self.values, self.given, self.faults.vstack(more))


def type_sheet(sheet: Sheet) -> TypedSheet:
    """Type each column of a sheet by itself, then weights together with the columns that complete them."""
    typed = TypedSheet(sheet, {}, {}, pl.DataFrame(schema={**FAULTS, "name": pl.String}))
    with ThreadPoolExecutor(_COLUMNS_AT_A_TIME, thread_name_prefix="column") as threads:
        columns = list(threads.map(partial(_type_column, sheet), sheet.columns))
    for column, (found, given) in zip(sheet.columns, columns, strict=True):
        typed.values[column.name], typed.given[column.name] = found.values.alias(column.name), given
        if found.faults.height:
            typed = typed.with_faults(column.name, found.faults)
    if not any(column.field in PART_HELPERS for column in sheet.columns):
        return typed
    weights, faults = complete_weights(sheet.columns, sheet.table, typed.values)
    typed.values.update(weights)
    for name, of_name in faults:
        typed = typed.with_faults(name, of_name)
    return typed


def _type_column(sheet: Sheet, column: Column) -> tuple[TypedColumn, pl.Series]:
    cleared = sheet.table[column.name].is_in(CLEARED).fill_null(value=False)
    cells = unescaped(sheet.table[column.name])
    given = cells.is_not_null()
    errors = cell_errors(sheet.table[column.name])
    faults = [errors]
    kinds = None if sheet.kinds is None else sheet.kinds[column.name]
    for kind, (code, message) in _UNREAD_KINDS.items():
        unread = None if kinds is None else kinds == kind
        if unread is not None and unread.any() and (kind != DAY or column.field.is_code):
            faults.append(faults_where(unread, code, message))
            cells = cells.set(unread, None)
    if column.field == SKU_CODE and (programs := is_null_word(cells)).any():
        faults.append(faults_where(programs, "required", _NO_CODE))
        cells = cells.set(programs, None)
    if cleared.any():
        cells = cells.set(cleared, None)
        if not column.field.nullable:
            message = Message(
                "{name} cannot be cleared; write its value, or leave the cell empty.", name=column.field.name
            )
            faults.append(faults_where(cleared, "not_null", message))
    if errors.height:
        cells = cells.scatter(errors["at"], None)
    cells, too_long = _without_too_long(cells, column.field)
    faults.append(too_long)
    if column.field.required and column.field.name != "name" and column.group is None:
        below = pl.repeat(value=False, n=len(given), eager=True)
        if column.field == SKU_CODE:  # cells merged over several lines leave lines without code and name below a SKU's
            unnamed = sheet.table["name"].is_null() if "name" in sheet.table.columns else ~given
            below = sheet.table["sku_code"].is_not_null().cum_sum().cast(pl.Boolean) & ~given & unnamed
        message = Message("{name} is missing; each line needs one.", name=column.field.name)
        faults.append(faults_where(~given & ~below, "required", message))
        faults.append(faults_where(~given & below, "required", _MERGED_CELLS))
    numbers = None if kinds is None else kinds == NUMBER
    typed = read_values(cells, column, sheet.marks.get(column.name), numbers)
    found = typed.faults
    if found.height and not column.field.required:
        found, unanswered = _without_no_answers(found, cells, column)
        given = given.scatter(unanswered, values=False)
    return TypedColumn(typed.values, pl.concat([*faults, found])), given


def _without_too_long(cells: pl.Series, field: Field) -> tuple[pl.Series, pl.DataFrame]:
    """Return the cells that are no longer than the field's longest value, outer white space apart; others are faults.

    A text field that has a limit is checked where it is typed.
    """
    most = longest_cell(field)
    if (field.kind == "text" and field.max_length is not None) or not (cells.str.len_bytes() > most).any():
        return cells, no_faults()
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
    found = faults.with_columns(value=answers)
    if any(column.field.name.startswith(substance) for substance in SUBSTANCES):
        two = (pl.col("value") == "nothing_found").fill_null(value=False)
        found = found.with_columns(
            message=pl.when(two).then(pl.lit(to_json(_NOT_DETECTED))).otherwise("message"),
            value=pl.when(~two).then("value"),
        )
    return found.filter(pl.col("value").is_null()).drop("value"), found.filter(pl.col("value").is_not_null())["at"]
