"""Makes writes idempotent: stores an answer with what it wrote, and returns it to equal requests with the same key.

This is the Idempotency-Key of interface v1. Everything happens inside the write's own transaction: a lock that admits
one of several equal requests at a time, in whichever process they arrive; the look-up of a stored answer; its storage.
`api.http.writing` decides what identifies a request; nothing here knows HTTP beyond the parts of an answer.
"""

import hashlib
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple, Self
from uuid import UUID

from sqlalchemy import Column, Index, Integer, LargeBinary, PrimaryKeyConstraint, Table, Text

from warehouse.base import company, instant, metadata
from warehouse.operate.sessions import Connection

KEPT_FOR: Final = timedelta(hours=24)
"""How long an answer is stored; a replay does not extend it (interface v1, Limits; decisions §11)."""
_FAST: Final = 1
"""The compression level: it leaves a quarter of the bytes to store, for little CPU time."""

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


class _Kept(NamedTuple):
    """A stored answer, body deflated, with the SHA-256 of its request's payload."""

    fingerprint: bytes
    status: int
    media_type: str
    body: bytes
    answered_at: datetime


_KEY: Final = tuple(column.name for column in kept_answers.primary_key)
_COLUMNS: Final = (*_KEY, *_Kept._fields)
FIND: Final = f"SELECT {', '.join(_Kept._fields)} FROM kept_answers WHERE company_id = %s AND request = %s"
"""Finds a row by its key alone: with the age as well, old statistics could make Postgres use the index of ages."""
_KEEP: Final = (
    f"INSERT INTO kept_answers ({', '.join(_COLUMNS)}) VALUES ({', '.join('%s' for _ in _COLUMNS)}) "
    f"ON CONFLICT ({', '.join(_KEY)}) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _Kept._fields)}"
)


class ReusedKey(Exception):  # noqa: N818  (the name of the published code)
    """The key was used for another payload less than a day ago; nothing was written."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A stored answer, byte for byte."""

    status: int
    media_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class RepeatableRequest:
    """The identity of a request and its repeats. The key belongs to company, method and path (decisions §3)."""

    company_id: UUID
    request: bytes
    fingerprint: bytes

    @classmethod
    def from_key(cls, company_id: UUID, *, method: str, path: str, key: str, fingerprint: bytes) -> Self:
        """Return the identity; `fingerprint` is a SHA-256 of the payload: it separates payloads under one key."""
        names = "\0".join((str(company_id), method, path, key))
        return cls(company_id, hashlib.sha256(names.encode("utf-8", "surrogatepass")).digest(), fingerprint)

    def recall(self, conn: Connection, now: datetime) -> Answer | None:
        """Return the stored answer to an equal request, or None where there is none and this one must be done.

        It waits for an equal request under way. The look-up is a statement of its own, so that it sees what that
        request has committed. Raise `ReusedKey`.
        """
        conn.execute(_LOCK, [int.from_bytes(self.request[:8], "big", signed=True)])
        row = conn.execute(FIND, [self.company_id, self.request]).fetchone()
        if row is None or (stored := _Kept(*row)).answered_at <= now - KEPT_FOR:
            return None
        if stored.fingerprint != self.fingerprint:
            raise ReusedKey
        return Answer(stored.status, stored.media_type, zlib.decompress(stored.body))

    def keep(self, conn: Connection, answer: Answer, now: datetime) -> None:
        """Store the answer to the request that this transaction did; an answer older than a day is replaced."""
        body = zlib.compress(answer.body, _FAST)
        kept = (self.fingerprint, answer.status, answer.media_type, body, now)
        conn.execute(_KEEP, [self.company_id, self.request, *kept])
