"""Stores answers to writes that carried an Idempotency-Key, and finds them again.

What belongs here: the lock of a request, and its row in `kept_answers`. What does not: how long an answer counts and
which payload it belongs to (`pipelines.writing.idempotency`).
"""

from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import Column, Index, Integer, LargeBinary, PrimaryKeyConstraint, Table, Text

from warehouse.base import company, instant, metadata
from warehouse.operate.sessions import Connection

kept_answers = Table(
    "kept_answers",
    metadata,
    company(),
    Column("request", LargeBinary, nullable=False, comment="SHA-256 of company, method, path and Idempotency-Key"),
    Column("fingerprint", LargeBinary, nullable=False, comment="SHA-256 of the payload"),
    Column("status", Integer, nullable=False, comment="of HTTP, 200 to 299"),
    Column("media_type", Text, nullable=False),
    Column("body", LargeBinary, nullable=False, comment="as zlib deflates it (RFC 1950)"),
    instant("answered_at"),
    PrimaryKeyConstraint("company_id", "request"),
    Index("ix_kept_answers_answered_at", "answered_at"),
)


_LOCK: Final = "SELECT pg_advisory_xact_lock(%s)"


class Kept(NamedTuple):
    """The stored answer to a request: the SHA-256 of the request's payload, and the answer's parts, body deflated."""

    fingerprint: bytes
    status: int
    media_type: str
    body: bytes
    answered_at: datetime


_KEY: Final = tuple(column.name for column in kept_answers.primary_key)
_COLUMNS: Final = (*_KEY, *Kept._fields)
FIND: Final = f"SELECT {', '.join(Kept._fields)} FROM kept_answers WHERE company_id = %s AND request = %s"
"""Finds a row by its key alone: with the age as well, old statistics could make Postgres use the index of ages."""
_KEEP: Final = (
    f"INSERT INTO kept_answers ({', '.join(_COLUMNS)}) VALUES ({', '.join('%s' for _ in _COLUMNS)}) "
    f"ON CONFLICT ({', '.join(_KEY)}) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in Kept._fields)}"
)


def lock(connection: Connection, request: bytes) -> None:
    """Wait until no other transaction has this request locked; lock it until this one ends."""
    connection.execute(_LOCK, [int.from_bytes(request[:8], "big", signed=True)])


def find(connection: Connection, company_id: UUID, request: bytes) -> Kept | None:
    """Return the answer, of whatever age, to a request of the company."""
    row = connection.execute(FIND, [company_id, request]).fetchone()
    return None if row is None else Kept(*row)


def keep(connection: Connection, company_id: UUID, request: bytes, kept: Kept) -> None:
    """Store the answer, in place of any earlier one to the request."""
    connection.execute(_KEEP, [company_id, request, *kept])
