"""Reads columns side by side that are one field together: ticks under markets, units of the quarters of a year.

`DE | FR | AT` over ticks are the markets of each line. Units of quarters or months are read where all of a year are
there, each with numbers, and no column gives the year; typed cells are added up. Else they are asked about. What a
mapping names as a part of a year is counted, whichever parts are there. Titles may say the year of all of them.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Final, TypeAlias

import polars as pl

from compliance.catalogue import pinned, served
from pipelines.reading.column_values import Searched, has_numbers, is_served
from pipelines.reading.columns import units_of_part, units_of_rows
from pipelines.reading.grammar import mentions, tokens_of
from pipelines.reading.grid import LONGEST_HEADER, VOLUME, Column, fields_of, letter, repeated
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.placed import YEAR, is_of_selling, market_code, market_of
from pipelines.reading.questions import question
from schemas.imports.types import Asked
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.normalise import quote
from schemas.words import code_lists, code_of, fold, headers, words

_TICK: Final = r"^\s*[01]\s*$"
_FIGURE: Final = r"[2-9]|\d."
_WHOLE: Final = (
    frozenset(f"q{at}" for at in range(1, 5)),
    frozenset(("h1", "h2")),
    frozenset(f"m{at:02}" for at in range(1, 13)),
)
"""The quarters, the halves and the months of a year: of several that are whole the first counts."""
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
    """Return parts of years by market, year and kind, one kind where it is whole; none where the year is given."""
    given = {(column.market, column.year) for column in columns if column.field == VOLUME}
    years: _Years = {}
    for column in found:
        if (column.market, column.year) not in given:
            years.setdefault((column.market, column.year, column.part[0]), []).append(column)
    whole: dict[tuple[str | None, int | None], str] = {}
    for kind in (next(iter(parts))[0] for parts in _WHOLE):
        for market, year, own in years:
            if own == kind and _is_whole(years[market, year, own]):
                whole.setdefault((market, year), kind)
    return {key: parts for key, parts in years.items() if whole.get(key[:2], key[2]) == key[2]}


def _is_whole(parts: Sequence[Column]) -> bool:
    return len(parts) == len({column.part for column in parts}) and {column.part for column in parts} in _WHOLE


def years_asked(
    ignored: Iterable[tuple[int, str]], columns: Sequence[Column], sheet: str | None
) -> list[tuple[list[Column], Asked]]:
    """Return the ignored columns of parts of each year that is not read, with the question about them."""
    ignored = list(ignored)
    found = [column for at, header in ignored if (column := units_of_part(header, at)) is not None]
    has_market = any(column.name == "markets" for column in columns)
    bare = _bare_years(ignored)
    bare = bare if len(bare) >= _FEWEST else []
    if has_market and not any(column.name == "component_type" for column in columns):
        bare += [c for at, text in ignored if (c := units_of_rows(text, at)) is not None and names_year(c)]
    is_open = bare and not any(column.field == VOLUME for column in columns)
    of_years = [(bare, _about(bare, sheet, is_whole=None, has_market=has_market))] if is_open else []
    return of_years + [
        (parts, _about(parts, sheet, is_whole=_is_whole(parts), has_market=has_market))
        for parts in _by_year(found, columns).values()
        if len(parts) >= _FEWEST or (parts[0].part[0] == "h" and parts[0].open is None)
    ]


def _bare_years(ignored: Iterable[tuple[int, str]]) -> list[Column]:
    """Return the units of years whose headers are years alone: `2024 | 2025`."""
    years = (
        (at, units_of_rows(f"{VOLUME.name}_{text.strip()}", at)) for at, text in ignored if YEAR.fullmatch(text.strip())
    )
    return [column for _, column in years if column is not None]


def names_year(column: Column) -> bool:
    """Return whether units are of a year by their header: `Menge 2025`, `Jahresmenge`."""
    return column.year is not None or headers("sku").get(fold(column.header)) == VOLUME.name


def _about(parts: Sequence[Column], sheet: str | None, *, is_whole: bool | None, has_market: bool) -> Asked:
    """Return the question about the parts of a year; its answer names all of them, and a market where nothing does."""
    answer: JsonObject = {"columns": {column.name: letter(column.position) for column in parts}}
    could_be = ["add_up"]
    if parts[0].market is None and not has_market:
        could_be = sorted(entry.code for entry in served(pinned()) if "-" not in entry.code)
        answer["constants"] = {"markets": could_be[0]}
    listed = ", ".join(quote(column.header.removeprefix(f"{VOLUME.name}_")) for column in parts)
    if is_whole is None:
        could_be = could_be if len(could_be) > 1 else [VOLUME.name]
        message = Message(
            "{headers} may be the units of each year that were placed on a market; they are not read. If they are, say "
            "so: mapping={mapping}.",
            headers=listed,
            mapping=answer,
        )
    elif is_whole:
        message = Message(
            "{headers} may be the units of a year that were placed on a market; they are not read. If they are, they "
            "are added up: mapping={mapping}.",
            headers=listed,
            mapping=answer,
        )
    else:
        message = Message(
            "{headers} may be units, and are not all parts of a year; they are not read. If no others "
            "were placed on the market in that year, they are added up: mapping={mapping}.",
            headers=listed,
            mapping=answer,
        )
    return question("column", message, could_be=could_be, sheet=sheet, text=listed)


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
            presence[name] = repeated(value=False, height=len(presence[name]))


def states_in_doubt(placed: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns of units whose market may be a state of the USA, as a header beside it names: `CA | NY`.

    The headers differ in one word alone, which is a state's and no market's. Each column is open, by its own code.
    """
    states = {fold(code) for code in code_lists("markets")["us_states"]}
    taken = {column.position for column in placed}
    beside = [tokens_of(text) for at, text in header.free([]).items() if at not in taken and len(text) < LONGEST_HEADER]
    found: list[Column] = []
    for column in placed:
        tokens = tokens_of(column.header)
        pairs = [list(zip(tokens, other, strict=True)) for other in beside if len(other) == len(tokens)]
        differing = [[pair for pair in of_one if pair[0] != pair[1]] for of_one in pairs]
        codes = {own for [(own, other)] in filter(_is_one, differing) if other in states and not is_served(other)}
        found += [replace(column, open=code) for code in codes & states if market_code(code) == column.market]
    return found


def _is_one(pairs: Sequence[tuple[str, str]]) -> bool:
    return len(pairs) == 1


def with_ticked_markets(
    columns: list[Column], header: Searched, reads: Callable[[Column], bool]
) -> tuple[list[Column], tuple[Column, ...]]:
    """Return the columns with that of the markets in which ticks say that an item is sold, and the columns of ticks.

    `DE | FR | AT` stand over `x` and empty cells. Each is of a market, or of several at once (`EU`) as its header names
    them; two at least name markets of the catalogue. A table with a column of markets has none, nor do ticks under a
    title that says something else, such as `Registered`.
    """
    field = fields_of("sku")["markets"]
    ticks: list[Column] = []
    has_figures = False
    for at, cell in header.free([column.position for column in columns]).items() if header.table == "sku" else ():
        market = cell if words("market_group").get(fold(cell)) else market_of(cell)
        if market is not None and _are_ticks(header.under(at)):
            ticks.append(Column(field.name, field, "sku", at, cell, market=market))
        has_figures |= market is not None and header.under(at).str.contains(_FIGURE).any()
    if has_figures:  # beside units of a market, 1 and 0 are units too
        ticks = [column for column in ticks if not header.under(column.position).str.contains(r"\d").any()]
    is_given = any(column.field == field for column in columns) or not all(map(reads, ticks))
    first, last = (ticks[0].position, ticks[-1].position) if ticks else (0, 0)
    start = max((column.position + 1 for column in columns if column.position < first), default=0)
    titles = header.grid.row(header.at - 1)[start : last + 1] if header.at > 0 else []
    is_given |= not all(is_of_selling(tokens_of(title)) for title in titles if title is not None)
    if is_given or sum(is_served(str(column.market)) for column in ticks) < 2:
        return columns, ()
    return [*columns, replace(ticks[0], market=None)], tuple(ticks)


def _meaning_of_tick(cell: str) -> str | None:
    return code_of(cell, "truth") or code_of(cell, "no_answer")


def _are_ticks(cells: pl.Series) -> bool:
    """Return whether most cells are ticks, yes or no, one a tick at least; figures are none but 1 and 0 alone."""
    figures = cells.str.contains(r"\d") & ~cells.str.contains(_TICK)
    said = [None if figures.any() and any(map(str.isdigit, cell)) else _meaning_of_tick(cell) for cell in cells]
    return "true" in said and 2 * said.count(None) <= len(said)


def with_ticks(cells: pl.DataFrame, body: pl.DataFrame, ticks: Sequence[Column]) -> pl.DataFrame:
    """Return the cells with the markets that are ticked in each line; what is no tick is a market that is not known."""
    listed = []
    for column in ticks:
        texts = body[f"c{column.position}"]
        distinct = texts.drop_nulls().unique()
        kinds = [_meaning_of_tick(text) or text for text in distinct]
        own = {"true": column.market, **dict.fromkeys(("false", "nothing", "nothing_found"))}
        meant = [own.get(kind, kind) for kind in kinds]
        named = texts.replace_strict(distinct, meant, default=None, return_dtype=pl.String)
        listed.append(named.alias(f"c{column.position}"))
    together = pl.concat_str(pl.all(), separator=";", ignore_nulls=True).replace("", None).alias("markets")
    return cells.with_columns(pl.DataFrame(listed).select(together).to_series()) if listed else cells


_YEAR_IN_TITLE: Final = re.compile(r"(?<![\d./-])20\d\d(?![\d/-]|\.\d)")
"""A year that is no part of a date, of the number of a law or of a span of years."""
_OF_YEAR: Final = ("sale", "count", "packaging")


def with_year_of_titles(columns: list[Column], titles: Iterable[str], mapped: SheetMapping) -> list[Column]:
    """Return units placed whose header names no year as of that of the titles: `Absatz 2025`, or `2025` alone.

    So it is where titles and the sheet's name say one year, and neither a column nor the mapping says another.
    """
    said = {year for title in titles for year in _YEAR_IN_TITLE.findall(title) if _is_of_year(title, year)}
    if len(said) != 1 or any(c.field.name == "volume_year" for c in (*columns, *mapped.constants)):
        return columns
    year = int(said.pop())

    def dated(column: Column) -> Column:
        if column.field != VOLUME or column.year is not None or column.mapped:
            return column
        part = f"_h{column.half}" if column.half else f"_{column.part}" if column.part else ""
        return replace(column, year=year, name=f"{column.name.removesuffix(part)}_{year}{part}", exact=False)

    taken = {column.name for column in columns}
    return [own if own is column or own.name not in taken else column for column in columns for own in [dated(column)]]


def _is_of_year(title: str, year: str) -> bool:
    """Return whether a title says that its table is of a year, and not that it was made or holds then."""
    of_year = any(words("header_part").get(token) == "year" for token in tokens_of(title))
    return title.strip() == year or of_year or any(mentions(title, role) for role in _OF_YEAR)
