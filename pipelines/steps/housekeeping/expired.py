"""Rows that count for nothing any more: kept answers, bearer tokens, the counts behind limits."""

from typing import Final

from pipelines.steps.housekeeping.companies import Proceed
from pipelines.steps.once import KEPT_FOR
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
    """Remove bearer tokens that have ended and counts of callers that are quiet; how many rows there were."""
    proceed()
    with pool.system() as conn:
        row = conn.execute("SELECT pcds_sweep_access(%s)", (clock.now(),)).fetchone()
    return row[0] if row else 0
