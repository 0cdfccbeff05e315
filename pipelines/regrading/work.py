"""Regrades a company in blocks, one transaction each, which stores all changes and ledger entries or none.

Any run may do the next block: the row in `regrades` says which it is. An interrupted block leaves nothing behind.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID
from weakref import WeakKeyDictionary

from pipelines.regrading import block
from warehouse.audit.origin import Origin
from warehouse.clock import Clock
from warehouse.rulesets import regrades
from warehouse.rulesets.registry import FRESH_SECONDS, Rulesets
from warehouse.sessions import Connection, Pool
from warehouse.skus.store import store

_POLL_SECONDS: Final = 0.1
_LAST_WAITED_FOR: Final = WeakKeyDictionary[Pool, tuple[str, datetime]]()
"""What this process last waited for: a version, and when its regrade was requested."""


@dataclass(frozen=True, slots=True)
class Services:
    """The services and settings of a regrade.

    `block_rows` are the SKUs of one transaction, the most that a crash can cost; `run_id` names the run in the ledger,
    as the entries' correlation id.
    """

    pool: Pool
    clock: Clock
    rulesets: Rulesets
    block_rows: int
    run_id: str


def wait_for_older_writers(pool: Pool, proceed: Callable[[], None]) -> None:
    """Return when no write is under way that may use the older rules; called before the first block.

    A transaction that begins `FRESH_SECONDS` after an activation grades with the new set. This waits for earlier ones.
    """
    time.sleep(FRESH_SECONDS)
    with pool.system() as conn:
        began = regrades.database_now(conn)
    while True:
        proceed()
        with pool.system() as conn:
            if not regrades.writes_since_before(conn, began):
                return
        time.sleep(_POLL_SECONDS)


def wait_once(pool: Pool, company_id: UUID, proceed: Callable[[], None]) -> None:
    """Wait for older writers before the first company of an activation; its other companies need not wait again.

    It does not wait where no regrade is requested.
    """
    with pool.company(company_id) as conn:
        request = regrades.open_request(conn)
    if request is not None and _LAST_WAITED_FOR.get(pool) != request:
        wait_for_older_writers(pool, proceed)
        _LAST_WAITED_FOR[pool] = request


def regrade_company(services: Services, company_id: UUID, proceed: Callable[[], None]) -> None:
    """Do the rest of a company's regrade; `proceed` is called before each block and raises where the run has to end."""
    more = True
    while more:
        proceed()
        more = services.pool.run(company_id, partial(_regrade_block, services, company_id), repeatable=True)


def _regrade_block(services: Services, company_id: UUID, conn: Connection) -> bool:
    """Do one block in the caller's transaction; return whether there is another one."""
    claimed = regrades.take(conn)
    if claimed is None:
        return False
    position, done = claimed
    rows = block.read(conn, position, services.block_rows)
    last = len(rows) < services.block_rows
    if len(rows):
        position = rows["sku_code"][-1]
        changed = block.lock_changed_rows(conn, rows, services.rulesets, done)
        if len(changed):
            origin = Origin("system", None, "regrade", services.run_id, reason=f"Regraded by rule-set {done.version}.")
            store(
                conn,
                company_id,
                changed,
                ("sku_code",),
                origin=origin,
                now=services.clock.now(),
                import_id=None,
                resource="sku",
            )
    regrades.advance(conn, position, done, services.clock.now() if last else None)
    return not last
