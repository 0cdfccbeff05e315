"""Removes rows that no longer count: kept answers, tokens, sessions, codes, and the counts behind limits."""

from typing import Final

from pipelines.housekeeping.proceed import Proceed
from pipelines.writing.once import KEPT_FOR
from warehouse import sweeps
from warehouse.clock import Clock
from warehouse.sessions import Pool

_BATCH: Final = 5_000


def remove_old_answers(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Remove the answers that are too old to be given again; return how many there were."""
    before, removed = clock.now() - KEPT_FOR, 0
    while True:
        proceed()
        with pool.system() as conn:
            swept = sweeps.remove_answers(conn, before=before, most=_BATCH)
        removed += swept
        if swept < _BATCH:
            return removed


def remove_expired_access(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Remove ended tokens, codes and sessions, and counts of inactive callers; return how many rows.

    Registered applications that nobody connected are removed after a month.
    """
    removed = 0
    for sweep in sweeps.EXPIRED:
        proceed()
        with pool.system() as conn:
            removed += sweeps.remove_expired(conn, sweep, clock.now())
    return removed
