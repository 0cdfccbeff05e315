"""The queue's facts that several processes share: who listens for imports, and when a run counts as lost."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from warehouse.sessions import AsyncConnection, Connection

SMALL_ROWS: Final = 2_000
"""Up to so many data lines an import is small: done in about the time that a large one's chunk takes."""

LISTENER: Final = "pcds-worker"
"""Name of the connection on which a worker listens: while one is there, imports are begun."""

_LISTENING: Final = (
    f"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = '{LISTENER}' "
    "AND datname = current_database())"
)

STALLED_AFTER: Final = timedelta(seconds=30)
"""Without a heartbeat for this long a run has lost its claim to whoever asks next (decisions §4)."""

BEAT_EVERY: Final = timedelta(seconds=5)
"""How often a run says that it is alive."""


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
    """Every company's imports that are queued, handed back or stalled, the oldest first.

    Those that were sent within `asked_for` are left out: somebody has just asked for their run.
    """
    listed = 'SELECT id, company_id, slug, filename, attempts, "position", rows_total FROM pcds_open_imports(%s, %s)'
    rows = conn.execute(listed, (now - STALLED_AFTER, now - asked_for))
    return [OpenImport(*row) for row in rows]


async def is_listened_to(connection: AsyncConnection) -> bool:
    """Whether a worker of this database waits for imports."""
    return await (await connection.execute(_LISTENING)).fetchone() == (True,)


def is_stalled(alive: datetime | None, now: datetime) -> bool:
    """Whether an import that was last `alive` then has lost its run."""
    return alive is not None and now - alive > STALLED_AFTER
