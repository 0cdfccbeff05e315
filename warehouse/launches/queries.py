"""Runs handed to the workers: put by the launcher, taken by a worker, ended or found lost (table `launches`).

A worker holds an advisory lock under its number for as long as it lives, on any machine; Postgres takes the lock back
however the process ends. All on connections of no company.
"""

from typing import Any, Final, Literal, NamedTuple

import psycopg

Connection = psycopg.Connection[Any]

CHANNEL: Final = "pcds_launches"
"""Postgres channel on which a launched run is announced."""
CANCELS: Final = "pcds_cancels"
"""Postgres channel on which a run's end is asked for; the payload is its id."""
_LOCKS: Final = 77
"""The first key of the advisory locks by which workers show that they live; the second is the worker's number."""

State = Literal["waiting", "running", "ended", "lost"]
"""Of a launched run: nobody has it yet, a living worker has it, its worker is done with it, its worker is gone."""

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
_ADOPT: Final = "INSERT INTO launches (run_id, company, resume) VALUES (%s, %s, false) ON CONFLICT DO NOTHING"
_HOLD: Final = "INSERT INTO launches (run_id, resume, worker, taken_at) VALUES (%s, false, %s, clock_timestamp())"
_SEIZE: Final = f"""
INSERT INTO launches (run_id, resume, worker, taken_at) VALUES (%(run_id)s, false, %(worker)s, clock_timestamp())
ON CONFLICT (run_id) DO UPDATE SET worker = excluded.worker, taken_at = excluded.taken_at, ended_at = NULL
WHERE launches.worker IS NULL OR launches.ended_at IS NOT NULL OR NOT {_LIVES}
"""
_SWEEP: Final = "DELETE FROM launches WHERE ended_at < clock_timestamp() - interval '1 day'"


class Launched(NamedTuple):
    """A run that a worker has taken; one to `resume` has begun before and lost its worker."""

    run_id: str
    resume: bool


def listen(connection: Connection, channel: str) -> None:
    """Have the connection hear what is notified on `CHANNEL` or `CANCELS`."""
    connection.execute(f"LISTEN {channel}")


def put(connection: Connection, run_id: str, *, company: str | None, resume: bool) -> None:
    """Hand a run to the workers; one that a worker had before is to be had again."""
    connection.execute(_PUT, {"run_id": run_id, "company": company, "resume": resume})
    connection.execute("SELECT pg_notify(%s, '')", [CHANNEL])


def withdraw(connection: Connection, run_id: str) -> bool:
    """Take a run back that no worker has; whether it could be."""
    return connection.execute("DELETE FROM launches WHERE run_id = %s AND worker IS NULL", [run_id]).rowcount == 1


def cancel(connection: Connection, run_id: str) -> None:
    """Ask the worker that has a run to break it off."""
    connection.execute("SELECT pg_notify(%s, %s)", [CANCELS, run_id])


def state(connection: Connection, run_id: str) -> State | None:
    """Where a launched run is; None where it never was.

    A run that ended some seconds ago and is asked about all the same is lost: its end did not reach Dagster.
    """
    row = connection.execute(_STATE, {"run_id": run_id, "locks": _LOCKS}).fetchone()
    return None if row is None else row[0]


def enrol(connection: Connection) -> int:
    """The number of a new worker, who lives as long as this connection does."""
    row = connection.execute("SELECT nextval('launch_workers')::integer").fetchone()
    assert row is not None
    connection.execute("SELECT pg_advisory_lock(%s, %s)", [_LOCKS, row[0]])
    return int(row[0])


def take(connection: Connection, worker: int) -> Launched | None:
    """The run whose turn it is: of a company that has the fewest under way, the first that was asked for."""
    row = connection.execute(_TAKE, {"worker": worker, "locks": _LOCKS}).fetchone()
    return None if row is None else Launched(*row)


def hold(connection: Connection, worker: int, run_id: str) -> None:
    """Say that somebody who is enrolled executes a run that was never handed to the workers."""
    connection.execute(_HOLD, [run_id, worker])


def seize(connection: Connection, worker: int, run_id: str) -> bool:
    """Take a run that was brought by something else, unless a living worker has it; whether that could be."""
    held = {"run_id": run_id, "worker": worker, "locks": _LOCKS}
    return connection.execute(_SEIZE, held).rowcount == 1


def end(connection: Connection, worker: int, run_id: str) -> None:
    """The worker is done with the run, however that ended."""
    connection.execute(_END, [run_id, worker])


def lost(connection: Connection) -> list[str]:
    """Runs whose worker is gone and which nobody has taken up."""
    return [row[0] for row in connection.execute(_LOST, {"locks": _LOCKS})]


def close(connection: Connection, run_id: str) -> None:
    """Give a lost run its end, which Dagster has ended without a worker."""
    connection.execute(_CLOSE, {"run_id": run_id, "locks": _LOCKS})


def again(connection: Connection, run_id: str) -> None:
    """Put a lost run back that had not begun; one that another worker has taken meanwhile stays with it."""
    connection.execute(_AGAIN, {"run_id": run_id, "locks": _LOCKS})
    connection.execute("SELECT pg_notify(%s, '')", [CHANNEL])


def adopt(connection: Connection, run_id: str, *, company: str | None) -> None:
    """Hand a run to the workers that its launcher, who died, has not handed to them."""
    connection.execute(_ADOPT, [run_id, company])
    connection.execute("SELECT pg_notify(%s, '')", [CHANNEL])


def sweep(connection: Connection) -> None:
    """Forget what ended more than a day ago; Dagster's storage has it all."""
    connection.execute(_SWEEP)
