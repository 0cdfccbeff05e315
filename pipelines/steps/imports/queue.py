"""The queue's facts that several processes share: who listens for imports, and when a run counts as lost."""

from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import psycopg

CHANNEL: Final = "pcds_imports"
"""Postgres channel on which a new or stalled import is announced; the payload is its id."""

LISTENER: Final = "pcds-worker"
"""Name of the connection on which a worker listens: while one is there, imports are begun."""

LISTENING: Final = (
    f"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = '{LISTENER}' "
    "AND datname = current_database())"
)
"""Whether a worker of this database listens."""

STALLED_AFTER: Final = timedelta(seconds=30)
"""Without a heartbeat for this long a run has lost its claim to whoever asks next (decisions §4)."""

BEAT_EVERY: Final = timedelta(seconds=5)
"""How often a run says that it is alive."""


class OpenImport(NamedTuple):
    """An import that waits for a run."""

    id: UUID
    company_id: UUID
    filename: str
    attempts: int
    position: int


def announce(conn: psycopg.Connection[Any], import_id: UUID) -> None:
    """Wake the workers when the caller's transaction commits."""
    conn.execute("SELECT pg_notify(%s, %s)", (CHANNEL, str(import_id)))


def open_imports(conn: psycopg.Connection[Any], now: datetime) -> list[OpenImport]:
    """Every company's imports that are queued, handed back or stalled, the oldest first."""
    listed = 'SELECT id, company_id, filename, attempts, "position" FROM pcds_open_imports(%s)'
    rows = conn.execute(listed, (now - STALLED_AFTER,))
    return [OpenImport(*row) for row in rows]
