"""Reads units of quarters or months side by side as those of their year: `Q1 2025 | Q2 2025 | Q3 2025 | Q4 2025`.

They are read where all of a year are there, each with numbers, and no column gives the year; typed cells are added up.
Else they are asked about. What a mapping names as a part of a year is counted, whichever parts are there.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Final, TypeAlias

import polars as pl

from compliance.catalogue import pinned, served
from pipelines.reading.column_values import Searched, has_numbers
from pipelines.reading.columns import units_of_part
from pipelines.reading.grid import VOLUME, Column, letter
from pipelines.reading.questions import question
from schemas.imports.types import Asked
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.normalise import quote

_WHOLE: Final = (frozenset(f"q{at}" for at in range(1, 5)), frozenset(f"m{at:02}" for at in range(1, 13)))
"""The quarters, and the months, of a year."""
_FEWEST: Final = 2
"""Columns of parts of one year that are asked about: a month alone may be a date."""
_Years: TypeAlias = dict[tuple[str | None, int | None, str], list[Column]]


def whole_years(columns: Sequence[Column], header: Searched, *, of_rows: bool) -> list[Column]:
    """Return the free columns of the parts of years that are whole; `of_rows` where each row names the market."""
    free = header.free([column.position for column in columns]).items()
    found = [c for at, cell in free if (c := units_of_part(cell, at)) is not None and has_numbers(header, at)]
    certain = [column for column in found if column.open is None and (column.market is None) == of_rows]
    return [column for parts in _by_year(certain, columns).values() if _is_whole(parts) for column in parts]


def _by_year(found: Iterable[Column], columns: Sequence[Column]) -> _Years:
    """Return parts of years by market, year and whether they are quarters; without those whose year a column gives."""
    given = {(column.market, column.year) for column in columns if column.field == VOLUME}
    years: _Years = {}
    for column in found:
        if (column.market, column.year) not in given:
            years.setdefault((column.market, column.year, column.part[0]), []).append(column)
    by_quarters = {(market, year) for (market, year, kind), parts in years.items() if kind == "q" and _is_whole(parts)}
    return {key: parts for key, parts in years.items() if key[2] == "q" or key[:2] not in by_quarters}


def _is_whole(parts: Sequence[Column]) -> bool:
    return len(parts) == len({column.part for column in parts}) and {column.part for column in parts} in _WHOLE


def years_asked(
    ignored: Iterable[tuple[int, str]], columns: Sequence[Column], sheet: str | None
) -> list[tuple[list[Column], Asked]]:
    """Return the ignored columns of parts of each year that is not read, with the question about them."""
    found = [column for at, header in ignored if (column := units_of_part(header, at)) is not None]
    has_market = any(column.name == "markets" for column in columns)
    return [
        (parts, _about(parts, sheet, is_whole=_is_whole(parts), has_market=has_market))
        for parts in _by_year(found, columns).values()
        if len(parts) >= _FEWEST
    ]


def _about(parts: Sequence[Column], sheet: str | None, *, is_whole: bool, has_market: bool) -> Asked:
    """Return the question about the parts of a year; its answer names all of them, and a market where nothing does."""
    answer: JsonObject = {"columns": {column.name: letter(column.position) for column in parts}}
    could_be = [VOLUME.name]
    if parts[0].market is None and not has_market:
        could_be = sorted(entry.code for entry in served(pinned()) if "-" not in entry.code)
        answer["constants"] = {"markets": could_be[0]}
    headers = ", ".join(quote(column.header) for column in parts)
    if is_whole:
        message = Message(
            "{headers} may be the units of a year that were placed on a market; they are not read. If they are, they "
            "are added up: mapping={mapping}.",
            headers=headers,
            mapping=answer,
        )
    else:
        message = Message(
            "{headers} may be units, and are not all quarters or months of a year; they are not read. If no others "
            "were placed on the market in that year, they are added up: mapping={mapping}.",
            headers=headers,
            mapping=answer,
        )
    return question("column", message, could_be=could_be, column=parts[0], sheet=sheet, text=headers)


def add_up(columns: Iterable[Column], values: dict[str, pl.Series], presence: dict[str, pl.Series]) -> None:
    """Put the units of each year into the first column of its parts, where a row gives a part; the others are empty.

    An empty part counts as none placed.
    """
    years: _Years = {}
    for column in columns:
        if column.part:
            years.setdefault((column.market, column.year, column.part[0]), []).append(column)
    for first, *others in years.values():
        names = [first.name, *(column.name for column in others)]
        units = pl.DataFrame([values[name].alias(name) for name in names])
        given = units.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
        values[first.name] = units.sum_horizontal().set(~given, None).alias(first.name)
        presence[first.name] = reduce(or_, (presence[name] for name in names))
        for name in names[1:]:
            presence[name] = pl.repeat(value=False, n=len(presence[name]), eager=True)
