"""The rows of a file that are held already as they are, found by one comparison inside the database.

Most rows of a portfolio that is sent again are as they were. They need no merging, no grading and no lock, so that only
their numbers come back. A row is found where this is certain; whatever needs a closer look (a graph, a cell that
clears, a declaration that the law may refuse by now) is the write path's to decide (`write.prepare`).
"""

from typing import Any, Final

import polars as pl
import psycopg

from pipelines.writing.patch import DTYPES, TypedPatch
from pipelines.writing.resolve import folded_markets
from pipelines.writing.stored import NULL

_SAMPLE_ROWS: Final = 200
_WORTHWHILE: Final = 0.5
"""Share of the sample that must be held as it is: below it a comparison of all rows costs more than it saves."""

_SQL_TYPES: Final = {pl.String: "text", pl.Float64: "double precision", pl.Int64: "bigint", pl.Boolean: "boolean"}
_LAWFUL: Final = (
    "(skus.food_contact IS NOT TRUE OR concat(skus.pfas::text, skus.components::text) NOT LIKE '%%above_limit%%')"
)
"""What no refusal by law can meet, whatever the day (`refuse`)."""


def none(asked: TypedPatch) -> pl.Series:
    """The answer of `find` where no row is held as it is."""
    return pl.repeat(None, asked.values.height, dtype=pl.String, eager=True)


def likely(conn: psycopg.Connection[Any], asked: TypedPatch) -> bool:
    """Whether so many rows of a sample are held as they are that comparing all of them is worth its cost."""
    candidates = _candidates(conn, asked)
    if candidates.is_empty():
        return False
    sample = candidates.gather_every(-(-candidates.height // _SAMPLE_ROWS))
    alike = sum(len(places) for _, places in _compared(conn, sample, sample["sku_code"].to_list()))
    return alike >= _WORTHWHILE * sample.height


def find(conn: psycopg.Connection[Any], asked: TypedPatch) -> pl.Series:
    """For each row the grade that it is held with; null where the write path has to look at the row."""
    grades = none(asked)
    for grade, places in _compared(conn, _candidates(conn, asked)):
        grades = grades.scatter(places, grade)
    return grades


def _candidates(conn: psycopg.Connection[Any], asked: TypedPatch) -> pl.DataFrame:
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


def _folded(conn: psycopg.Connection[Any], values: pl.DataFrame) -> pl.DataFrame:
    if "markets" not in values.columns:
        return values
    folded = folded_markets(conn, values["markets"].unique())
    return values.with_columns(pl.col("markets").replace(folded)) if folded else values


def _declared(name: str) -> str:
    return f"{name} {_SQL_TYPES[DTYPES[name]]}"


def _compared(
    conn: psycopg.Connection[Any], values: pl.DataFrame, codes: list[str] | None = None
) -> list[tuple[str, list[int]]]:
    """The places of the rows whose every value is the stored one, by the grade that they are held with.

    An empty cell says nothing, and so is as it was. Where there are few `codes` they are named, so that Postgres does
    not read all rows of the company for them.
    """
    if values.is_empty():
        return []
    with conn.cursor() as cursor:
        columns = ", ".join(map(_declared, values.columns[1:]))
        cursor.execute(f"CREATE TEMPORARY TABLE asked (at integer, {columns}) ON COMMIT DROP")
        with cursor.copy(f"COPY asked FROM STDIN (FORMAT csv, NULL '{NULL}')") as copy:
            copy.write(values.write_csv(include_header=False, null_value=NULL).encode())
        # Of a table that nobody has analysed the planner may believe that it has one row, and join it in a loop.
        cursor.execute("SET LOCAL enable_nestloop = off")
        alike = " AND ".join(f"(asked.{name} IS NULL OR {_stored(name)} = asked.{name})" for name in values.columns[1:])
        named = "" if codes is None else " AND skus.sku_code = ANY(%(codes)s::text[])"
        return cursor.execute(
            f"SELECT skus.recyclability_grade, array_agg(asked.at) FROM asked JOIN skus USING (sku_code) "
            f"WHERE {alike} AND {_LAWFUL}{named} GROUP BY 1",
            {"codes": codes},
        ).fetchall()


def _stored(name: str) -> str:
    """A stored column as it is staged: ids, arrays and JSON as their text."""
    return f"skus.{name}::text" if DTYPES[name] == pl.String else f"skus.{name}"
