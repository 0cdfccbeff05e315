"""A write that is sent again is done once: its answer is kept with what it wrote and given to whoever repeats it.

The Idempotency-Key of interface v1. Everything happens inside the write's own transaction: a lock that lets one of
several equal requests in at a time, whichever process they came to; the look for an answer; the keeping of one. What a
request is made of is the door's to say (`api.writing`); nothing here knows HTTP beyond the answer's parts.
"""

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self
from uuid import UUID

import psycopg

KEPT_FOR: Final = timedelta(hours=24)
"""From the first answer on; a replay prolongs nothing (interface v1, Limits; decisions §11)."""

_FAST: Final = 1
"""The level of deflation: a quarter of the bytes is left to write and to log, for a moment of work."""

_LOCK: Final = "SELECT pg_advisory_xact_lock(%s)"
_RECALL: Final = (
    "SELECT fingerprint, status, media_type, body, answered_at FROM kept_answers WHERE company_id = %s AND request = %s"
)
"""By its key alone: with the age asked here, too, old statistics could send the database through the index of ages."""
_KEEP: Final = (
    "INSERT INTO kept_answers (company_id, request, fingerprint, status, media_type, body, answered_at) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (company_id, request) DO UPDATE SET "
    "fingerprint = excluded.fingerprint, status = excluded.status, media_type = excluded.media_type, "
    "body = excluded.body, answered_at = excluded.answered_at"
)


class KeyReused(Exception):  # noqa: N818  (the name of the published code)
    """The key has been answered for another payload less than a day ago; nothing was written."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered, byte for byte."""

    status: int
    media_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Once:
    """One request by what its repeats have in common. The key belongs to company, method and path (decisions §3)."""

    company_id: UUID
    request: bytes
    fingerprint: bytes

    @classmethod
    def of(cls, company_id: UUID, *, method: str, path: str, key: str, fingerprint: bytes) -> Self:
        """`fingerprint` is a SHA-256 of the payload; two payloads under one key are told apart by it."""
        names = "\0".join((str(company_id), method, path, key))
        return cls(company_id, hashlib.sha256(names.encode("utf-8", "surrogatepass")).digest(), fingerprint)

    def recall(self, conn: psycopg.Connection[Any], now: datetime) -> Answer | None:
        """The answer that an equal request has had, or None where this one is to be done.

        Waits for an equal request that is being done. The look is a statement of its own, so that it sees what the one
        waited for has committed. Raises `KeyReused`.
        """
        conn.execute(_LOCK, [self._lock])
        return self._still_kept(conn.execute(_RECALL, [self.company_id, self.request]).fetchone(), now)

    @property
    def _lock(self) -> int:
        return int.from_bytes(self.request[:8], "big", signed=True)

    def _still_kept(self, kept: tuple[Any, ...] | None, now: datetime) -> Answer | None:
        if kept is None:
            return None
        fingerprint, status, media_type, body, answered_at = kept
        if answered_at <= now - KEPT_FOR:
            return None
        if fingerprint != self.fingerprint:
            raise KeyReused
        return Answer(status, media_type, zlib.decompress(body))

    @classmethod
    def recall_each(
        cls, conn: psycopg.Connection[Any], requests: Mapping[int, Self], now: datetime
    ) -> dict[int, Answer | KeyReused | None]:  # fmt: skip
        """The same for several requests by their places, of which no two are equal; in a pipeline one round trip.

        Their locks are taken in one order by every writer, so that two of them wait for each other and never for ever.
        """
        for lock in sorted(each._lock for each in requests.values()):
            conn.execute(_LOCK, [lock])
        asked = {at: conn.execute(_RECALL, [each.company_id, each.request]) for at, each in requests.items()}
        found: dict[int, Answer | KeyReused | None] = {}
        for place, cursor in asked.items():
            try:
                found[place] = requests[place]._still_kept(cursor.fetchone(), now)
            except KeyReused as reused:
                found[place] = reused
        return found

    def keep(self, conn: psycopg.Connection[Any], answer: Answer, now: datetime) -> None:
        """Keep the answer of a request that was done in this transaction; one older than a day is replaced."""
        body = zlib.compress(answer.body, _FAST)
        about = [self.company_id, self.request, self.fingerprint]
        conn.execute(_KEEP, [*about, answer.status, answer.media_type, body, now])
