"""Reads cell text as typed values, kind by kind: text, codes, truths, markets, GTINs, ids and numbers.

`schemas.normalise` makes the stored form of a value, with the same function as for a JSON field; this module turns a
cell into the input of that function.

Numbers have decimal marks, grouping, units, percent signs. Plain ones are read as whole columns; the rest cell by cell.
Whether `1.234` is over a thousand or a little more than one is decided for a column, in this order: the mapping; the
numbers of the column that can be read in one way only, then those of the file; the delimiter `;` (then a comma); a
header that is exactly the field's own name (then a point).
"""

import csv
import re
import uuid
from collections.abc import Iterable, Sequence
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Final

import polars as pl
from stdnum import ean

from pipelines.reading.grammar import unit_behind
from pipelines.reading.grid import (
    LONGEST_VALUE,
    NO_FAULTS,
    NUMBERS,
    TEXT,
    Column,
    TypedColumn,
    all_faults,
    faults_where,
    read_distinct,
)
from pipelines.reading.words import certain, code_by_rules, is_uncertain, market_parts, unit_of, without_language
from schemas import files, normalise
from schemas.fields import Field
from schemas.messages import Message
from schemas.normalise import Unfit, none_named, quote, several_named
from schemas.texts import APOSTROPHE_BEFORE, CONTROL, INVISIBLE, NULL_WORDS, UNUSUAL
from schemas.words import code_of, fold, market_named

LIST_SEPARATOR = re.compile(r"[,;|]|\s/\s|\n")
MATERIALS: Final = ("material", "material_family")
"""Fields that contain the family of a material."""
_SEVERAL = re.compile(r"[/+&]|%.*%")
_ROUNDED = r"^\d[.,]\d+[eE]\+\d{2,}$"
EMPTY_LIST = "[]"
_LETTERS_OF_COUNTRY: Final = 2
_DAY_WITH_POINTS: Final = re.compile(r"(\d\d)\.(\d\d)\.(\d{4})", re.ASCII)
_EXPONENT = r"^\d[.,]?\d*[eE]\+?\d{2,}$"


def read_values(cells: pl.Series, column: Column, mark: str | None, number_cells: pl.Series | None) -> TypedColumn:
    """Read a column of cells as the field's type; a null cell gives null. `mark` is the column's decimal mark."""
    field = column.field
    match field.kind:
        case "number" | "integer":
            return read_numbers(cells, column, mark, number_cells)
        case "ppm":
            return read_distinct(cells, lambda cell: _ppm(cell, column, mark), pl.String)
        case "truth":
            return read_distinct(cells, lambda cell: _truth(certain(cell, "invalid_type"), field), pl.Boolean)
        case "code":
            return read_distinct(cells, lambda cell: _code(certain(cell, "not_in_vocabulary"), field), pl.String)
        case "codes":
            return read_distinct(cells, lambda cell: _codes(certain(cell, "not_in_vocabulary"), field), pl.String)
        case "markets":
            return read_distinct(cells, lambda cell: _markets(certain(cell, "unknown_market")), pl.String)
        case "uuid":
            return read_distinct(cells, lambda cell: _uuid(cell, column), pl.String)
        case "gtin":
            return _gtins(cells)
        case "day":
            return read_distinct(cells, _day, pl.String)
        case "country":
            return read_distinct(cells, _country, pl.String)
        case "marks":
            return read_distinct(cells, lambda cell: _marks(cell, int(field.maximum or 0)), pl.String)
        case _:
            return _texts(cells, field)


def cell_errors(cells: pl.Series) -> pl.DataFrame:
    """Return the cells that contain a spreadsheet's error (`#N/A`, `#WERT!`), as faults."""
    marked = cells.str.starts_with("#").fill_null(value=False)
    if not marked.any():
        return NO_FAULTS
    errors = cells.str.strip_chars().str.to_uppercase().is_in(_error_words()) & marked
    message = Message("The cell holds a spreadsheet error; put the value itself there, or leave the cell empty.")
    return faults_where(errors, "cell_error", message)


def unescaped(cells: pl.Series) -> pl.Series:
    """Remove the marks that make a spreadsheet read cells as text: `'00123`, `="00123"`.

    A `'` is also before a text that would mean something else as a cell: `null`, white space alone, another `'`.
    """
    marked = cells.str.contains(r"""^(?:="|')""").any()
    return cells.str.replace(r'^="([^"]*)"$', "$1").str.replace(APOSTROPHE_BEFORE, "$1") if marked else cells


_LONGEST_CODE: Final = 1_000
"""Characters of a cell that is compared as a code: four times as many as a code may have."""


@cache
def _error_words() -> list[str]:
    with (Path(__file__).parent / "cell_errors.csv").open(encoding="utf-8", newline="") as file:
        return [row["error"] for row in csv.DictReader(file)]


def as_codes(cells: pl.Expr) -> pl.Expr:
    """Return cells in the form in which codes are compared, as `schemas.texts.code` does; longer ones are cut."""
    return cells.str.head(_LONGEST_CODE).str.replace_all(f"[{INVISIBLE}]", "").str.normalize("NFC").str.strip_chars()


def _texts(cells: pl.Series, field: Field) -> TypedColumn:
    """Read text unchanged; only cells that the field cannot contain, or may have to trim, are examined one by one."""
    if field.min_length is not None:
        cells = cells.str.strip_chars()
    is_unusual = _unusual_text(field.max_length, is_code=field.name == "sku_code")
    unusual = cells.to_frame("cell").select_seq(is_unusual).to_series()
    if not unusual.any():
        return TypedColumn(cells, NO_FAULTS)
    odd = read_distinct(cells.set(~unusual, None), lambda cell: _text(cell, field), pl.String)
    return TypedColumn(cells.set(unusual, None).fill_null(odd.values), odd.faults)


@cache
def _unusual_text(longest: int | None, *, is_code: bool) -> pl.Expr:
    """Return whether a cell may be no text of a field with this `max_length`, or be trimmed by it."""
    cell = pl.col("cell").str
    unusual = cell.contains(f"{CONTROL}|{UNUSUAL}")
    unusual = unusual if longest is None else unusual | (cell.len_bytes() > longest)
    return (unusual | cell.contains(_ROUNDED) if is_code else unusual).fill_null(value=False)


def _text(cell: str, field: Field) -> str:
    if field.name == "sku_code" and re.match(_ROUNDED, cell):
        raise _digits_lost(cell)
    return normalise.text(cell, min_length=field.min_length, max_length=field.max_length, is_code=field.is_code)


def _gtins(cells: pl.Series) -> TypedColumn:
    """Accept GTINs with a correct check digit as a column; only the others are examined one by one for the reason."""
    cells = cells.str.strip_chars()
    cell, number = pl.col("cell"), pl.col("number")
    shaped = cell.str.contains(r"^(?:[0-9]{8}|[0-9]{12,14})$")
    numbers = cells.to_frame("cell").select_seq(number=pl.when(shaped).then(cell.str.zfill(14)).cast(pl.Int64))
    total = pl.sum_horizontal(((number // 10**place) % 10) * (3 if place % 2 else 1) for place in range(14))
    right = numbers.select(number.is_not_null() & (total % 10 == 0)).to_series()
    if right.sum() + cells.null_count() == len(cells):
        return TypedColumn(cells, NO_FAULTS)
    odd = read_distinct(cells.set(right, None), _gtin, pl.String)
    return TypedColumn(cells.set(~right, None).fill_null(odd.values), odd.faults)


def _gtin(cell: str) -> str:
    if re.match(_EXPONENT, cell):
        raise _digits_lost(cell)
    digits = re.sub(r"[\s-]|[.,]0+$", "", cell)
    if len(digits) == 11 and ean.is_valid(f"0{digits}"):
        raise Unfit(
            "invalid_gtin",
            Message(
                "{value} has 11 digits; if a spreadsheet took a zero off, it is 0{digits}.",
                value=quote(cell),
                digits=digits,
            ),
        )
    return normalise.gtin(digits)


def _digits_lost(cell: str) -> Unfit:
    return Unfit(
        "digits_lost",
        Message(
            "A spreadsheet has rounded the number to {cell}; take it again from its source and store it as text.",
            cell=quote(cell),
        ),
    )


def _day(cell: str) -> str:
    """Return an ISO day; `31.12.2026` is one in every language that writes points."""
    with_points = _DAY_WITH_POINTS.fullmatch(cell.strip())
    return files.day("-".join(with_points.group(3, 2, 1)) if with_points else cell.strip()).isoformat()


def _country(cell: str) -> str:
    code = market_named(cell.strip())
    if len(code) > _LETTERS_OF_COUNTRY:
        message = Message("{cell} is a part of a country; name the country.", cell=quote(cell))
        raise Unfit("invalid_format", message)
    return code


def _uuid(cell: str, column: Column) -> str:
    """Return an id; a name that a record has was replaced by its id before."""
    try:
        return str(uuid.UUID(cell.strip()))
    except ValueError:
        pass
    if same := [name for name in column.names if fold(name) == fold(cell)]:
        raise several_named(cell, sorted(same))
    names = {fold(name): name for name in column.names}
    near = [names[folded] for folded in get_close_matches(fold(cell[:LONGEST_VALUE]), names, n=3, cutoff=0)]
    if near:
        raise none_named(cell, near)
    message = Message(
        "{cell} is no id; {name} takes the UUID that the service gave.", cell=quote(cell), name=column.field.name
    )
    raise Unfit("invalid_format", message)


def _truth(cell: str, field: Field) -> bool:
    code = code_of_words(cell, "truth") or code_of_words(cell, field.name)
    if code is None:
        raise Unfit(
            "invalid_type",
            Message("{cell} is neither yes nor no; write yes or no (oui/non, ja/nein, 1/0).", cell=quote(cell)),
        )
    return code == "true"


def _code(cell: str, field: Field) -> str:
    vocabulary = field.vocabulary or field.name
    code = code_of_words(without_language(cell), vocabulary)
    code = code or code_by_rules(cell, vocabulary)
    if code is None and vocabulary in MATERIALS and _SEVERAL.search(cell):
        several = Message(
            "{value} names several materials; write the one that weighs most, or composite where they cannot be "
            "taken apart, or give each a component.",
            value=quote(cell),
        )
        raise Unfit("not_in_vocabulary", several)
    return normalise.code(code or cell.strip(), vocabulary)


def code_of_words(cell: str, vocabulary: str) -> str | None:
    """Return the code of a word, or of a word in several languages: `Oui / Ja`."""
    if (code := code_of(cell, vocabulary)) is not None or "/" not in cell:
        return code
    codes = {code_of(side, vocabulary) for side in cell.split("/")}
    return codes.pop() if len(codes) == 1 else None


def _codes(cell: str, field: Field) -> str:
    vocabulary = field.vocabulary or field.name
    if cell.strip() == EMPTY_LIST:
        return _array([])
    parts = [part for part in LIST_SEPARATOR.split(cell) if part.strip()] or [cell]
    words = [code_of_words(without_language(part), vocabulary) or part.strip() for part in parts]
    codes = [normalise.code(word, vocabulary) for word in words]
    return _array(codes)


def _markets(cell: str) -> str:
    if cell.strip() == EMPTY_LIST:
        return _array([])
    return _array([market_named(part) for part in market_parts(cell) or [cell]])


def _marks(cell: str, most: int) -> str:
    """Return the names of marks with `;` between them, each once, and the sign of an empty list where none is there."""
    named = list(dict.fromkeys(part.strip() for part in LIST_SEPARATOR.split(cell) if part.strip()))
    if cell.strip() == EMPTY_LIST or [code_of(name, "no_marks") for name in named] == ["none"]:
        return EMPTY_LIST
    if any(code_of(name, words) for name in named for words in ("truth", "no_answer")):
        message = Message("{cell} names no mark; write the names of the marks, or none.", cell=quote(cell))
        raise Unfit("invalid_type", message)
    if len(named) > most:
        message = Message("At most {most} marks of a pack are taken; these are {given}.", most=most, given=len(named))
        raise Unfit("out_of_range", message)
    return ";".join(normalise.text(name, min_length=1, max_length=LONGEST_VALUE) for name in named)


def _array(codes: list[str]) -> str:
    """Return codes as a Postgres array literal, each once."""
    return "{" + ",".join(dict.fromkeys(codes)) + "}"


_LESS: Final = " < "
"""Between a sum and the metals that are more (`by_cells.py`)."""


def _ppm(cell: str, column: Column, mark: str | None) -> str:
    """Return a measured value, or `<N` as an attestation below the limit."""
    text = cell.strip()
    if _LESS in text:
        message = Message("The sum is less than the metals that stand beside it: {cell}.", cell=quote(text))
        raise Unfit("conflicting_declaration", message)
    number = read_number(text.removeprefix("<"), column, mark)
    if text.startswith("<"):
        return normalise.attested_ppm(f"<{number:.15g}")
    return f"{normalise.measured_ppm(number):.15g}"


_IS_NULL_WORD: Final = pl.first().str.strip_chars().is_in(NULL_WORDS)
_ZEROS: Final = r"^\s*0{6,}\s*$"
"""How programs write that there is no number: no barcode and no code is made of zeros alone."""


def without_null_words(cells: pl.DataFrame, columns: Sequence[Column]) -> pl.DataFrame:
    """Return the cells with null in place of a program's word for no value, and of a number of zeros alone.

    A code keeps it, which is a fault of its row (`is_null_word`); so do lists of markets, where NA is Namibia, and
    columns with a vocabulary, whose words come first.
    """
    numbers = [column.name for column in columns if column.field.kind == "gtin" or column.name == "sku_code"]
    if any(cells.select(pl.col(numbers).str.starts_with("0000").any()).row(0)):
        cells = cells.with_columns(pl.when(~pl.col(name).str.contains(_ZEROS)).then(pl.col(name)) for name in numbers)
    names = [column.name for column in columns if column.field.kind == "text" and column.name != "sku_code"]
    null_words = pl.col(names).str.strip_chars().is_in(NULL_WORDS)
    if not names or not any(cells.select(null_words.any()).row(0)):
        return cells
    return cells.with_columns(
        pl.when(~pl.col(name).str.strip_chars().is_in(NULL_WORDS)).then(pl.col(name)) for name in names
    )


def is_null_word(cells: pl.Series) -> pl.Series:
    """Return which cells are a program's word for no value."""
    return cells.to_frame().select_seq(_IS_NULL_WORD.fill_null(value=False)).to_series()


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
