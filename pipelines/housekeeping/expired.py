"""Removes rows that no longer count: kept answers, tokens, sessions, codes, counts behind limits, and old addresses."""

from typing import Final

from pipelines.housekeeping.proceed import Proceed
from pipelines.writing.idempotency import KEPT_FOR
from warehouse import sweeps
from warehouse.clock import Clock
from warehouse.companies.queries import every_company
from warehouse.sessions import Pool

_BATCH: Final = 5_000


def remove_old_answers(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Remove the answers that are too old to be given again; return how many there were."""
    before, removed = clock.now() - KEPT_FOR, 0
    while True:
        proceed()
        with pool.system() as conn:
            batch = sweeps.remove_answers(conn, before=before, most=_BATCH)
        removed += batch
        if batch < _BATCH:
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


def forget_addresses(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Remove addresses and user agents of requests after 12 calendar months; return how many records changed.

    They are in each company's ledger and imports (decisions §11, Time).
    """
    forgotten = 0
    for company_id in every_company(pool):
        proceed()
        with pool.company(company_id) as conn:
            forgotten += sweeps.anonymise(conn, clock.now())
    return forgotten
