"""Reads what columns of units say together: those of the parts of a year, and units beside another column.

Units of quarters or months are read where all of a year are
there, each with numbers, and no column gives the year; typed cells are added up. Else they are asked about. What a
mapping names as a part of a year is counted, whichever parts are there. Titles may say the year of all of them.

Quantities of lines are units placed on the market that each line names, in its year; lines of all months or quarters of
a year are added up. Cartons, kilograms or thousands are none, and neither are the units of some months or of days: they
would be those of a year. They are asked about (decision 0111), and so are numbers under names of markets alone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from operator import or_
from typing import Final, TypeAlias

import polars as pl

from compliance.catalogue import pinned, served
from pipelines.reading.column_values import PERIOD, Searched, has_numbers
from pipelines.reading.columns import field_column, recognise, units_of_part, units_of_rows
from pipelines.reading.grammar import PIECES, measures_in, mentions, roles_of_word, tokens_of, word_roles
from pipelines.reading.grid import (
    LONGEST_HEADER,
    VOLUME,
    VOLUME_HALF,
    WEIGHTS,
    Column,
    ReadingRefused,
    invalid_mapping,
    letter,
    repeated,
)
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.placed import (
    LONGEST_MARKET,
    WHOLE,
    YEAR,
    Placed,
    is_of_selling,
    is_served,
    is_whole_year,
    market_code,
    parts_of_years,
)
from pipelines.reading.questions import question, with_answer
from pipelines.reading.words import market_parts, unit_of
from schemas.fields import SKU_CODE
from schemas.imports.types import Asked
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.normalise import quote
from schemas.words import code_lists, code_of, fold, headers, words

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
    for kind in (next(iter(parts))[0] for parts in WHOLE):
        for market, year, own in years:
            if own == kind and _is_whole(years[market, year, own]):
                whole.setdefault((market, year), kind)
    return {key: parts for key, parts in years.items() if whole.get(key[:2], key[2]) == key[2]}


def _is_whole(parts: Sequence[Column]) -> bool:
    return is_whole_year(column.part for column in parts)


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
        dated = any(column.name == "volume_year" for column in columns)
        bare += [c for at, text in ignored if (c := units_of_rows(text, at)) is not None and (dated or names_year(c))]
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


_OF_MARKET: Final = ("number", "integer", "truth", "ppm")
"""Kinds of fields that a SKU has one value of, whatever its market; texts may be in several languages."""


def of_markets(columns: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns of one market beside the same of another: `Packaging weight DE | Packaging weight FR`.

    Each is open by its market, the other ones too.
    """
    found: dict[int, Column] = {}
    for column in columns:
        if column.field.kind not in _OF_MARKET or column.field == VOLUME or column.mapped or column.group:
            continue
        tokens = tokens_of(column.header)
        for at, text in header.free([column.position]).items():
            other = tokens_of(text) if len(text) < LONGEST_HEADER else ()
            differing = [pair for pair in zip(tokens, other, strict=False) if pair[0] != pair[1]]
            if len(other) == len(tokens) and _is_one(differing) and all(map(_is_market, differing[0])):
                own, said = differing[0]
                found[column.position] = replace(column, open=own)
                found[at] = replace(column, position=at, header=text, open=said)
    return [found[at] for at in sorted(found)]


def _is_market(word: str) -> bool:
    return unit_of(word, "g") is None and is_served(word)


def _is_one(pairs: Sequence[tuple[str, str]]) -> bool:
    return len(pairs) == 1


_YEAR_IN_TITLE: Final = re.compile(r"(?<![\d./-])20\d\d(?![\d/-]|\.\d)")
"""A year that is no part of a date, of the number of a law or of a span of years."""
_OF_YEAR: Final = ("sale", "count", "packaging")


def with_year_of_titles(columns: list[Column], titles: Iterable[str], mapped: SheetMapping) -> list[Column]:
    """Return units placed whose header names no year as of that of the titles: `Absatz 2025`, or `2025` alone.

    So it is where titles and the sheet's name say one year, and neither a column nor the mapping says another.
    """
    titles = [*titles]
    said = {year for title in titles for year in _YEAR_IN_TITLE.findall(title) if _is_of_year(title, year)}
    said |= {whole for title in titles if (whole := _year_of_span(title)) is not None}
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


_UNIT: Final = "weight_unit"
_BESIDE_UNITS: Final = frozenset({"sku_code", "name", "description", "gtin", "markets", "volume_year", "volume_half"})
_PIECES: Final = frozenset({"st", "ea", "pc", "un", "u", "einheiten", "stucke", "unit", "unite", "piece"})
_TITLES: Final = frozenset({"me", "uom", "bme", "vme", "vrkme", "meins"})
_PERIODS: Final = frozenset({"year", "jahr", "annee", "ano", "anno", "date", "datum"})
_DAY: Final = r"^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
_QUOTED: Final = 3
_TO: Final = "bis|to|au|al|hasta|tot|t/m|do|till|until"
_SPAN: Final = re.compile(
    rf"(?:(?P<from>20\d\d-\d\d-\d\d|\d{{1,2}}[./-]\d{{1,2}}(?:[./-](?:20\d\d)?)?)\s*(?:-|–|—|{_TO})|\b(?:{_TO}))\s*"
    r"(?P<to>\d{1,2}[./-]\d{1,2}[./-]20\d\d|20\d\d-\d\d-\d\d)",
    re.IGNORECASE,
)
"""A span of days, whose first may have no year or may not be said: `1.1.-30.6.2025`, `bis 30.06.2025`."""
_FIRST_DAY: Final = re.compile(r"0?1[./-]0?1(?:[./-](?:20\d\d)?)?|20\d\d-01-01")
_LAST_DAY: Final = re.compile(r"31[./-]12[./-](20\d\d)|12[./-]31[./-](20\d\d)|(20\d\d)-12-31")
_MONTHS: Final = re.compile(r"(?<![\d./-])(\d{1,2})(?:[./]20\d\d)?\s*[-–]\s*(\d{1,2})[./](20\d\d)(?![\d./-])")
"""A span of months: `01-06/2025`, `01/2025 - 06/2025`."""
_AS_OF: Final = frozenset({"stand", "status", "as", "version", "valid", "from", "ab", "seit"})
"""Words that make a period the day of a document."""


def split_units_of_lines(
    columns: list[Column], header: Searched, constants: Sequence[Column]
) -> tuple[list[Column], list[Column]]:
    """Return the columns of a table, and those of units where each line is of a SKU and one market, if it has some.

    So it is where a SKU has several lines, or no column says more of a SKU than its name: elsewhere a `Quantity` beside
    a country may be something else. Weights beside a quantity are judged with it (`judge.py`). Raises `ReadingRefused`
    where the mapping names such units and no market, and where a column says that they are of another unit or period.
    """
    named, by_name = [c for c in columns if c.field == VOLUME and c.market is None], {c.name: c for c in columns}
    if named and "markets" not in {*by_name, *(column.name for column in constants)}:
        message = Message(
            "The mapping is wrong: {name} is of the market that each row names, and no column is markets. Map it "
            "too, or name the market: annual_volume_de.",
            name=named[0].name,
        )
        raise invalid_mapping(message)
    if named:
        return columns, []
    without = [column for column in columns if column.field != VOLUME_HALF]
    if not by_name.keys() >= {"sku_code", "markets"} or any(
        c.field == VOLUME or c.table == "component" for c in columns
    ):
        return without, []
    codes, markets = (header.under(by_name[name].position) for name in ("sku_code", "markets"))
    free = header.free([column.position for column in columns]).items()
    units = [column for at, cell in free if (column := units_of_rows(cell, at)) is not None]
    units += whole_years([*columns, *units], header, of_rows=True)
    repeated = codes.n_unique() < len(codes) or by_name.keys() <= {*_BESIDE_UNITS, _UNIT}
    if any(column.field.name in WEIGHTS for column in columns):
        placed = [column for column in units if headers("sku").get(fold(column.header)) == VOLUME.name]
        units, repeated = (placed, True) if "volume_year" in by_name else ([], False)
    if not units or not repeated or any(len(market_parts(cell)) > 1 for cell in markets.unique()):
        return without, []
    own = by_name.get(VOLUME_HALF.name)
    if own is not None and not own.mapped and not all(map(is_whole_year, _parts_in(own, by_name, header))):
        raise ReadingRefused(
            [_issue_of_parts(units[0], own, header.under(own.position).unique(maintain_order=True)[:_QUOTED].to_list())]
        )
    read = [column.position for column in (*columns, *units) if column.field.name != _UNIT]
    for at, cell in header.free(read).items():
        if said := _other_than_units_of_a_year(cell, header.under(at), is_unit=_names_units(at, cell, columns)):
            period = Column(VOLUME_HALF.name, VOLUME_HALF, "sku", at, cell)
            parts = [] if VOLUME_HALF.name in by_name else _parts_in(period, by_name, header)
            if not parts:
                raise ReadingRefused([_issue_of_other_units(units[0], beside(cell, said))])
            if not all(map(is_whole_year, parts)):
                raise ReadingRefused([_issue_of_parts(units[0], period, said)])
            columns = [*columns, period]
    return columns, units


def _parts_in(period: Column, by_name: Mapping[str, Column], header: Searched) -> list[list[str]]:
    """Return the parts of each year of a SKU and market that a column of periods names; none where it names others."""
    keys = [by_name[name] for name in ("sku_code", "markets", "volume_year") if name in by_name]
    below = header.grid.cells[max(header.at, header.last) + 1 :]
    lines = below.select(pl.col(f"c{column.position}") for column in (*keys, period)).drop_nulls()
    return parts_of_years(lines.rows(), period.header)


def _issue_of_parts(units: Column, period: Column, said: Sequence[str]) -> Issue:
    """Return the refusal of units of months or quarters of which some are not there; its answer adds them up."""
    message = Message(
        "{headers} may be units, and are not all parts of a year; they are not read. If no others "
        "were placed on the market in that year, they are added up: mapping={mapping}.",
        headers=f"{quote(units.header)} ({quote(beside(period.header, said))})",
        mapping={"columns": {units.name: letter(units.position), period.name: letter(period.position)}},
    )
    message, answer = with_answer(message, of_components=False)
    return Issue("ambiguous_column", message, units.name, kind="column", could_be=["add_up"], answer=answer)


def with_units_in_doubt(
    columns: list[Column], header: Searched, above: Iterable[str], mapped: SheetMapping, doubtful: list[Column]
) -> list[Column]:
    """Return the columns without those of units placed of which a title or a column says that they may be no pieces.

    `Absatz in Tsd. Stück` or `Absatz in Tonnen` stands above the table, `Karton` in a column of units, `01/2026` in one
    of months. Such columns are added to the `doubtful` ones, which are asked about. Raise `ReadingRefused` where each
    line names its market.
    """
    free = header.free([column.position for column in (*columns, *doubtful)]) if header.table == "sku" else {}
    bare = _bare_markets({at: cell for at, cell in free.items() if has_numbers(header, at)})
    doubtful += bare if len(bare) > 1 else []
    placed = [
        column
        for column in columns
        if column.field == VOLUME and not (column.mapped or column.has_unit or mapped.unit_of(column))
        if column.factor == 1
    ]
    states = states_in_doubt(placed, header) if header.table == "sku" else []
    doubtful += states
    of_states = {column.position for column in states}
    columns, placed = ([c for c in own if c.position not in of_states] for own in (columns, placed))
    titles = [*above, *([header.sheet] if header.sheet else [])]
    in_parts = any(column.half or column.part or column.field == VOLUME_HALF for column in columns)
    shorter_title = None if in_parts else next(filter(_is_of_part_of_year, titles), None)
    said = next(filter(_scales, titles[: len(titles) - bool(header.sheet)]), None) or shorter_title
    said = said or (_told_apart(columns, free, header) if placed and placed[0].market is not None else None)
    weighs = any(column.field.name in WEIGHTS for column in columns)
    for at, title in header.free([]).items() if placed else ():
        if said is None and at in free and (shorter := _shorter_than_a_year(title, header.under(at))):
            said = beside(title, shorter)
        if not _names_units(at, title, columns):
            continue
        other = [text for text in header.under(at).unique(maintain_order=True) if not _is_piece(text)]
        if other and (not weighs or any(unit_of(text, "g") is None for text in other)):
            said = said or beside(title, other[:_QUOTED])
    if said is None or not placed:
        return columns
    if placed[0].market is None:
        raise ReadingRefused([_issue_of_other_units(placed[0], said)])
    doubtful += [replace(column, open=said) for column in placed]
    return [column for column in columns if column not in placed]


_LINES: Final = 40
"""Lines below the header that are compared with each other."""
_OF_PARTS: Final = (*WEIGHTS, "material", "material_subtype", "packaging_format")


def _told_apart(columns: Sequence[Column], free: Mapping[int, str], header: Searched) -> str | None:
    """Return what an unread column says that tells the lines of one SKU apart: its units are those of one channel.

    Lines that give a material, a format or a weight may be parts of a SKU.
    """
    code = next((column.position for column in columns if column.field == SKU_CODE), None)
    if code is None or any(c.table == "component" or c.field.name in _OF_PARTS for c in columns):
        return None
    body = header.grid.cells[max(header.at, header.last) + 1 :].head(_LINES)
    codes = body[f"c{code}"].drop_nulls()
    for at, title in free.items() if codes.n_unique() < len(codes) else ():
        pairs = body.select(f"c{code}", f"c{at}").drop_nulls()
        texts = pairs[f"c{at}"].unique(maintain_order=True)
        if len(pairs) == len(codes) == pairs.n_unique() and len(texts) < len(codes):
            return beside(title, texts.head(_QUOTED).to_list())
    return None


def _names_units(at: int, title: str, columns: Sequence[Column]) -> bool:
    """Return whether a column contains units: one that is read as such, or by its abbreviated title."""
    return fold(title) in _TITLES or any(c.position == at and c.field.name == _UNIT for c in columns)


def _scales(text: str) -> bool:
    """Return whether a title says that quantities are in thousands or of a mass."""
    measures = measures_in(text)
    in_thousands = any(measure.unit == PIECES and measure.factor != 1 for measure in measures)
    of_mass = any(measure.unit == "g" for measure in measures) and (mentions(text, "sale") or mentions(text, "count"))
    return in_thousands or of_mass


def _other_than_units_of_a_year(header: str, cells: pl.Series, *, is_unit: bool) -> list[str]:
    """Return the texts by which a column that is not read says that quantities beside it are no units of a year.

    They are in cartons or kilograms, or of a month or a day; none where it says nothing of them.
    """
    texts: list[str] = cells.unique(maintain_order=True).to_list()
    if is_unit:
        other = [text for text in texts if not _is_piece(text)]
        return other[:_QUOTED]
    words_of = fold(header).split()
    is_period = any(code_of(word, "header_part") == "period" or word in _PERIODS for word in words_of)
    is_period |= names_period(header)
    is_period |= bool(texts) and bool(cells.str.contains(PERIOD).all() or cells.str.contains(_DAY).all())
    return texts[:_QUOTED] if is_period else []


def _is_piece(text: str) -> bool:
    return fold(text) in _PIECES or code_of(text, "quantity") == "count" or code_of(text, "header_word") == "piece"


def _issue_of_other_units(units: Column, said: str) -> Issue:
    message, answer = with_answer(about_other_units(units, said), of_components=False)
    return Issue("ambiguous_column", message, units.name, kind="column", could_be=[units.name], answer=answer)


def about_other_units(units: Column, said: str) -> Message:
    """Return what is asked of units where a column or a title beside them says that they may be no units of a year."""
    return Message(
        "{beside} says that {header} may be no units of a year. Sum up the units of each item, market and year, or "
        "say that they are such: mapping={mapping}.",
        beside=quote(said),
        header=quote(units.header),
        mapping={"columns": {units.name: letter(units.position)}},
    )


def beside(title: str, texts: Sequence[str]) -> str:
    """Return what a column says, as questions quote it: `Monat: 01/2026, 02/2026`."""
    return f"{title}: {', '.join(texts)}"


def is_of_other_units(said: str) -> bool:
    """Return whether what a column says (`beside`), or a title, is of anything but the unit of what it counts."""
    title, colon, _ = said.partition(": ")
    is_unit = fold(title) in _TITLES or bool(word_roles(title) & {"unit", "unit_name"}) or _scales(said)
    return (bool(colon) and not is_unit) or _is_of_part_of_year(said)


@cache
def _parts_of_a_year() -> tuple[str, ...]:
    return tuple(f" {word} " for word in words("cumulated"))


def _year_of_span(title: str) -> str | None:
    """Return the year that a title's span of days or months is as a whole; None for other spans and for none."""
    if (span := _SPAN.search(title)) is not None:
        last = _LAST_DAY.fullmatch(span["to"])
        whole = last is not None and (span["from"] is None or _FIRST_DAY.fullmatch(span["from"]) is not None)
        return next(filter(None, last.groups())) if last is not None and whole else None
    months = _MONTHS.search(title)
    return months[3] if months is not None and (int(months[1]), int(months[2])) == (1, 12) else None


def _is_of_part_of_year(title: str) -> bool:
    """Return whether a title says that its table is of a part of a year: `Absatz Januar 2026`, `Q1 2026`, a span.

    A month may be that of the document (`Stand: Januar 2026`), unless its other words are of selling.
    """
    if _SPAN.search(title) or _MONTHS.search(title):
        return _year_of_span(title) is None
    if YEAR.search(title) and any(word in f" {fold(title)} " for word in _parts_of_a_year()):
        return True
    placed = Placed()
    left = tuple(placed.left_of(tokens_of(title)))
    if placed.year is None or not (placed.part or placed.half):
        return False
    of_sales = any(mentions(title, role) for role in ("sale", "count")) or is_of_selling(left)
    named = of_sales or any(name in headers("placed") for name in (*left, " ".join(left)))
    return named or (not placed.part.startswith("m") and _AS_OF.isdisjoint(left))


def names_period(title: str) -> bool:
    """Return whether a header is a period's, or the date's of a sale: `Monat`, `Fiscal period`, `Buchungsdatum`."""
    parts = [(code_of(word, "header_part"), roles_of_word(word) or frozenset()) for word in fold(title).split()]
    is_named = any(part in ("period", "half") for part, _ in parts)
    is_all = all(part in ("period", "half", "year") or "sale" in roles for part, roles in parts)
    return code_of(title, "period_title") is not None or (is_named and is_all)


def _shorter_than_a_year(title: str, cells: pl.Series) -> list[str]:
    """Return the texts of a column of periods of which one is no year; none of another column."""
    texts: list[str] = cells.unique(maintain_order=True).to_list() if names_period(title) else []
    return [] if all(map(YEAR.fullmatch, texts)) else texts[:_QUOTED]


def _bare_market(header: str, position: int) -> Column | None:
    """Return the units placed that a market's name alone would be, open about what it counts: `DE`, `France`."""
    named = len(header.split()) <= LONGEST_MARKET and market_code(fold(header)) is not None
    column = recognise(f"{VOLUME.name} {header}", position, "sku") if named else None
    return None if column is None or column.market is None else replace(column, header=header, open=header)


def _bare_markets(free: Mapping[int, str]) -> list[Column]:
    """Return the units placed that names of markets alone would be, those of states of the USA beside a state's name.

    `CA` is Canada beside `FR`, and California beside `NY`, which no market is. Each is open by its header.
    """
    states = code_lists("markets")["us_states"]
    named = {at: states[fold(cell)] for at, cell in free.items() if fold(cell) in states and not cell.islower()}
    markets = {at: column for at, cell in free.items() if (column := _bare_market(cell, at)) is not None}
    if not markets.keys() <= named.keys():  # states beside countries
        named = {at: state for at, state in named.items() if at not in markets}
    elif named.keys() == markets.keys():
        return list(markets.values())
    for at, state in named.items():
        column = field_column(f"{VOLUME.name}_{fold(state).replace(' ', '_')}", "sku")
        if column is not None:
            markets[at] = replace(column, position=at, header=free[at], open=free[at], exact=False)
    return [column for _, column in sorted(markets.items())]
