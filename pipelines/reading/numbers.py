"""Reads numbers, which have decimal marks, grouping, units and percent signs.

Plain ones are read as whole columns; the rest cell by cell. Whether `1.234` is over a thousand or a little more than
one is decided for a column, in this order: the mapping; the numbers of the column that can be read in one way only,
then those of the file; the delimiter `;` (then a comma); a header that is exactly the field's own name (then a point).
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import cache

import polars as pl

from pipelines.reading.grammar import unit_behind
from pipelines.reading.grid import (
    NO_FAULTS,
    NUMBERS,
    TEXT,
    Column,
    TypedColumn,
    all_faults,
    faults_where,
    read_distinct,
)
from pipelines.reading.words import is_uncertain, unit_of
from schemas.fields import Field
from schemas.messages import Message
from schemas.normalise import Unfit, quote

_SPACE = r"[\s'’]"
_OPENING = re.compile(r"(?:from|between|de|entre|von|zwischen)\s+", re.IGNORECASE)
_FIRST = re.compile(r"[\d.,\s]*+")
_DOTTED = re.compile(r"\d\s*+\.\.\.?\s*+\d")
_UP_TO_NEXT = re.compile(r"[^\d.,]*+(?P<dots>\.\.\.?\s*+)?(?=\d)")
_TO = re.compile(r"(?:[-–—~±…]|\b(?:to|and|à|et|bis|und)\b)\s*+\d\Z", re.IGNORECASE)
"""The parts of a range, searched one after the other: one pattern for all of it would backtrack over every position."""
_POWER = re.compile(r"\d[\d.,]*[eE]-\d+")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_WITH_UNIT = re.compile(
    rf"(?P<number>[+-]?[.,]?\d(?:[\d.,]|{_SPACE}(?=\d))*+(?:[eE][+-]?\d{{1,3}}(?!\d))?)\s*+(?P<unit>\S.*)?", re.DOTALL
)
"""A power of ten has at most three digits: with more, Decimal arithmetic would fail."""
_ONE_MARK = re.compile(r"(?!0[.,])\d{1,3}[.,]\d{3}")
_GROUPS = re.compile(rf"\d{{1,3}}(?:(?:,\d{{3}})+|(?:\.\d{{3}})+|(?:{_SPACE}\d{{3}})+)")
_LARGEST_INTEGER = 2**53
AMBIGUOUS = "ambiguous_number"
"""Code of a number with one mark that may be a decimal mark or group digits."""


def read_numbers(cells: pl.Series, column: Column, mark: str | None, number_cells: pl.Series | None) -> TypedColumn:
    """Read a column of numbers in the field's unit, within its limits; Int64 for an integer field."""
    field = column.field
    if number_cells is None:
        plain = _parse_plain(cells, mark)
    else:  # a workbook stores them as numbers, a percentage only where the field is one
        stored = cells.set(~number_cells, None)
        stored = stored.str.strip_suffix("%") if field.unit == "percent" else stored
        plain = _parse_plain(cells.set(number_cells, None), mark).fill_null(stored.cast(pl.Float64, strict=False))
    if column.factor != 1:
        plain = (plain * float(column.factor)).round(9)
    faults = NO_FAULTS
    if plain.null_count() > cells.null_count():
        odd = cells.set(plain.is_not_null(), None)
        rest = read_distinct(odd, lambda cell: read_number(cell, column, mark), pl.Float64)
        plain, faults = plain.fill_null(rest.values), rest.faults
    return _within_limits(plain, faults, field)


def _factor_of(unit: str, cell: str, column: Column) -> Decimal:
    """Return what a number with this unit behind it is multiplied by, to be in the field's. Raise `Unfit`."""
    own = column.field.unit
    if (known := None if is_uncertain(unit) else unit_of(unit, own)) is not None:
        return known.factor * column.per
    if (said := unit_behind(unit, own, column.field.name)) is not None:
        return said.factor * (column.per if said.per == 1 else 1)
    if own is None:
        message = Message("{cell} has a unit that cannot be converted; write the number alone.", cell=quote(cell))
    else:
        message = Message(
            "{cell} has a unit that cannot be converted; write the number in {unit}.", cell=quote(cell), unit=own
        )
    raise Unfit("unknown_unit", message)


def read_number(cell: str, column: Column, mark: str | None) -> float:
    """Read one number, in the field's unit. Raises `Unfit` with a sentence that quotes the cell."""
    text = cell.strip().replace("−", "-")
    if _DAY.fullmatch(text):
        raise Unfit(
            "invalid_number",
            Message("{cell} is a date; give the cell a number format and write the number.", cell=quote(cell)),
        )
    if _is_range(text) and not _POWER.fullmatch(text):
        raise Unfit("value_range", Message("{cell} is a range; write one number, such as its mean.", cell=quote(cell)))
    match = _WITH_UNIT.fullmatch(text)
    if match is None:
        raise Unfit(
            "invalid_number", Message("{cell} is no number; write digits only, such as 12.5.", cell=quote(cell))
        )
    factor = _factor_of(match["unit"], cell, column) if match["unit"] else column.factor
    return float(_parse_decimal(match["number"], cell, mark) * factor)


def _is_range(text: str) -> bool:
    """Return whether a text is two numbers with a word or sign between them: `84-86`, `from 3 to 5 g`, `1 g .. 2 g`."""
    opening = _OPENING.match(text)
    start = opening.end() if opening else 0
    first = _FIRST.match(text, start)
    assert first is not None
    if _DOTTED.search(first[0]):
        return True
    between = _UP_TO_NEXT.match(text, first.end())
    if between is None or not first[0].rstrip()[-1:].isdecimal():
        return False
    return between["dots"] is not None or _TO.search(text, first.end(), between.end() + 1) is not None


def _parse_decimal(number: str, cell: str, mark: str | None) -> Decimal:
    """Resolve the marks of a number: the last of two kinds is the decimal mark, a repeated one is grouping."""
    sign, digits = ("-", number[1:]) if number[0] == "-" else ("", number.removeprefix("+"))
    digits, _, power = digits.replace("E", "e").partition("e")
    last = max(digits.rfind("."), digits.rfind(","))
    kinds = {c for c in digits if c in ".,"}
    whole, fraction = digits, ""
    if last >= 0 and (len(kinds) == 2 or digits.count(digits[last]) == 1):
        whole, fraction = digits[:last], digits[last + 1 :]
        # A number with one mark may be a thousand or a fraction: one to three digits, not 0, then three.
        one = _ONE_MARK.fullmatch(digits)
        if one is not None and mark != digits[last]:
            if mark is None:
                point, grouped = both_readings(cell)
                message = Message(
                    "{cell} can be {fraction} or {whole}, and no other number in the file decides; "
                    'write more or fewer decimals, or say the decimal mark: mapping={{"decimal": ","}}.',
                    cell=quote(cell),
                    fraction=point,
                    whole=grouped,
                )
                raise Unfit(AMBIGUOUS, message)
            whole, fraction = digits, ""
    whole = whole or "0"
    if not (whole.isdigit() or _GROUPS.fullmatch(whole)) or (last >= 0 and fraction and not fraction.isdigit()):
        raise Unfit(
            "invalid_number",
            Message("The groups of digits in {cell} are not of three; write it without them.", cell=quote(cell)),
        )
    plain = re.sub(r"\D", "", whole)
    return Decimal(f"{sign}{plain}.{fraction or 0}e{power or 0}")


def both_readings(cell: str, mark: str = ".") -> tuple[str, str]:
    """Return both readings of an ambiguous number: as a fraction with that decimal mark, and as a thousand."""
    return re.sub(r"[.,]", mark, cell.strip()), re.sub(r"[.,]", "", cell.strip())


def _parse_plain(cells: pl.Series, mark: str | None) -> pl.Series:
    """Return plain numbers as Float64, all else as null. Digits of other scripts are not plain."""
    if cells.null_count() == len(cells):
        return cells.cast(pl.Float64)
    return cells.str.strip_chars().to_frame("cell").select_seq(_plain_number(mark)).to_series()


@cache
def _plain_number(mark: str | None) -> pl.Expr:
    """Return the number of a cell, null where it is not plain."""
    cell = pl.col("cell")
    certain = ["[0-9]{1,15}"]
    for sign in ".,":
        whole = "0|[0-9]{4,12}" if mark != sign else "[0-9]{1,12}"
        certain.append(rf"[0-9]{{1,15}}[{sign}](?:[0-9]{{1,2}}|[0-9]{{4,12}})|(?:{whole})[{sign}][0-9]{{3}}")
    number = cell.str.contains(rf"^[+-]?(?:{'|'.join(certain)})$")
    read: pl.Expr = pl.when(number).then(cell.str.replace(",", ".", literal=True))
    if mark is not None:
        other = "." if mark == "," else ","
        grouped = cell.str.contains(rf"^[+-]?[1-9][0-9]{{0,2}}[{other}][0-9]{{3}}$")
        read = pl.coalesce(read, pl.when(grouped).then(cell.str.replace(other, "", literal=True)))
    return read.cast(pl.Float64)


def _within_limits(values: pl.Series, faults: pl.DataFrame, field: Field) -> TypedColumn:
    """Return the numbers within the field's limits, and the faults of the others."""
    bad = [outside_limits(values, field)]
    if field.kind == "integer" and (broken := values != values.floor()).any():
        message = Message("{name} is a whole number; write it without decimals.", name=field.name)
        bad.insert(0, faults_where(broken, "invalid_type", message))
    values = values.scatter(all_faults(bad)["at"], None)
    return TypedColumn(values.cast(pl.Int64) if field.kind == "integer" else values, all_faults([faults, *bad]))


def outside_limits(values: pl.Series, field: Field) -> pl.DataFrame:
    """Return the faults of the numbers that are outside the field's limits."""
    low, high = field.minimum, field.maximum
    if field.kind == "integer" and high is None:
        high = _LARGEST_INTEGER
    outside = (values == float("inf")) | (values == float("-inf"))
    for beyond in (None if low is None else values < low, None if high is None else values > high):
        outside = outside if beyond is None else outside | beyond
    if not outside.any():
        return NO_FAULTS
    allowed = Message("{name} is at least {low}.", name=field.name, low=f"{low:g}{_unit_suffix(field)}")
    if high is not None:
        allowed = Message(
            "{name} is between {low} and {high}.",
            name=field.name,
            low=f"{low:g}",
            high=f"{high:.15g}{_unit_suffix(field)}",
        )
    return faults_where(outside, "out_of_range", allowed)


def _unit_suffix(field: Field) -> str:
    return f" {field.unit}" if field.unit and field.unit != "percent" else ""


def _unambiguous_pattern(mark: str) -> str:
    """Return a pattern for numbers in which only `mark` can be the decimal mark.

    Other than three digits follow it; or it comes after a group of the other mark; or the other mark
    repeats as grouping; or the digits before it are no group (a zero, or more than three digits).
    """
    other = "," if mark == "." else "."
    mark, other = f"[{mark}]", f"[{other}]"
    edge, end = r"(?:^|[^\d.,])", r"(?:$|[^\d.,])"
    grouped = rf"\d{{1,3}}(?:{other}\d{{3}})"
    return (
        rf"{edge}(?:{grouped}*|\d+){mark}(?:\d{{1,2}}|\d{{4,}}){end}"
        rf"|{edge}{grouped}+{mark}\d+{end}"
        rf"|{edge}{grouped}{{2,}}{end}"
        rf"|{edge}(?:0|\d{{4,}}){mark}\d{{3}}{end}"
    )


_UNAMBIGUOUS = {mark: _unambiguous_pattern(mark) for mark in (".", ",")}


def decimal_marks(
    table: pl.DataFrame,
    kinds: pl.DataFrame | None,
    columns: Iterable[Column],
    *,
    of_mapping: str | None,
    delimiter: str | None,
) -> dict[str, str]:
    """Return the mark of each number column that needs one and for which something decides, by column name.

    A column or file that contains numbers of both kinds decides nothing. `of_mapping` is the mapping's mark.
    """
    numbers = [column for column in columns if column.field.kind in NUMBERS]
    have_marks = table.select(pl.col(column.name for column in numbers).str.contains("[.,]").any())
    texts: dict[Column, pl.Series] = {}
    for column in (column for column in numbers if have_marks[column.name].any()):
        # A workbook's number cells say nothing about text cells.
        cells = table[column.name] if kinds is None else table[column.name].filter(kinds[column.name] == TEXT)
        cells = cells.filter(cells.str.contains("[.,]").fill_null(value=False))
        texts |= {column: cells} if len(cells) else {}
    if of_mapping is not None:
        return {column.name: of_mapping for column in texts}
    seen = {
        column: {mark for mark, pattern in _UNAMBIGUOUS.items() if cells.str.contains(pattern).any()}
        for column, cells in texts.items()
    }
    of_file = set().union(*seen.values())
    marks: dict[str, str] = {}
    for column, of_column in seen.items():
        if evidence := of_column or of_file:
            if len(evidence) == 1:
                marks[column.name] = next(iter(evidence))
        elif delimiter == ";":
            marks[column.name] = ","
        elif column.exact:
            marks[column.name] = "."
    return marks
