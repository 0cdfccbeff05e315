"""Calls the database functions that remove old rows of all companies for housekeeping (migrations 0006 to 0019).

What belongs here: the calls. What does not: when and in which order they happen (`pipelines.housekeeping`).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from warehouse.sessions import Connection

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
