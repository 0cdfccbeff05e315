"""The right to write an import's next chunk: taken, kept alive, proved at each commit, handed back.

A claim is a random token in the import's row. Whoever commits a chunk proves in that very transaction that the row
still has its token and its position (`Claim.advance`), so that a run that was believed dead and wakes up again
cannot write a chunk a second time.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg
import structlog

from pipelines.steps.imports.queue import BEAT_EVERY, STALLED_AFTER
from warehouse.clock import Clock
from warehouse.sessions import Pool

MAX_ATTEMPTS: Final = 5
"""Runs in a row that may lose their process, without a committed chunk, before the import is given up."""

_ASSIGN: Final = """
WITH held AS (SELECT id, run_id FROM imports WHERE id = %s AND claim = %s FOR UPDATE)
UPDATE imports SET run_id = %s FROM held WHERE imports.id = held.id RETURNING held.run_id
"""

log = structlog.get_logger(__name__)


class ClaimLost(Exception):  # noqa: N818  (no fault of the program: another run went on)
    """Another run has taken the import over, or it has ended; nothing of the open transaction may stay."""


class HandedBack(Exception):  # noqa: N818
    """The process is stopping; the rest of the import waits for another run."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One run's hold on one import."""

    import_id: UUID
    company_id: UUID
    token: UUID


def take(pool: Pool, clock: Clock, import_id: UUID | None = None, *, most_rows: int | None = None) -> Claim | None:
    """Claim one import, or the one whose turn it is, of at most `most_rows`; None when there is none to be had.

    Companies take turns: it is first the turn of the import that has the fewest of its own company's before it.
    """
    now, token = clock.now(), uuid4()
    with pool.system() as conn:
        row = conn.execute(
            "SELECT id, company_id FROM pcds_claim_import(%s, %s, %s, %s, %s)",
            (import_id, token, now, now - STALLED_AFTER, most_rows),
        ).fetchone()
    return None if row is None else Claim(row[0], row[1], token)


def assign(pool: Pool, claim: Claim, run_id: str) -> str | None:
    """Note which Dagster run works under the claim; returns the run that worked on the import before.

    Raises `ClaimLost`.
    """
    with pool.company(claim.company_id) as conn:
        cursor = conn.execute(_ASSIGN, (claim.import_id, claim.token, run_id))
        prove(cursor)
        (previous,) = cursor.fetchone() or (None,)
    return previous


def held_by(pool: Pool, import_id: UUID, company_id: UUID, run_id: str) -> Claim | None:
    """The claim under which a Dagster run works on an import; None where it has ended or another run has it."""
    with pool.company(company_id) as conn:
        row = conn.execute("SELECT claim FROM imports WHERE id = %s AND run_id = %s", (import_id, run_id)).fetchone()
    return None if row is None or row[0] is None else Claim(import_id, company_id, row[0])


def prove(cursor: psycopg.Cursor[Any]) -> None:
    """Raise `ClaimLost` where an update guarded by the claim's token found no row."""
    if cursor.rowcount != 1:
        raise ClaimLost("the import was taken over by another run, or has ended")


def hand_back(pool: Pool, claim: Claim) -> None:
    """Let the next run have the import at once; nothing happens when the claim is lost already."""
    with pool.company(claim.company_id) as conn:
        conn.execute("UPDATE imports SET claim = NULL WHERE id = %s AND claim = %s", (claim.import_id, claim.token))


def not_tried(pool: Pool, claim: Claim) -> None:
    """Take back that the run counts as an attempt: it did not fail, its process is stopped in good order."""
    with pool.company(claim.company_id) as conn:
        conn.execute(
            "UPDATE imports SET attempts = greatest(attempts - 1, 0) WHERE id = %s AND claim = %s",
            (claim.import_id, claim.token),
        )


@contextmanager
def beating(pool: Pool, claim: Claim, clock: Clock) -> Iterator[Callable[[], None]]:
    """Keep the claim alive from a thread while the block runs.

    Yields a function that raises `ClaimLost` once a heartbeat found the claim gone.
    """
    done, lost = threading.Event(), threading.Event()

    def check() -> None:
        if lost.is_set():
            raise ClaimLost("the import was taken over by another run, or has ended")

    def beat() -> None:
        while not done.wait(BEAT_EVERY.total_seconds()):
            try:
                if not _beat(pool, claim, clock):
                    lost.set()
                    return
            except psycopg.OperationalError as error:  # the database restarts; the next beat may get through
                log.warning("import.heartbeat_failed", import_id=str(claim.import_id), error=type(error).__name__)

    thread = threading.Thread(target=beat, name=f"heartbeat-{claim.import_id}", daemon=True)
    thread.start()
    try:
        yield check
    finally:
        done.set()
        thread.join()


def _beat(pool: Pool, claim: Claim, clock: Clock) -> bool:
    with pool.company(claim.company_id) as conn:
        cursor = conn.execute(
            "UPDATE imports SET heartbeat_at = %s WHERE id = %s AND claim = %s",
            (clock.now(), claim.import_id, claim.token),
        )
        return cursor.rowcount == 1
