"""Writes volume columns as one JSON object a row: `{"FR/2026/0":1000}`, market, year and half -> units or null."""

import json
from collections.abc import Iterator, Set
from dataclasses import replace
from functools import partial
from itertools import combinations

import polars as pl

from pipelines.reading.fields import Column
from pipelines.reading.json_text import join_json, json_members
from pipelines.reading.typed import faults_where
from pipelines.writing import volumes
from schemas.messages import Message

Faults = tuple[str, pl.DataFrame]
"""A column's name and faults of its cells."""


def volume_texts(
    columns: list[Column],
    values: dict[str, pl.Series],
    given: dict[str, pl.Series],
    years: pl.Series,
    served_markets: Set[str],
) -> tuple[pl.Series, list[Faults]]:
    """Return the volumes of each row as JSON text, keys in order, and the faults by column.

    `years` is the year of each row for columns that name none. A column of a subdivision that the catalogue does not
    serve counts for its country; a market that it does not serve at all is the fault `unknown_market` of each given
    cell. The same market, year and half twice in a row is the fault `duplicate_row` of the later column.
    """
    markets = {column.name: volumes.market(str(column.market), served_markets) for column in columns}
    counted = [replace(column, market=market) for column in columns if (market := markets[column.name])]
    ordered = sorted(counted, key=lambda column: f"{column.market}/{column.year or 0}/{column.half}")
    dated = [_volume_members(column, values[column.name], given[column.name], years) for column in ordered]
    nothing = pl.repeat(None, len(years), dtype=pl.String, eager=True)
    texts = join_json(dated, "{", "}") if dated else nothing
    faults = [_unserved_market(column, given) for column in columns if markets[column.name] is None]
    found = list(_overlap_faults(ordered, {column.name: str(column.market) for column in columns}, given, years))
    if not found:
        return texts, faults
    sort = partial(json.dumps, sort_keys=True, separators=(",", ":"))
    ordered_texts = [None if text is None else sort(json.loads(text)) for text in texts]
    return pl.Series(texts.name, ordered_texts, dtype=pl.String), faults + found


def _unserved_market(column: Column, given: dict[str, pl.Series]) -> Faults:
    sentence = Message(
        "The catalogue does not serve {market}; GET /jurisdictions lists what it serves.", market=column.market
    )
    return column.name, faults_where(given[column.name], "unknown_market", sentence)


def _volume_members(column: Column, values: pl.Series, given: pl.Series, years: pl.Series) -> pl.Series:
    """Return the members of one column, each under its market, its year or that of its row, and its half."""
    if column.year:
        return json_members(f"{column.market}/{column.year}/{column.half}", values, given)
    row = pl.DataFrame({"year": years, "units": values})
    units = pl.col("units").cast(pl.String).fill_null("null")
    text = row.select(pl.format(f'"{column.market}/{{}}/{column.half}":{{}}', "year", units)).to_series()
    return text.set(~given, None)


def _overlap_faults(
    ordered: list[Column], codes: dict[str, str], given: dict[str, pl.Series], years: pl.Series
) -> Iterator[Faults]:
    """Yield the faults of rows where two columns give the same units; `codes` are the markets that headers name."""
    for first, later in combinations(ordered, 2):
        if (first.market, first.half) != (later.market, later.half):
            continue
        if first.year is not None and later.year is not None and first.year != later.year:
            continue
        met = given[first.name] & given[later.name]
        if first.year != later.year:
            met &= years == (first.year or later.year)
        as_named = {codes[first.name], codes[later.name]} == {first.market}
        yield later.name, faults_where(met, "duplicate_row", _meeting(first, later, as_named=as_named))


def _meeting(first: Column, later: Column, *, as_named: bool) -> Message:
    """Return what a row is told that gives the units of two columns; `as_named` where both name the market itself."""
    if as_named:
        return Message("{later} gives units that {first} gives too.", later=later.name, first=first.name)
    return Message(
        "{later} gives units that {first} gives too: both count for {market}, as a part of a country that the catalogue"
        " does not serve counts as the country. Fill in one column.",
        later=later.name,
        first=first.name,
        market=first.market,
    )
