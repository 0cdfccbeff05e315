"""Queues runs for the workers in the table `launches`: the launcher puts a run, a worker takes it and ends it.

A worker holds an advisory lock under its number for as long as it lives, on any machine; Postgres releases the lock
however the process ends, and so a lost worker is found. All connections here are of no company.
"""

import select
from typing import Final, Literal, NamedTuple

from sqlalchemy import Boolean, Column, DateTime, Index, Integer, Table, Text, text

from warehouse.base import metadata
from warehouse.operate.sessions import Connection

CHANNEL: Final = "pcds_launches"
"""Postgres channel on which a launched run is announced."""
CANCELS: Final = "pcds_cancels"
"""Postgres channel on which a run's cancellation is requested; the payload is its id."""
QUEUE: Final = "pcds_queue"
"""Postgres channel on which Dagster's queue is announced to have changed: a run was queued, or less is under way."""
_LOCKS: Final = 77
"""The first key of the workers' advisory locks; the second is the worker's number."""

State = Literal["waiting", "running", "ended", "lost"]
"""State of a launched run: no worker has it yet, a living worker has it, its worker has ended it, its worker is lost.
"""

_LIVES: Final = (
    "EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = %(locks)s AND objid = launches.worker "
    "AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
)
_PUT: Final = """
INSERT INTO launches (run_id, company, resume) VALUES (%(run_id)s, %(company)s, %(resume)s)
ON CONFLICT (run_id) DO UPDATE SET
    resume = excluded.resume, asked_at = clock_timestamp(), worker = NULL, taken_at = NULL, ended_at = NULL
"""
_TAKE: Final = f"""
WITH chosen AS (
    SELECT run_id FROM launches AS waiting WHERE worker IS NULL
    ORDER BY (
        SELECT count(*) FROM launches
        WHERE launches.company = waiting.company AND ended_at IS NULL AND worker IS NOT NULL AND {_LIVES}
    ), asked_at
    LIMIT 1 FOR UPDATE SKIP LOCKED
)
UPDATE launches SET worker = %(worker)s, taken_at = clock_timestamp() FROM chosen
WHERE launches.run_id = chosen.run_id RETURNING launches.run_id, resume
"""
_END: Final = "UPDATE launches SET ended_at = clock_timestamp() WHERE run_id = %s AND worker = %s"
_STATE: Final = f"""
SELECT CASE WHEN worker IS NULL THEN 'waiting'
    WHEN ended_at IS NOT NULL THEN CASE WHEN ended_at < clock_timestamp() - interval '5 seconds'
        THEN 'lost' ELSE 'ended' END
    WHEN {_LIVES} THEN 'running' ELSE 'lost' END
FROM launches WHERE run_id = %(run_id)s
"""
_AGAIN: Final = f"""
UPDATE launches SET worker = NULL, taken_at = NULL, ended_at = NULL
WHERE run_id = %(run_id)s AND worker IS NOT NULL AND CASE WHEN ended_at IS NULL THEN NOT {_LIVES}
    ELSE ended_at < clock_timestamp() - interval '5 seconds' END
"""
_GONE: Final = f"worker IS NOT NULL AND ended_at IS NULL AND NOT {_LIVES}"
_LOST: Final = f"SELECT run_id FROM launches WHERE {_GONE}"
_CLOSE: Final = f"UPDATE launches SET ended_at = clock_timestamp() WHERE run_id = %(run_id)s AND {_GONE}"
_GIVE_UP: Final = f"""
UPDATE launches SET ended_at = clock_timestamp()
WHERE run_id = %(run_id)s AND worker IS NOT NULL AND ended_at IS NULL AND {_LIVES}
"""
_ADOPT: Final = "INSERT INTO launches (run_id, company, resume) VALUES (%s, %s, false) ON CONFLICT DO NOTHING"
_SEIZE: Final = f"""
INSERT INTO launches (run_id, resume, worker, taken_at) VALUES (%(run_id)s, false, %(worker)s, clock_timestamp())
ON CONFLICT (run_id) DO UPDATE SET worker = excluded.worker, taken_at = excluded.taken_at, ended_at = NULL
WHERE launches.worker IS NULL OR launches.ended_at IS NOT NULL OR NOT {_LIVES}
"""
_SWEEP: Final = "DELETE FROM launches WHERE ended_at < clock_timestamp() - interval '1 day'"


class Launched(NamedTuple):
    """A run that a worker has taken; with `resume` it began before and lost its worker."""

    run_id: str
    resume: bool


def listen(connection: Connection, channel: str) -> None:
    """Subscribe the connection to the notifications of `CHANNEL`, `CANCELS` or `QUEUE`."""
    connection.execute(f"LISTEN {channel}")


def payloads(connection: Connection, seconds: float | None = None) -> list[str]:
    """Return what was notified; where nothing was, wait for it, at most `seconds`.

    The wait is for the socket: psycopg's own wakes up ten times a second.
    """
    received = _payloads(connection)
    if not received:
        select.select([connection], [], [], seconds)
        received = _payloads(connection)
    return received


def _payloads(connection: Connection) -> list[str]:
    return [notification.payload for notification in connection.notifies(timeout=0)]


def put(connection: Connection, run_id: str, *, company: str | None, resume: bool) -> None:
    """Queue a run for the workers; a run that a worker had before is queued again."""
    connection.execute(_PUT, {"run_id": run_id, "company": company, "resume": resume})
    connection.execute("SELECT pg_notify(%s, '')", [CHANNEL])


def wake_queue(connection: Connection) -> None:
    """Have Dagster's daemon look at its queue now (`pipelines.engine.daemon`)."""
    connection.execute("SELECT pg_notify(%s, '')", [QUEUE])


def withdraw(connection: Connection, run_id: str) -> bool:
    """Remove a run from the queue where no worker has taken it; return whether it was removed."""
    return connection.execute("DELETE FROM launches WHERE run_id = %s AND worker IS NULL", [run_id]).rowcount == 1


def cancel(connection: Connection, run_id: str) -> None:
    """Ask the worker that has a run to cancel it."""
    connection.execute("SELECT pg_notify(%s, %s)", [CANCELS, run_id])


def state(connection: Connection, run_id: str) -> State | None:
    """Return the state of a launched run; None where it was never launched.

    A run that ended some seconds ago and is still asked about is lost: its end did not reach Dagster.
    """
    row = connection.execute(_STATE, {"run_id": run_id, "locks": _LOCKS}).fetchone()
    return None if row is None else row[0]


def enrol(connection: Connection) -> int:
    """Register a new worker, which lives as long as this connection does; return its number."""
    row = connection.execute("SELECT nextval('launch_workers')::integer").fetchone()
    assert row is not None
    connection.execute("SELECT pg_advisory_lock(%s, %s)", [_LOCKS, row[0]])
    return int(row[0])


def take(connection: Connection, worker: int) -> Launched | None:
    """Take the next run: the oldest request among companies with the fewest runs under way; None where none waits."""
    row = connection.execute(_TAKE, {"worker": worker, "locks": _LOCKS}).fetchone()
    return None if row is None else Launched(*row)


def seize(connection: Connection, worker: int, run_id: str) -> bool:
    """Take a run that was not put here, unless a living worker has it; return whether it was taken."""
    parameters = {"run_id": run_id, "worker": worker, "locks": _LOCKS}
    return connection.execute(_SEIZE, parameters).rowcount == 1


def end(connection: Connection, worker: int, run_id: str) -> None:
    """Record that the worker has ended the run, with any outcome; another run may begin in its place."""
    connection.execute(_END, [run_id, worker])
    wake_queue(connection)


def lost(connection: Connection) -> list[str]:
    """Return the runs whose worker is lost and which no other worker has taken."""
    return [row[0] for row in connection.execute(_LOST, {"locks": _LOCKS})]


def close(connection: Connection, run_id: str) -> None:
    """Record the end of a lost run that Dagster has ended without a worker."""
    connection.execute(_CLOSE, {"run_id": run_id, "locks": _LOCKS})


def give_up(connection: Connection, run_id: str) -> None:
    """Record the end of a run whose worker lives and does nothing: the worker then no longer counts as having a run."""
    connection.execute(_GIVE_UP, {"run_id": run_id, "locks": _LOCKS})


def queue_again(connection: Connection, run_id: str) -> None:
    """Queue a lost run again that had not begun; leaves a run that another worker has taken meanwhile."""
    connection.execute(_AGAIN, {"run_id": run_id, "locks": _LOCKS})
    connection.execute("SELECT pg_notify(%s, '')", [CHANNEL])


def adopt(connection: Connection, run_id: str, *, company: str | None) -> None:
    """Queue a run for the workers whose launcher died before it did so."""
    connection.execute(_ADOPT, [run_id, company])
    connection.execute("SELECT pg_notify(%s, '')", [CHANNEL])


def sweep(connection: Connection) -> None:
    """Delete runs that ended more than a day ago; Dagster's storage keeps their records."""
    connection.execute(_SWEEP)


launches = Table(
    "launches",
    metadata,
    Column("run_id", Text, primary_key=True, comment="of Dagster, whose storage knows the rest of the run"),
    Column("company", Text, comment="whose run it is, or null; companies take turns"),
    Column("resume", Boolean, nullable=False, comment="the run has begun before and lost its worker"),
    Column("asked_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    Column("worker", Integer, comment="number of the worker that took it; its advisory lock says whether it lives"),
    Column("taken_at", DateTime(timezone=True)),
    Column("ended_at", DateTime(timezone=True)),
    Index("ix_launches_waiting", "asked_at", postgresql_where=text("worker IS NULL")),
)
