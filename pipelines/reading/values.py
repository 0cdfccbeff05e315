"""Reads cell text as typed values, kind by kind: text, codes, truths, markets, GTINs, ids and numbers.

`schemas.normalise` makes the stored form of a value, with the same function as for a JSON field; this module turns a
cell into the input of that function.

`numbers.py` reads numbers.
"""

import csv
import re
import uuid
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Final

import polars as pl
from stdnum import ean

from pipelines.reading.grid import (
    LONGEST_VALUE,
    NO_FAULTS,
    Column,
    TypedColumn,
    faults_where,
    read_distinct,
)
from pipelines.reading.numbers import read_number, read_numbers
from pipelines.reading.words import certain, code_by_rules, market_parts, without_language
from schemas import files, normalise
from schemas.fields import Field
from schemas.messages import Message
from schemas.normalise import Unfit, quote
from schemas.texts import APOSTROPHE_BEFORE, CONTROL, INVISIBLE, NULL_WORDS, UNUSUAL
from schemas.words import code_of, fold, market_named

LIST_SEPARATOR = re.compile(r"[,;|]|\s/\s|\n")
MATERIALS: Final = ("material", "material_family")
"""Fields that contain the family of a material."""
_SEVERAL = re.compile(r"[/+&]|%.*%")
_EXPONENT = r"^\d[.,]?\d*[eE]\+?\d{2,}$"
_ROUNDED = r"^\d[.,]\d+[eE]\+\d{2,}$"
EMPTY_LIST = "[]"
_DAY_WITH_POINTS: Final = re.compile(r"(\d\d)\.(\d\d)\.(\d{4})", re.ASCII)
_LETTERS_OF_COUNTRY: Final = 2


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


def _uuid(cell: str, column: Column) -> str:
    """Return an id; a name that a record has was replaced by its id before."""
    try:
        return str(uuid.UUID(cell.strip()))
    except ValueError:
        pass
    if same := [name for name in column.names if fold(name) == fold(cell)]:
        message = Message(
            "Several records have the name {cell}: {names}. Merge them, or write the id of the one that is meant.",
            cell=quote(cell),
            names=", ".join(sorted(same)),
        )
        raise Unfit("unknown_reference", message)
    names = {fold(name): name for name in column.names}
    near = [names[folded] for folded in get_close_matches(fold(cell[:LONGEST_VALUE]), names, n=3, cutoff=0)]
    if not near:
        message = Message(
            "{cell} is no id; {name} takes the UUID that the service gave.", cell=quote(cell), name=column.field.name
        )
        raise Unfit("invalid_format", message)
    message = Message(
        "{cell} is no id, and no record has this name; the nearest names are: {names}.",
        cell=quote(cell),
        names=", ".join(near),
    )
    raise Unfit("unknown_reference", message)


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


_PAIRS: Final = (('"', '"'), ("'", "'"), ("`", "`"), ("“", "”"), ("„", "“"), ("«", "»"), ("‘", "’"), ("‚", "‘"))
_WRAPPED: Final = [
    rf"^\s*{re.escape(begin)}\s*([^{re.escape(begin + end)}]*?[^{re.escape(begin + end)}\s])\s*{re.escape(end)}\s*$"
    for begin, end in _PAIRS
]


def without_marks(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the cells without the quotation marks around codes; where all codes have them, around other cells too.

    A file has them that was written with a space before each mark, or with single ones. A name in quotation marks
    beside a plain code keeps them.
    """
    codes = cells["sku_code"]
    if not codes.str.contains(r"^\s*\W.*\W\s*$").any():
        return cells
    everywhere = False
    for pattern in _WRAPPED:
        if codes.str.contains(pattern).any():
            everywhere |= bool(codes.drop_nulls().str.contains(pattern).all())
            names = cells.columns if everywhere else ["sku_code"]
            cells = cells.with_columns(pl.col(names).str.replace(pattern, "$1"))
    return cells


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
