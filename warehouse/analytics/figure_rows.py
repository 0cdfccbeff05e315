"""Reads pages of a company's stored figures: tonnes, uncounted SKUs, undecided scopes, and verdicts.

Rows are those of the files (`warehouse.figures`), with exact decimals, in the order in which they are stored.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple  # Any: a row of DuckDB, whose columns the query names

import polars as pl

from warehouse.figures import StoredFigures

Table = Literal["tonnes", "uncounted", "scope_missing", "obligations"]
_PERIOD: Final = ("market", "year", "half")
COLUMNS: Final[Mapping[Table, tuple[str, ...]]] = {
    "tonnes": (
        *_PERIOD,
        "halves",
        "category_code",
        "category_name",
        "basis",
        "tonnes",
        "in_scope_tonnes",
        "undecided_tonnes",
        "out_of_scope_tonnes",
        "units",
        "skus",
        "scope_key",
        "confidence",
    ),
    "uncounted": (*_PERIOD, "halves", "sku_code", "units", "reason", "fields", "archived"),
    "scope_missing": (*_PERIOD, "halves", "sku_code", "units", "category_codes", "fields", "archived"),
    "obligations": (
        "market",
        "year",
        "halves",
        "obligation",
        "material",
        "operator",
        "threshold_tonnes",
        "tonnes",
        "tonnes_upper",
        "verdict",
        "reason",
        "fields",
        "group",
        "group_verdict",
        "source_url",
        "confidence",
        "scope_key",
        "scope_confidence",
    ),
}
"""The columns of each table as they are published; grams stay in the files."""


class Rows(NamedTuple):
    """A page of rows, and how many rows there are in all."""

    data: list[dict[str, Any]]
    total: int


def figure_rows(
    figures: StoredFigures, table: Table, filters: Mapping[str, object], *, limit: int, offset: int
) -> Rows:
    """Return a page of a table's rows that have the values of `filters`; one that is None filters nothing."""
    rows = pl.scan_parquet(figures.folder / f"{table}.parquet")
    for column, value in filters.items():
        if value is not None:
            rows = rows.filter(pl.col(column) == value)
    found, counted = pl.collect_all(
        [rows.slice(offset, limit).select(COLUMNS[table]).with_columns(_whole(table)), rows.select(pl.len())]
    )
    return Rows(found.to_dicts(), counted.item())


def _whole(table: Table) -> list[pl.Expr]:
    """Return units as integers: sums of tonnes count them in a decimal without places."""
    return [pl.col("units").cast(pl.Int64)] if table == "tonnes" else []


def periods(figures: StoredFigures) -> list[tuple[str, int, int]]:
    """Return each market, year and half that has a figure."""
    found = pl.scan_parquet(figures.folder / "tonnes.parquet").select(_PERIOD).unique().sort(_PERIOD).collect()
    return found.rows()
