"""The rows of a file that are held already as they are, found by one comparison inside the database.

Most rows of a portfolio that is sent again are as they were. They need no merging, no grading and no lock, so that only
their numbers come back. A row is found where this is certain; whatever needs a closer look (a graph, a cell that
clears, a declaration that the law may refuse by now) is the write path's to decide (`write.prepare`).
"""

from typing import Final

import polars as pl

from pipelines.writing.patch import TypedPatch
from pipelines.writing.resolve import folded_markets
from warehouse.sessions import Connection
from warehouse.skus.unchanged import alike

_SAMPLE_ROWS: Final = 200
_WORTHWHILE: Final = 0.5
"""Share of the sample that must be held as it is: below it a comparison of all rows costs more than it saves."""


def none(asked: TypedPatch) -> pl.Series:
    """The answer of `find` where no row is held as it is."""
    return pl.repeat(None, asked.values.height, dtype=pl.String, eager=True)


def likely(conn: Connection, asked: TypedPatch) -> bool:
    """Whether so many rows of a sample are held as they are that comparing all of them is worth its cost."""
    candidates = _candidates(conn, asked)
    if candidates.is_empty():
        return False
    sample = candidates.gather_every(-(-candidates.height // _SAMPLE_ROWS))
    found = alike(conn, sample, sample["sku_code"].to_list())
    return sum(len(places) for _, places in found) >= _WORTHWHILE * sample.height


def find(conn: Connection, asked: TypedPatch) -> pl.Series:
    """For each row the grade that it is held with; null where the write path has to look at the row."""
    grades, candidates = none(asked), _candidates(conn, asked)
    for grade, places in alike(conn, candidates) if candidates.height else ():
        grades = grades.scatter(places, grade)
    return grades


def _candidates(conn: Connection, asked: TypedPatch) -> pl.DataFrame:
    """The rows that may be found, in the columns that say anything, by their place `at` among all."""
    columns = [name for name in asked.given.columns if name != "components" and asked.given[name].any()]
    return _folded(conn, asked.values.with_row_index("at").filter(_plain(asked)).select("at", *columns))


def _plain(asked: TypedPatch) -> pl.Series:
    """The rows that say nothing but values: no graph, no cleared field, no fault."""
    values, given = asked.values, asked.given
    unsure = [given[name] & values[name].is_null() for name in given.columns]
    unsure.append(values["row"].is_in([row for row, _ in asked.issues]).alias("faulty"))
    if "components" in values.columns:
        unsure.append(values["components"].is_not_null().alias("graph"))
    return ~pl.DataFrame(unsure).select(pl.any_horizontal(pl.all())).to_series()


def _folded(conn: Connection, values: pl.DataFrame) -> pl.DataFrame:
    if "markets" not in values.columns:
        return values
    folded = folded_markets(conn, values["markets"].unique())
    return values.with_columns(pl.col("markets").replace(folded)) if folded else values
