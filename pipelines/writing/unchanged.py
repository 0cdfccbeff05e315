"""Finds the rows of a file that are stored already with the same values, by one comparison inside the database.

Most rows of a portfolio that is sent again are unchanged. They need no merging, grading or lock, so the database
returns only their positions. Only certain rows are found; others (with a graph, a cell that clears, a declaration that
the law may refuse by now, values to warn about) go through `write.prepare`.
"""

from typing import Final

import polars as pl

from compliance.likely_weights import are_likely
from compliance.ruleset import RuleSet
from pipelines.writing.patch import TypedPatch
from pipelines.writing.resolve import folded_markets
from pipelines.writing.warn import warns_of_material
from warehouse.sessions import Connection
from warehouse.skus.unchanged import alike

_SAMPLE_ROWS: Final = 200
_WORTHWHILE: Final = 0.5
"""Share of the sample that must be unchanged: below it a comparison of all rows costs more than it saves."""


def no_grades(typed: TypedPatch) -> pl.Series:
    """Return the result of `find` where no row is unchanged."""
    return pl.repeat(None, typed.values.height, dtype=pl.String, eager=True)


def likely(conn: Connection, typed: TypedPatch, rules: RuleSet) -> bool:
    """Return whether so many rows of a sample are unchanged that comparing all rows saves time."""
    candidates = _candidates(conn, typed, rules)
    if candidates.is_empty():
        return False
    sample = candidates.gather_every(-(-candidates.height // _SAMPLE_ROWS))
    found = alike(conn, sample, sample["sku_code"].to_list())
    return sum(len(places) for _, places in found) >= _WORTHWHILE * sample.height


def find(conn: Connection, typed: TypedPatch, rules: RuleSet) -> pl.Series:
    """Return for each unchanged row its stored grade; null for a row that the write path must process."""
    grades, candidates = no_grades(typed), _candidates(conn, typed, rules)
    for grade, places in alike(conn, candidates) if candidates.height else ():
        grades = grades.scatter(places, grade)
    return grades


def _candidates(conn: Connection, typed: TypedPatch, rules: RuleSet) -> pl.DataFrame:
    """Return the rows that may be unchanged, in the columns with values, with their position `at` among all rows."""
    columns = [name for name in typed.given.columns if name != "components" and typed.given[name].any()]
    return _folded(conn, typed.values.with_row_index("at").filter(_plain(typed, rules)).select("at", *columns))


def _plain(typed: TypedPatch, rules: RuleSet) -> pl.Series:
    """Return which rows give plain values only: no graph, no cleared field, no fault, nothing to warn about."""
    values, given = typed.values, typed.given
    unsure = [given[name] & values[name].is_null() for name in given.columns]
    unsure.append(values["row"].is_in([row for row, _ in typed.issues]).alias("faulty"))
    if "components" in values.columns:
        unsure.append(values["components"].is_not_null().alias("graph"))
    unsure.append(warns_of_material(values, rules).alias("warned"))
    unsure.append((~are_likely(values)).alias("unlikely"))
    return ~pl.DataFrame(unsure).select(pl.any_horizontal(pl.all())).to_series()


def _folded(conn: Connection, values: pl.DataFrame) -> pl.DataFrame:
    if "markets" not in values.columns:
        return values
    folded = folded_markets(conn, values["markets"].unique())
    return values.with_columns(pl.col("markets").replace(folded)) if folded else values
