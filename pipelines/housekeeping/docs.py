"""Enters DoCs whose last day has passed in the ledger, once. Reads derive the expiry on the day itself."""

from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

from pipelines.housekeeping.proceed import Proceed
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.clock import Clock
from warehouse.companies.queries import every_company
from warehouse.declarations import docs
from warehouse.sessions import Connection, Pool

BATCH_DOCS: Final = 500


def enter_expiries(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Enter each DoC's expiry that is not entered yet (decisions §11, Time); return how many there were."""
    entered, origin = 0, Origin("system", None, "expiry", correlation_id=str(uuid4()))
    for company_id in every_company(pool):
        more = True
        while more:
            proceed()
            with pool.company(company_id) as conn:
                batch = _enter_batch(conn, company_id, origin, clock.now())
            entered += batch
            more = batch == BATCH_DOCS
    return entered


def _enter_batch(conn: Connection, company_id: UUID, origin: Origin, now: datetime) -> int:
    expired = docs.mark_expired(conn, now.date(), most=BATCH_DOCS)
    for doc_id, last_day in sorted(expired):
        ledger.enter(
            conn,
            company_id,
            "doc.expired",
            doc_id,
            now=now,
            origin=replace(origin, reason=f"Its last day, {last_day.isoformat()}, has passed."),
            before={"status": "valid"},
            after={"status": "expired"},
        )
    return len(expired)
