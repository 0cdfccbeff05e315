"""Reads from Postgres the numbers that operators watch: imports, writes, snapshots, runs, connections (decision 0057).

Each process of the service sees a part; the tables have all of it, so these are read at the scrape, by four statements.
No label names a company or a person.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import psycopg

from warehouse.imports.queue import LISTENER, STALLED_AFTER
from warehouse.sessions import Connection

_TABLES: Final = "SELECT measure, labels, amount FROM pcds_measures(%s, %s)"
_CONNECTIONS: Final = f"""
SELECT 'database_connections', jsonb_build_object('state', coalesce(state, 'other')), count(*)::float8
FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user GROUP BY coalesce(state, 'other')
UNION ALL
SELECT 'database_connections_limit', '{{}}', current_setting('max_connections')::float8
UNION ALL
SELECT 'workers', '{{}}', count(*)::float8 FROM pg_stat_activity
WHERE application_name = '{LISTENER}' AND datname = current_database()
UNION ALL
SELECT 'database_size', '{{}}', pg_database_size(current_database())::float8
"""
_RUNS: Final = """
SELECT CASE WHEN end_time IS NULL THEN 'runs' ELSE 'runs_ended_last_hour' END, status, count(*)::float8
FROM runs
WHERE status NOT IN ('SUCCESS', 'FAILURE', 'CANCELED') OR end_time > extract(epoch FROM clock_timestamp()) - 3600
GROUP BY end_time IS NULL, status
"""
_CONNECT_SECONDS: Final = 3


class Measure(NamedTuple):
    """One number with its labels; `api.metrics` publishes it under a name and says what it means."""

    name: str
    labels: Mapping[str, str]
    value: float


def of_tables(conn: Connection, now: datetime) -> list[Measure]:
    """Return what the service's own tables say, in a session of no company."""
    rows = conn.execute(_TABLES, (now, now - STALLED_AFTER)).fetchall() + conn.execute(_CONNECTIONS).fetchall()
    return [Measure(*row) for row in rows]


def of_runs(dagster_url: str) -> list[Measure]:
    """Return Dagster's runs by state: those that have not ended, and those that ended in the last hour.

    Nothing where Dagster has made no tables yet. `dagster_url` is `Database.dagster_url`.
    """
    url = urlunsplit(urlsplit(dagster_url)._replace(scheme="postgresql"))
    with psycopg.connect(url, connect_timeout=_CONNECT_SECONDS, autocommit=True) as connection:
        try:
            rows = connection.execute(_RUNS).fetchall()
        except psycopg.errors.UndefinedTable:
            return []
    return [Measure(name, {"state": status.lower()}, value) for name, status, value in rows]
