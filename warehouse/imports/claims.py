"""Claims an import for one run at a time: takes the claim, keeps it alive, checks it at each commit, releases it.

A claim is a token in the import's row: the id of the run that works on it, so that a run that lost its process and
continues in another has its claim again at once. The transaction that commits a chunk checks that the row still has its
token and its position. So a run that was believed dead and wakes up cannot write a chunk a second time.

Each step of a run takes the claim anew and lays it down when it ends normally, which takes back the attempt that it
counted. So `attempts` counts the steps that lost their process, or failed, since the last committed chunk.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple
from uuid import UUID

import psycopg
import structlog
from psycopg.types.json import Json

from warehouse.operate.clock import Clock
from warehouse.operate.sessions import AsyncConnection, Connection, Cursor, Pool

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


MAX_ATTEMPTS: Final = 5
"""How many runs in a row may lose their process, without a committed chunk, before the import fails."""

_TAKE: Final = """
WITH free AS (
    SELECT id, run_id FROM imports
    WHERE id = %(import)s AND status IN ('queued', 'processing')
        AND (claim IS NULL OR claim = %(token)s OR heartbeat_at < %(stalled_before)s)
        AND (dry_run OR NOT EXISTS (
            SELECT FROM imports AS older
            WHERE older.company_id = imports.company_id AND older.id < imports.id AND NOT older.dry_run
                AND older.status IN ('queued', 'processing') AND older.started_at IS NOT NULL
                AND (older.rows_total > %(small_rows)s) = (imports.rows_total > %(small_rows)s)
        ))
    FOR UPDATE
)
UPDATE imports
SET status = 'processing', claim = %(token)s, run_id = %(run)s, attempts = attempts + 1, heartbeat_at = %(now)s,
    started_at = coalesce(started_at, %(now)s)
FROM free WHERE imports.id = free.id
RETURNING free.run_id
"""

_LAY_DOWN: Final = """
UPDATE imports SET attempts = greatest(attempts - 1, 0), claim = CASE WHEN %s THEN claim END
WHERE id = %s AND claim = %s
"""

_END: Final = """
UPDATE imports SET status = %s, failure = %s, finished_at = %s, claim = NULL,
    templates = (coalesce(templates::jsonb, '{}') || %s::jsonb)::json
WHERE id = %s AND claim = %s
RETURNING created, updated, unchanged, rejected
"""

_ADVANCE: Final = """
UPDATE imports
SET position = %(stop)s, rows_done = %(rows_done)s, heartbeat_at = %(now)s, attempts = 0,
    created = created + %(created)s, updated = updated + %(updated)s, unchanged = unchanged + %(unchanged)s,
    rejected = rejected + %(rejected)s
WHERE id = %(id)s AND claim = %(token)s AND position = %(start)s
"""

log = structlog.get_logger(__name__)


class ClaimLost(Exception):  # noqa: N818  (no fault of the program: another run continues)
    """Another run has taken over the import, or it has ended; the open transaction must be rolled back."""


class HandedBack(Exception):  # noqa: N818
    """The process is stopping; the rest of the import waits for another run."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One run's claim on one import: `token` is the run's id, `previous_run` the one that had the import before."""

    import_id: UUID
    company_id: UUID
    token: UUID
    previous_run: str | None = None


def take(pool: Pool, clock: Clock, company_id: UUID, import_id: UUID, run_id: UUID) -> Claim | None:
    """Claim an import of the company for a run, which counts as an attempt.

    None where the company has no such import, where it has ended, where another run has claimed it, and where an
    earlier file of its size (`SMALL_ROWS`) has begun: of what both say, the later one's is to stay.
    """
    now = clock.now()
    parameters = {
        "import": import_id,
        "token": run_id,
        "run": str(run_id),
        "now": now,
        "stalled_before": now - STALLED_AFTER,
        "small_rows": SMALL_ROWS,
    }
    with pool.company(company_id) as conn:
        row = conn.execute(_TAKE, parameters).fetchone()
    return None if row is None else Claim(import_id, company_id, run_id, row[0])


def held_by(pool: Pool, import_id: UUID, company_id: UUID, run_id: UUID) -> Claim | None:
    """Return the run's claim on an import; None where it has ended or another run has it."""
    with pool.company(company_id) as conn:
        row = conn.execute("SELECT FROM imports WHERE id = %s AND claim = %s", (import_id, run_id)).fetchone()
    return None if row is None else Claim(import_id, company_id, run_id)


def prove(cursor: Cursor) -> None:
    """Raise `ClaimLost` where an update guarded by the claim's token found no row."""
    if cursor.rowcount != 1:
        raise ClaimLost("the import was taken over by another run, or has ended")


def advance(
    conn: Connection, claim: Claim, *, start: int, stop: int, rows_done: int, counts: Counter[str], at: datetime
) -> None:
    """Move the claimed import from one position to the next in the caller's transaction, and set its attempts to 0.

    `rows_done` are the file's lines up to there; `counts` are this chunk's rows by outcome. Raises `ClaimLost`.
    """
    outcomes = ("created", "updated", "unchanged", "rejected")
    moved = {"id": claim.import_id, "token": claim.token, "start": start, "stop": stop, "rows_done": rows_done}
    prove(conn.execute(_ADVANCE, {**moved, "now": at, **{name: counts[name] for name in outcomes}}))


def end(
    conn: Connection,
    claim: Claim,
    status: str,
    *,
    failure: Mapping[str, object] | None,
    at: datetime,
    templates: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, int]:
    """End the claimed import in the caller's transaction; return its counts of rows by outcome. Raises `ClaimLost`.

    `templates` are those of the failure's message.
    """
    reason = None if failure is None else Json(dict(failure))
    cursor = conn.execute(_END, (status, reason, at, Json(dict(templates)), claim.import_id, claim.token))
    prove(cursor)
    return dict(zip(("created", "updated", "unchanged", "rejected"), cursor.fetchone() or (), strict=True))


def hand_back(pool: Pool, claim: Claim) -> None:
    """Release the claim so that the next run can take the import at once; does nothing where the claim is lost."""
    with pool.company(claim.company_id) as conn:
        conn.execute("UPDATE imports SET claim = NULL WHERE id = %s AND claim = %s", (claim.import_id, claim.token))


def take_away(pool: Pool, clock: Clock, company_id: UUID, import_id: UUID, run_id: UUID) -> bool:
    """Release a run's claim whose heartbeats have stopped, so that the next run can take it; return whether it had."""
    silent = "UPDATE imports SET claim = NULL WHERE id = %s AND claim = %s AND heartbeat_at < %s"
    with pool.company(company_id) as conn:
        return conn.execute(silent, (import_id, run_id, clock.now() - STALLED_AFTER)).rowcount == 1


def lay_down(pool: Pool, claim: Claim, *, keep: bool) -> None:
    """Take back the attempt of a step that ended normally; with `keep` the run keeps its claim."""
    with pool.company(claim.company_id) as conn:
        conn.execute(_LAY_DOWN, (keep, claim.import_id, claim.token))


@contextmanager
def heartbeats(kind: str, claimed_id: UUID, is_kept: Callable[[], bool]) -> Iterator[Callable[[], None]]:
    """Send the heartbeat of a claim from a thread during the block; `is_kept` sends one, and says if it stands.

    Yields a function that raises `ClaimLost` once a heartbeat found the claim gone. `kind` is what is claimed: an
    import, or an export.
    """
    done, lost = threading.Event(), threading.Event()

    def check() -> None:
        if lost.is_set():
            raise ClaimLost(f"the {kind} was taken over by another run, or has ended")

    def send() -> None:
        while not done.wait(BEAT_EVERY.total_seconds()):
            try:
                if not is_kept():
                    lost.set()
                    return
            except psycopg.Error as error:  # it restarts, or takes no writes for now; the next heartbeat may succeed
                event, about = f"{kind}.heartbeat_failed", {f"{kind}_id": str(claimed_id)}
                log.warning(event, **about, error=type(error).__name__)

    thread = threading.Thread(target=send, name=f"heartbeat-{claimed_id}", daemon=True)
    thread.start()
    try:
        yield check
    finally:
        done.set()
        thread.join()


def send_heartbeats(pool: Pool, claim: Claim, clock: Clock) -> AbstractContextManager[Callable[[], None]]:
    """Send the heartbeat of an import's claim during the block, as `heartbeats` does."""
    return heartbeats("import", claim.import_id, partial(beat, pool, claim, clock))


def beat(pool: Pool, claim: Claim, clock: Clock) -> bool:
    """Record a heartbeat of an import's claim; return whether the claim still stands."""
    beaten = "UPDATE imports SET heartbeat_at = %s WHERE id = %s AND claim = %s"
    with pool.company(claim.company_id) as conn:
        return conn.execute(beaten, (clock.now(), claim.import_id, claim.token)).rowcount == 1
