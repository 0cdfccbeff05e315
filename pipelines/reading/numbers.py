"""Reads cell text as numbers: decimal marks, grouping, units, percent signs; a cell that is none gets a fault.

Plain numbers are read as whole columns; the rest cell by cell. Whether `1.234` is over a thousand or a little more than
one is decided for a column, in this order: the mapping; the numbers of the column that can be read in one way only,
then those of the file; the delimiter `;` (then a comma); a header that is exactly the field's own name (then a point).
"""

import re
from collections.abc import Iterable
from decimal import Decimal

import polars as pl

from pipelines.reading.fields import NUMBERS, Column, TypedColumn, faults_where, no_faults, read_distinct
from pipelines.reading.grid import TEXT
from pipelines.reading.words import unit_of
from schemas.fields import Field
from schemas.messages import Message
from schemas.normalise import Unfit, shown

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
    odd = cells.set(plain.is_not_null(), None)
    faults = no_faults()
    if odd.null_count() < len(odd):
        rest = read_distinct(odd, lambda cell: read_number(cell, column, mark), pl.Float64)
        plain, faults = plain.fill_null(rest.values), rest.faults
    return _within_limits(plain, faults, field)


def read_number(cell: str, column: Column, mark: str | None) -> float:
    """Read one number, in the field's unit. Raises `Unfit` with a sentence that quotes the cell."""
    text = cell.strip().replace("−", "-")
    if _DAY.fullmatch(text):
        raise Unfit(
            "invalid_number",
            Message("{cell} is a date; give the cell a number format and write the number.", cell=shown(cell)),
        )
    if _is_range(text) and not _POWER.fullmatch(text):
        raise Unfit("value_range", Message("{cell} is a range; write one number, such as its mean.", cell=shown(cell)))
    found = _WITH_UNIT.fullmatch(text)
    if found is None:
        raise Unfit(
            "invalid_number", Message("{cell} is no number; write digits only, such as 12.5.", cell=shown(cell))
        )
    factor = column.factor
    if found["unit"]:
        unit = unit_of(found["unit"], column.field.unit)
        if unit is None:
            if (own := column.field.unit) is None:
                message = Message(
                    "{cell} has a unit that cannot be converted; write the number alone.", cell=shown(cell)
                )
            else:
                message = Message(
                    "{cell} has a unit that cannot be converted; write the number in {unit}.",
                    cell=shown(cell),
                    unit=own,
                )
            raise Unfit("unknown_unit", message)
        factor = unit.factor * column.per
    return float(_parse_decimal(found["number"], cell, mark) * factor)


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
    if last < 0:
        whole, fraction = digits, ""
    elif len(kinds) == 2 or digits.count(digits[last]) == 1:
        whole, fraction = digits[:last], digits[last + 1 :]
        # A number with one mark may be a thousand or a fraction: one to three digits, not 0, then three.
        one = _ONE_MARK.fullmatch(digits)
        if one is not None and mark != digits[last]:
            if mark is None:
                point, grouped = both_readings(cell)
                message = Message(
                    "{cell} can be {fraction} or {whole}, and no other number in the file decides; "
                    'write more or fewer decimals, or say the decimal mark: mapping={{"decimal": ","}}.',
                    cell=shown(cell),
                    fraction=point,
                    whole=grouped,
                )
                raise Unfit(AMBIGUOUS, message)
            whole, fraction = digits, ""
    else:
        whole, fraction = digits, ""
    whole = whole or "0"
    if not (whole.isdigit() or _GROUPS.fullmatch(whole)) or (last >= 0 and fraction and not fraction.isdigit()):
        raise Unfit(
            "invalid_number",
            Message("The groups of digits in {cell} are not of three; write it without them.", cell=shown(cell)),
        )
    plain = re.sub(r"\D", "", whole)
    return Decimal(f"{sign}{plain}.{fraction or 0}e{power or 0}")


def both_readings(cell: str, mark: str = ".") -> tuple[str, str]:
    """Return both readings of an ambiguous number: as a fraction with that decimal mark, and as a thousand."""
    return re.sub(r"[.,]", mark, cell.strip()), re.sub(r"[.,]", "", cell.strip())


def _parse_plain(cells: pl.Series, mark: str | None) -> pl.Series:
    """Return plain numbers as Float64, all else as null. Digits of other scripts are not plain."""
    cells = cells.str.strip_chars()
    integer = cells.str.contains(r"^[+-]?[0-9]{1,15}$")
    read = cells.set(~integer.fill_null(value=False), None).cast(pl.Float64)
    for sign, other in ((".", ","), (",", ".")):
        if not cells.str.contains(sign, literal=True).any():
            continue
        certain = cells.str.contains(
            rf"^[+-]?(?:[0-9]{{1,15}}[{sign}](?:[0-9]{{1,2}}|[0-9]{{4,12}})|(?:0|[0-9]{{4,12}})[{sign}][0-9]{{3}})$"
        )
        if mark == sign:
            certain |= cells.str.contains(rf"^[+-]?[0-9]{{1,3}}[{sign}][0-9]{{3}}$")
        chosen = cells.set(~certain.fill_null(value=False), None).str.replace(",", ".", literal=True)
        read = read.fill_null(chosen.cast(pl.Float64))
        if mark == other:
            grouped = cells.str.contains(rf"^[+-]?[1-9][0-9]{{0,2}}[{sign}][0-9]{{3}}$")
            chosen = cells.set(~grouped.fill_null(value=False), None).str.replace(sign, "", literal=True)
            read = read.fill_null(chosen.cast(pl.Float64))
    return read


def _within_limits(values: pl.Series, faults: pl.DataFrame, field: Field) -> TypedColumn:
    """Return the numbers within the field's limits, and the faults of the others."""
    bad = []
    if field.kind == "integer":
        broken = (values != values.floor()).fill_null(value=False)
        bad.append(
            (broken, "invalid_type", Message("{name} is a whole number; write it without decimals.", name=field.name))
        )
    bad.append(outside_limits(values, field))
    for where, code, message in bad:
        if where.any():
            faults = faults.vstack(faults_where(where, code, message))
            values = values.set(where, None)
    if field.kind == "integer":
        values = values.cast(pl.Int64)
    return TypedColumn(values, faults)


def outside_limits(values: pl.Series, field: Field) -> tuple[pl.Series, str, Message]:
    """Return which numbers are outside the field's limits, with the code and the sentence of their faults."""
    low, high = field.minimum, field.maximum
    if field.kind == "integer":
        high = _LARGEST_INTEGER if high is None else high
    outside = (values < low) if low is not None else pl.repeat(value=False, n=len(values), eager=True)
    if high is not None:
        outside = outside | (values > high)
    outside = (outside | values.is_infinite()).fill_null(value=False)
    allowed = Message("{name} is at least {low}.", name=field.name, low=f"{low:g}{_unit_suffix(field)}")
    if high is not None:
        allowed = Message(
            "{name} is between {low} and {high}.",
            name=field.name,
            low=f"{low:g}",
            high=f"{high:.15g}{_unit_suffix(field)}",
        )
    return outside, "out_of_range", allowed


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
    given: str | None,
    delimiter: str | None,
) -> dict[str, str]:
    """Return the mark of each number column that needs one and for which something decides, by column name.

    A column or file that contains numbers of both kinds decides nothing. `given` is the mapping's mark.
    """
    shown: dict[Column, pl.Series] = {}
    for column in (column for column in columns if column.field.kind in NUMBERS):
        # A workbook's number cells say nothing about text cells.
        cells = table[column.name] if kinds is None else table[column.name].filter(kinds[column.name] == TEXT)
        cells = cells.filter(cells.str.contains("[.,]").fill_null(value=False))
        shown |= {column: cells} if len(cells) else {}
    if given is not None:
        return {column.name: given for column in shown}
    seen = {
        column: {mark for mark, pattern in _UNAMBIGUOUS.items() if cells.str.contains(pattern).any()}
        for column, cells in shown.items()
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
