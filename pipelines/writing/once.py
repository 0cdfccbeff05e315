"""A write that is sent again is done once: its answer is kept with what it wrote and given to whoever repeats it.

The Idempotency-Key of interface v1. Everything happens inside the write's own transaction: a lock that lets one of
several equal requests in at a time, whichever process they came to; the look for an answer; the keeping of one. What a
request is made of is decided by `api.writing`; nothing here knows HTTP beyond the answer's parts.
"""

import hashlib
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self
from uuid import UUID

from warehouse.answers import queries as answers
from warehouse.sessions import Connection

KEPT_FOR: Final = timedelta(hours=24)
"""From the first answer on; a replay prolongs nothing (interface v1, Limits; decisions §11)."""

_FAST: Final = 1
"""The level of deflation: a quarter of the bytes is left to write and to log, for a moment of work."""


class ReusedKey(Exception):  # noqa: N818  (the name of the published code)
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

    def recall(self, conn: Connection, now: datetime) -> Answer | None:
        """The answer that an equal request has had, or None where this one is to be done.

        Waits for an equal request that is being done. The look is a statement of its own, so that it sees what the one
        waited for has committed. Raises `ReusedKey`.
        """
        answers.lock(conn, self.request)
        kept = answers.find(conn, self.company_id, self.request)
        if kept is None or kept.answered_at <= now - KEPT_FOR:
            return None
        if kept.fingerprint != self.fingerprint:
            raise ReusedKey
        return Answer(kept.status, kept.media_type, zlib.decompress(kept.body))

    def keep(self, conn: Connection, answer: Answer, now: datetime) -> None:
        """Keep the answer of a request that was done in this transaction; one older than a day is replaced."""
        body = zlib.compress(answer.body, _FAST)
        kept = answers.Kept(self.fingerprint, answer.status, answer.media_type, body, now)
        answers.keep(conn, self.company_id, self.request, kept)
