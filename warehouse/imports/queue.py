"""Reads the queue of imports: which ones wait for a run, whether a worker listens, and whether a run has stalled.

What belongs here: the limits that several processes share, such as the time without a heartbeat after which a run's
claim is lost.
"""

from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from warehouse.sessions import AsyncConnection, Connection

SMALL_ROWS: Final = 2_000
"""Up to this many data lines an import is small: done in about the time of a large one's chunk."""

LISTENER: Final = "pcds-worker"
"""Name of the connection on which a worker listens, and looks for launched runs every two seconds."""

SILENT_AFTER: Final = timedelta(seconds=60)
"""A worker that has not looked for so long, and has no run, hangs: a process that is stopped stays connected."""

_LISTENING: Final = f"""
SELECT EXISTS (
    SELECT FROM pg_stat_activity AS worker WHERE application_name = '{LISTENER}' AND datname = current_database()
    AND (state_change > clock_timestamp() - %s OR EXISTS (
        SELECT FROM pg_locks JOIN launches ON launches.worker = pg_locks.objid AND launches.ended_at IS NULL
        WHERE pg_locks.pid = worker.pid AND locktype = 'advisory')))
"""

STALLED_AFTER: Final = timedelta(seconds=30)
"""After this time without a heartbeat, the next run that asks takes over the claim (decisions §4)."""

BEAT_EVERY: Final = timedelta(seconds=5)
"""Interval of a run's heartbeats."""


class OpenImport(NamedTuple):
    """An import that waits for a run."""

    id: UUID
    company_id: UUID
    slug: str
    filename: str
    attempts: int
    position: int
    rows_total: int


def open_imports(conn: Connection, now: datetime, *, asked_for: timedelta = timedelta(0)) -> list[OpenImport]:
    """Return every company's imports that are queued, handed back or stalled, the oldest first.

    Leaves out imports that were sent within `asked_for`, because their run has just been requested.
    """
    listed = 'SELECT id, company_id, slug, filename, attempts, "position", rows_total FROM pcds_open_imports(%s, %s)'
    rows = conn.execute(listed, (now - STALLED_AFTER, now - asked_for))
    return [OpenImport(*row) for row in rows]


def has_listener(conn: Connection) -> bool:
    """Return the same as `is_listened_to`, for a connection of a thread."""
    return conn.execute(_LISTENING, (SILENT_AFTER,)).fetchone() == (True,)


async def is_listened_to(connection: AsyncConnection) -> bool:
    """Return whether a worker of this database waits for imports."""
    return await (await connection.execute(_LISTENING, (SILENT_AFTER,))).fetchone() == (True,)


def is_stalled(alive: datetime | None, now: datetime) -> bool:
    """Return whether an import has lost its run, given its last heartbeat."""
    return alive is not None and now - alive > STALLED_AFTER
