"""Volume columns -> one JSON object a row: `{"FR/2026/0": 1000}`, market, year and half -> units or null."""

import json

import polars as pl

from pipelines.steps.reading.columns import Column
from pipelines.steps.reading.json_text import joined, members
from pipelines.steps.reading.typed import faults_where


def volume_texts(
    columns: list[Column], values: dict[str, pl.Series], given: dict[str, pl.Series], years: pl.Series
) -> tuple[pl.Series, dict[str, pl.DataFrame]]:
    """The volumes of each row as JSON text, keys in order, and the faults by column.

    `years` is the year of each row for columns that name none. The same market, year and half twice in a row is
    the fault `duplicate_row` of the later column.
    """
    ordered = sorted(columns, key=lambda column: (column.market or "", column.year or 0, column.half))
    dated = [_dated(column, values[column.name], given[column.name], years) for column in ordered]
    texts = joined([part for parts in dated for part in parts], "{", "}")
    if not _may_meet(ordered):
        return texts, {}
    faults = {
        column.name: faults_where(met, "duplicate_row", f"{column.name} gives units that another column gives too.")
        for column, met in _meetings(ordered, given, years)
    }
    return _in_order(texts), faults


def _dated(column: Column, values: pl.Series, given: pl.Series, years: pl.Series) -> list[pl.Series]:
    """The members of one column, one Series for each year it stands for."""
    found = [column.year] if column.year else years.unique().sort().to_list()
    return [
        members(f"{column.market}/{year}/{column.half}", values, given if column.year else given & (years == year))
        for year in found
    ]


def _may_meet(columns: list[Column]) -> bool:
    """Whether a column without a year and one with stand for the same market and half."""
    dated = {(column.market, column.half) for column in columns if column.year}
    return any(column.year is None and (column.market, column.half) in dated for column in columns)


def _meetings(columns: list[Column], given: dict[str, pl.Series], years: pl.Series) -> list[tuple[Column, pl.Series]]:
    return [
        (later, given[later.name] & given[first.name] & (years == later.year))
        for first in columns if first.year is None
        for later in columns if later.year and (later.market, later.half) == (first.market, first.half)
    ]  # fmt: skip


def _in_order(texts: pl.Series) -> pl.Series:
    """Objects with their keys sorted."""
    ordered = [None if text is None else json.dumps(json.loads(text), sort_keys=True) for text in texts]
    return pl.Series(texts.name, ordered, dtype=pl.String)
