"""Finds what Dagster's storage has of one company, by its partition: rows of runs, events and checks.

The tables are Dagster's own; which of them have rows of a run is read from the database's catalogue, so that a new
release of Dagster adds none unseen. The connection is Dagster's role's.
"""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from warehouse.sessions import Connection

_SCHEMA: Final = "dagster"
_RUNS: Final = "SELECT DISTINCT run_id FROM run_tags WHERE key = 'dagster/partition' AND value = %s"
_COLUMNS: Final = """
SELECT table_name, array_agg(column_name::text) FROM information_schema.columns
WHERE table_schema = %s AND column_name IN ('run_id', 'partition') GROUP BY table_name ORDER BY table_name = 'runs'
"""
_EVENT_TAGS: Final = """
DELETE FROM asset_event_tags WHERE event_id IN (SELECT id FROM event_logs WHERE run_id = ANY(%s) OR partition = %s)
"""


@contextmanager
def connected(dagster_url: str) -> Iterator[Connection]:
    """Open a transaction of Dagster's role; `dagster_url` is `Database.dagster_url`."""
    with psycopg.connect(urlunsplit(urlsplit(dagster_url)._replace(scheme="postgresql"))) as connection:
        yield connection


def of_company(conn: Connection, slug: str) -> list[str]:
    """Return the ids of the runs of a company's partition; none where Dagster has made no tables."""
    if conn.execute("SELECT to_regclass('dagster.run_tags')").fetchone() == (None,):
        return []
    return [run_id for (run_id,) in conn.execute(_RUNS, (slug,)).fetchall()]


def copy_out(conn: Connection, runs: list[str], path: Path) -> None:
    """Write the rows of runs, as Dagster stores them, into a compressed CSV file with a header."""
    query = sql.SQL("COPY (SELECT * FROM runs WHERE run_id = ANY({})) TO STDOUT (FORMAT csv, HEADER)")
    with gzip.open(path, "wb", compresslevel=1) as file, conn.cursor().copy(query.format(sql.Literal(runs))) as copy:
        for block in copy:
            file.write(block)


def erase(conn: Connection, runs: list[str], slug: str) -> int:
    """Remove every row of these runs and of the partition; return how many."""
    found = conn.execute(_COLUMNS, (_SCHEMA,)).fetchall()
    if not found:
        return 0
    removed = conn.execute(_EVENT_TAGS, (runs, slug)).rowcount
    for table, columns in found:
        terms = []
        if "run_id" in columns:
            terms.append(sql.SQL("run_id = ANY({})").format(sql.Literal(runs)))
        if "partition" in columns:
            terms.append(sql.SQL("partition = {}").format(sql.Literal(slug)))
        query = sql.SQL("DELETE FROM {} WHERE {}").format(sql.Identifier(_SCHEMA, table), sql.SQL(" OR ").join(terms))
        removed += conn.execute(query).rowcount
    return removed
