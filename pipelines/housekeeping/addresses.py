"""Removes addresses and user agents of requests of every company, after 12 calendar months."""

from pipelines.housekeeping.proceed import Proceed
from warehouse.clock import Clock
from warehouse.companies.queries import every_company
from warehouse.sessions import Pool
from warehouse.sweeps import anonymise


def forget_addresses(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Remove them from each company's ledger and imports (decisions §11, Time); return how many records changed."""
    forgotten = 0
    for company_id in every_company(pool):
        proceed()
        with pool.company(company_id) as conn:
            forgotten += anonymise(conn, clock.now())
    return forgotten
