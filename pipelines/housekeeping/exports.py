"""Removes exports whose time has passed: the file first, then the row that names it."""

from typing import Final

from pipelines.housekeeping.proceed import Proceed
from warehouse.clock import Clock
from warehouse.companies.queries import every_company
from warehouse.exports import queries
from warehouse.objects import Objects
from warehouse.sessions import Pool

_BATCH: Final = 100


def remove_expired_exports(pool: Pool, objects: Objects, clock: Clock, proceed: Proceed) -> int:
    """Remove every company's expired exports; return how many there were."""
    removed = 0
    for company_id in every_company(pool):
        while True:
            proceed()
            with pool.company(company_id) as conn:
                expired = queries.expired(conn, clock.now(), most=_BATCH)
            for _, key in expired:
                objects.delete(key)
            with pool.company(company_id) as conn:
                queries.remove(conn, [export_id for export_id, _ in expired])
            removed += len(expired)
            if len(expired) < _BATCH:
                break
    return removed
