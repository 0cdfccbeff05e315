"""Judges quantities of lines: whether they are units placed on the market that each line names, in its year.

Cartons, kilograms or thousands are none, and neither are the units of a month, a quarter or a day: read as they stand,
they would be the units of a year. They are asked about, and nothing of their table is read before.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from pipelines.reading.column_values import PERIOD, Searched
from pipelines.reading.columns import units_of_rows
from pipelines.reading.grid import VOLUME, VOLUME_HALF, WEIGHTS, Column, ReadingRefused, invalid_mapping, letter
from pipelines.reading.questions import with_answer
from pipelines.reading.values import market_parts
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import quote
from schemas.words import code_of, fold

_BESIDE_UNITS: Final = frozenset({"sku_code", "name", "description", "gtin", "markets", "volume_year", "volume_half"})
_UNIT: Final = "weight_unit"
_PIECES: Final = frozenset({"st", "ea", "pc", "un", "u", "einheiten", "stucke", "unit", "unite", "piece"})
_PERIODS: Final = frozenset({"year", "jahr", "annee", "ano", "anno", "date", "datum"})
_DAY: Final = r"^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
_QUOTED: Final = 3


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
        c.field == VOLUME or c.field.name in WEIGHTS or c.table == "component" for c in columns
    ):
        return without, []
    codes, markets = (header.under(by_name[name].position) for name in ("sku_code", "markets"))
    free = header.free([column.position for column in columns]).items()
    units = [column for at, cell in free if (column := units_of_rows(cell, at)) is not None]
    repeated = codes.n_unique() < len(codes) or by_name.keys() <= {*_BESIDE_UNITS, _UNIT}
    if not units or not repeated or any(len(market_parts(cell)) > 1 for cell in markets.unique()):
        return without, []
    beside = {column.position for column in columns if column.field.name == _UNIT}
    read = [column.position for column in (*columns, *units) if column.position not in beside]
    for at, cell in header.free(read).items():
        if said := _other_than_units_of_a_year(cell, header.under(at), is_unit=at in beside):
            raise ReadingRefused([_issue_of_other_units(units[0], cell, said)])
    return columns, units


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
    is_period |= bool(texts) and bool(cells.str.contains(PERIOD).all() or cells.str.contains(_DAY).all())
    return texts[:_QUOTED] if is_period else []


def _is_piece(text: str) -> bool:
    return fold(text) in _PIECES or code_of(text, "quantity") == "count" or code_of(text, "header_word") == "piece"


def _issue_of_other_units(units: Column, beside: str, said: Sequence[str]) -> Issue:
    message = Message(
        "{beside} ({cells}) says that {header} may be no units of a year. Sum up the units of each item, market and "
        "year, or say that they are such: mapping={mapping}.",
        beside=quote(beside),
        cells=", ".join(said),
        header=quote(units.header),
        mapping={"columns": {units.name: letter(units.position)}},
    )
    message, answer = with_answer(message, of_components=False)
    return Issue("ambiguous_column", message, units.name, kind="column", could_be=[units.name], answer=answer)
