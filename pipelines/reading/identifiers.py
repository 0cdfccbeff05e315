"""Reads codes that have a form of their own: GTINs, ids, days and countries."""

import re
import uuid
from difflib import get_close_matches
from typing import Final

import polars as pl
from stdnum import ean

from pipelines.reading.grid import LONGEST_VALUE, NO_FAULTS, Column, TypedColumn, read_distinct
from schemas import files, normalise
from schemas.messages import Message
from schemas.normalise import Unfit, quote
from schemas.words import fold, market_named

_EXPONENT = r"^\d[.,]?\d*[eE]\+?\d{2,}$"
_DAY_WITH_POINTS: Final = re.compile(r"(\d\d)\.(\d\d)\.(\d{4})", re.ASCII)
_LETTERS_OF_COUNTRY: Final = 2


def gtins(cells: pl.Series) -> TypedColumn:
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
        raise digits_lost(cell)
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


def digits_lost(cell: str) -> Unfit:
    """Return the fault of a number that a spreadsheet has rounded."""
    return Unfit(
        "digits_lost",
        Message(
            "A spreadsheet has rounded the number to {cell}; take it again from its source and store it as text.",
            cell=quote(cell),
        ),
    )


def day(cell: str) -> str:
    """Return an ISO day; `31.12.2026` is one in every language that writes points."""
    with_points = _DAY_WITH_POINTS.fullmatch(cell.strip())
    return files.day("-".join(with_points.group(3, 2, 1)) if with_points else cell.strip()).isoformat()


def country(cell: str) -> str:
    """Return the code of a country."""
    code = market_named(cell.strip())
    if len(code) > _LETTERS_OF_COUNTRY:
        message = Message("{cell} is a part of a country; name the country.", cell=quote(cell))
        raise Unfit("invalid_format", message)
    return code


def uuid_of(cell: str, column: Column) -> str:
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
