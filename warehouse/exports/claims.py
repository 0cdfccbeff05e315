"""Claims an export for one run at a time, keeps the claim alive while the file is written, and ends the export.

A claim is the id of the run. A run that loses it, because it was silent for too long, cannot end the export: the one
that took it over writes the file anew. An export has no part that is kept from run to run.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from psycopg.types.json import Json

from warehouse.imports.claims import ClaimLost, prove
from warehouse.imports.queue import STALLED_AFTER
from warehouse.sessions import Connection

MAX_ATTEMPTS: Final = 5
"""How many runs may claim an export before it fails."""
KEPT_FOR: Final = timedelta(days=7)
"""How long a finished export and its file are kept."""

_TAKE: Final = """
WITH free AS (
    SELECT id FROM exports WHERE status IN ('queued', 'processing')
        AND (claim IS NULL OR claim = %(run)s OR heartbeat_at < %(stalled_before)s)
    ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
)
UPDATE exports
SET status = 'processing', claim = %(run)s, attempts = attempts + 1, heartbeat_at = %(now)s, skus_done = 0
FROM free WHERE exports.id = free.id
RETURNING exports.id, exports.format, exports.source, exports.object_key, exports.attempts, exports.client_id"""
_BEAT: Final = """
UPDATE exports SET heartbeat_at = %(now)s, skus_done = greatest(skus_done, %(done)s)
WHERE id = %(id)s AND claim = %(run)s"""
_END: Final = """
UPDATE exports SET status = %(status)s, failure = %(failure)s, as_of = %(as_of)s, rows = %(rows)s,
    size_bytes = %(size_bytes)s, sha256 = %(sha256)s, skus_done = coalesce(%(skus)s, skus_done), finished_at = %(now)s,
    expires_at = %(expires_at)s, claim = NULL
WHERE id = %(id)s AND claim = %(run)s"""
_HAND_BACK: Final = "UPDATE exports SET claim = NULL, attempts = attempts - %s WHERE id = %s AND claim = %s"
_COMPANIES: Final = "SELECT company_id, slug, work, skus FROM pcds_open_exports(%s, %s)"


class Claimed(NamedTuple):
    """An export that a run has claimed."""

    id: UUID
    format: str
    source: str
    object_key: str
    attempts: int
    client_id: UUID


class Waiting(NamedTuple):
    """A company with exports that wait for a run; `work` stays the same until one of them is claimed."""

    company_id: UUID
    slug: str
    work: str
    skus: int


class Done(NamedTuple):
    """What a completed export has become."""

    as_of: datetime
    rows: Mapping[str, int]
    size_bytes: int
    sha256: str


def take(connection: Connection, run_id: UUID, now: datetime) -> Claimed | None:
    """Claim the oldest export of the session's company that waits or has stalled; None where there is none."""
    parameters = {"run": run_id, "now": now, "stalled_before": now - STALLED_AFTER}
    row = connection.execute(_TAKE, parameters).fetchone()
    return None if row is None else Claimed(*row)


def beat(connection: Connection, export_id: UUID, run_id: UUID, now: datetime, *, done: int) -> bool:
    """Record that the run still writes, and how many SKUs it has written; return whether the claim is still its own."""
    return connection.execute(_BEAT, {"id": export_id, "run": run_id, "now": now, "done": done}).rowcount == 1


def complete(connection: Connection, export_id: UUID, run_id: UUID, now: datetime, done: Done) -> None:
    """End an export whose file is stored. Raises `ClaimLost`."""
    row = {
        "status": "completed",
        "failure": None,
        **done._asdict(),
        "rows": Json(dict(done.rows)),
        "skus": done.rows["skus"],
    }
    _end(connection, export_id, run_id, now, row)


def fail(connection: Connection, export_id: UUID, run_id: UUID, now: datetime, issue: Mapping[str, object]) -> None:
    """End an export that has no file, for a reason. Raises `ClaimLost`."""
    nothing = dict.fromkeys(("as_of", "rows", "size_bytes", "sha256", "skus"))
    _end(connection, export_id, run_id, now, {"status": "failed", "failure": Json(dict(issue)), **nothing})


def _end(connection: Connection, export_id: UUID, run_id: UUID, now: datetime, row: Mapping[str, object]) -> None:
    ended = {"id": export_id, "run": run_id, "now": now, "expires_at": now + KEPT_FOR, **row}
    prove(connection.execute(_END, ended))


def hand_back(connection: Connection, export_id: UUID, run_id: UUID, *, counts: bool) -> None:
    """Release the claim, so that the next run has the export at once; does nothing where the claim is lost.

    `counts` is whether the attempt counts.
    """
    connection.execute(_HAND_BACK, [0 if counts else 1, export_id, run_id])


def companies(connection: Connection, now: datetime, *, asked_for: timedelta = timedelta(0)) -> list[Waiting]:
    """Return the companies with exports that wait or have stalled.

    Leaves out exports that were asked for within `asked_for`, because their run has just been requested.
    """
    rows = connection.execute(_COMPANIES, (now - STALLED_AFTER, now - asked_for))
    return [Waiting(*row) for row in rows]


__all__ = [
    "KEPT_FOR",
    "MAX_ATTEMPTS",
    "ClaimLost",
    "Claimed",
    "Done",
    "Waiting",
    "beat",
    "companies",
    "complete",
    "fail",
    "hand_back",
    "take",
]
