"""Rows that count for nothing any more: kept answers, tokens, sessions, codes, the counts behind limits."""

from typing import Final

from pipelines.housekeeping.companies import Proceed
from pipelines.writing.once import KEPT_FOR
from warehouse.clock import Clock
from warehouse.sessions import Pool

_BATCH: Final = 5_000


def remove_old_answers(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Remove the answers that are too old to be given again; how many there were."""
    before, removed = clock.now() - KEPT_FOR, 0
    while True:
        proceed()
        with pool.system() as conn:
            row = conn.execute("SELECT pcds_sweep_answers(%s, %s)", (before, _BATCH)).fetchone()
        swept = row[0] if row else 0
        removed += swept
        if swept < _BATCH:
            return removed


def remove_expired_access(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Remove tokens, codes and sessions that have ended, and counts of callers that are quiet; how many rows.

    Applications that registered and were connected by nobody go with them after a month.
    """
    removed = 0
    for sweep in ("pcds_sweep_access", "pcds_sweep_accounts", "pcds_sweep_staff_sessions"):
        proceed()
        with pool.system() as conn:
            row = conn.execute(f"SELECT {sweep}(%s)", (clock.now(),)).fetchone()
        removed += row[0] if row else 0
    return removed
