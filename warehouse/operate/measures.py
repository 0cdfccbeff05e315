"""Reads from Postgres the numbers that operators watch: imports, writes, snapshots, runs, connections (decision 0057).

Each process of the service sees a part; the tables have all of it, so these are read at the scrape, by five statements.
No label names a company or a person.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import orjson
import psycopg

from warehouse.imports.claims import LISTENER, STALLED_AFTER
from warehouse.operate.sessions import Connection

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
_FAILED_CHECKS: Final = """
SELECT failed.asset_key, failed.check_name, count(DISTINCT coalesce(failed.partition, ''))::float8
FROM asset_check_executions AS failed
WHERE failed.execution_status = 'FAILED' AND NOT EXISTS (
    SELECT FROM asset_check_executions AS newer
    WHERE newer.asset_key = failed.asset_key AND newer.check_name = failed.check_name AND newer.id > failed.id
    AND (newer.partition = failed.partition OR failed.partition IS NULL)
    AND newer.execution_status IN ('SUCCEEDED', 'FAILED'))
GROUP BY failed.asset_key, failed.check_name
"""
"""A verdict without a partition is of an asset of no company, or from before checks were told by company."""
_FAILING: Final = """
SELECT instigators.instigator_body::json #>> '{origin,job_name}' AS name
FROM instigators CROSS JOIN LATERAL (
    SELECT status, "timestamp" FROM job_ticks
    WHERE job_ticks.selector_id = instigators.selector_id AND status <> 'STARTED' ORDER BY "timestamp" DESC LIMIT 1
) AS last
WHERE last.status = 'FAILURE' AND last."timestamp" > localtimestamp - interval '2 days'
ORDER BY name
"""
"""Selects the sensors and schedules whose last tick failed. One that no release has any more has had none for days."""
_CONNECT_SECONDS: Final = 3


class Measure(NamedTuple):
    """One number with its labels; `api.operate.routes` publishes it under a name and says what it means."""

    name: str
    labels: Mapping[str, str]
    value: float


def of_tables(conn: Connection, now: datetime) -> list[Measure]:
    """Return what the service's own tables say, in a session of no company."""
    rows = conn.execute(_TABLES, (now, now - STALLED_AFTER)).fetchall() + conn.execute(_CONNECTIONS).fetchall()
    return [Measure(*row) for row in rows]


def of_runs(dagster_url: str) -> list[Measure]:
    """Return Dagster's runs by state (not ended, ended in the last hour), and checks whose last verdict is a failure.

    Nothing where Dagster has made no tables yet. `dagster_url` is `Database.dagster_url`.
    """
    with _dagsters(dagster_url) as connection:
        try:
            runs = connection.execute(_RUNS).fetchall()
            checks = connection.execute(_FAILED_CHECKS).fetchall()
        except psycopg.errors.UndefinedTable:
            return []
    return [
        *(Measure(name, {"state": status.lower()}, value) for name, status, value in runs),
        *(
            Measure("checks_failed", {"asset": "/".join(orjson.loads(asset)), "check": check}, value)
            for asset, check, value in checks
        ),
    ]


def failing_sensors(dagster_url: str) -> list[str]:
    """Return the names of Dagster's sensors and schedules that failed at their last tick; see `of_runs`."""
    with _dagsters(dagster_url) as connection, suppress(psycopg.errors.UndefinedTable):
        return [name for (name,) in connection.execute(_FAILING)]
    return []


def _dagsters(dagster_url: str) -> Connection:
    url = urlunsplit(urlsplit(dagster_url)._replace(scheme="postgresql"))
    return psycopg.connect(url, connect_timeout=_CONNECT_SECONDS, autocommit=True)


EXPIRED: Final = ("pcds_sweep_access", "pcds_sweep_accounts", "pcds_sweep_staff_sessions")
"""Functions that remove ended tokens, codes and sessions, and the request counts of callers that no longer call."""

_ANONYMISE: Final = "SELECT pcds_anonymise((%s AT TIME ZONE 'UTC' - interval '12 months') AT TIME ZONE 'UTC')"
_NAMED: Final = """
SELECT wanted.id FROM unnest(%s::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (SELECT FROM {table} WHERE {table}.id = wanted.id{more} LIMIT 1) AS named
"""
"""Looks ids up one by one: for a list Postgres may estimate that reading all of the company's rows is cheaper."""
_STILL: Final = {"imports": " AND upload_removed_at IS NULL"}
"""An import whose file made room for another one names no object any more."""


def remove_answers(conn: Connection, *, before: datetime, most: int) -> int:
    """Remove at most `most` kept answers that are older than `before`; return how many were removed."""
    return _count(conn, "SELECT pcds_sweep_answers(%s, %s)", before, most)


def remove_expired(conn: Connection, sweep: str, now: datetime) -> int:
    """Remove the rows that one function of `EXPIRED` removes; return how many."""
    return _count(conn, f"SELECT {sweep}(%s)", now)


def anonymise(conn: Connection, now: datetime) -> int:
    """Remove addresses and user agents older than 12 calendar months from the session's company's ledger and imports.

    Returns how many records were changed. These fields are in no digest, so the chain stays valid (decisions §3). The
    database lets the application do this through one function and change nothing else of the ledger.
    """
    return _count(conn, _ANONYMISE, now)


def ids_of_rows(conn: Connection, table: str, ids: Sequence[UUID]) -> set[UUID]:
    """Return which of these ids are rows of the session's company in `table` that name objects.

    `table` must be a table name of our own.
    """
    query = _NAMED.format(table=table, more=_STILL.get(table, ""))
    return {row[0] for row in conn.execute(query, (list(ids),))}


def _count(conn: Connection, statement: str, *parameters: object) -> int:
    row = conn.execute(statement, parameters).fetchone()
    assert row is not None, "a function answers one row"
    return int(row[0] or 0)
