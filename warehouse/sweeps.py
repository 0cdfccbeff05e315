"""What housekeeping removes by functions of the database, which reach over all companies (migrations 0006 to 0019).

What belongs here: the calls. What does not: when they happen and in which order (`pipelines.housekeeping`).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg

Connection = psycopg.Connection[Any]

EXPIRED: Final = ("pcds_sweep_access", "pcds_sweep_accounts", "pcds_sweep_staff_sessions")
"""Functions that remove tokens, codes and sessions which have ended, and counts of callers that are quiet."""

_ANONYMISE: Final = "SELECT pcds_anonymise((%s AT TIME ZONE 'UTC' - interval '12 months') AT TIME ZONE 'UTC')"
_NAMED: Final = """
SELECT wanted.id FROM unnest(%s::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (SELECT FROM {table} WHERE {table}.id = wanted.id LIMIT 1) AS named
"""
"""Looked up one by one: of a list Postgres may think that reading all of the company's rows is cheaper."""


def remove_answers(conn: Connection, *, before: datetime, most: int) -> int:
    """Remove at most so many kept answers that are older; how many were removed."""
    return _count(conn, "SELECT pcds_sweep_answers(%s, %s)", before, most)


def remove_expired(conn: Connection, sweep: str, now: datetime) -> int:
    """Remove what one function of `EXPIRED` removes; how many rows."""
    return _count(conn, f"SELECT {sweep}(%s)", now)


def anonymise(conn: Connection, now: datetime) -> int:
    """Remove addresses and user agents older than 12 calendar months from the session's company's ledger and imports.

    Returns how many records were changed. They lie outside every digest, so that the chain holds (decisions §3). The
    database lets the application do this through one function and change nothing else of the ledger.
    """
    return _count(conn, _ANONYMISE, now)


def ids_of_rows(conn: Connection, table: str, ids: Sequence[UUID]) -> set[UUID]:
    """Which of these ids are rows of the session's company in `table`, a name of our own."""
    return {row[0] for row in conn.execute(_NAMED.format(table=table), (list(ids),))}


def _count(conn: Connection, statement: str, *parameters: object) -> int:
    row = conn.execute(statement, parameters).fetchone()
    assert row is not None, "a function answers one row"
    return int(row[0] or 0)
