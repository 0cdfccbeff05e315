"""Makes an account's sandbox, resets it, and erases what a reset left.

A reset makes a new, empty company and takes the test keys there in one short transaction. The company before, which
nobody reaches from then on, is erased afterwards as a removed company is (decision 0064). What does not belong here:
keys (`warehouse.access.keys`), and what the erasure does (`services.company_removal`).
"""

from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

import structlog
from uuid_utils import uuid7

from services.company_removal import remove
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.companies import sandboxes
from warehouse.database import Database
from warehouse.sessions import Connection, become, owner_transaction, owner_turn
from warehouse.settings import Settings

log = structlog.get_logger(__name__)

_ERASER: Final = "a reset of the sandbox"


class Reset(NamedTuple):
    """A reset: the sandbox that the keys reach now, the one they reached before, and how many SKUs that had."""

    sandbox: UUID
    before: UUID
    skus: int


def make(owner: Connection, account: UUID, *, origin: Origin, now: datetime) -> UUID:
    """Return the account's sandbox, made where there is none, in a transaction of the owner."""
    name, plan = sandboxes.lock(owner, account)
    if (found := sandboxes.of(owner, account)) is not None:
        return found
    sandbox = UUID(str(uuid7()))
    ledger.enter(owner, account, "sandbox.created", sandbox, origin=origin, now=now, before=None, after={"name": name})
    sandboxes.add(owner, sandbox, account, name=name, plan=plan, at=now)
    after = {"name": sandboxes.NAME.format(name=name), "plan": plan}
    ledger.enter(owner, sandbox, "company.created", sandbox, origin=origin, now=now, before=None, after=after)
    return sandbox


def reset(owner: Connection, account: UUID, before: UUID, *, origin: Origin, now: datetime) -> Reset:
    """Have the test keys reach a new, empty sandbox; the session, a transaction of the owner, is that one's afterwards.

    Where another reset has done so since the caller was admitted to `before`, there is nothing to do.
    """
    name, plan = sandboxes.lock(owner, account)
    current = sandboxes.of(owner, account)
    assert current is not None, "the caller was admitted to a sandbox of the account"
    if current != before:
        become(owner, current)
        return Reset(current, before, 0)
    skus = sandboxes.leave(owner, before, now)
    sandbox = UUID(str(uuid7()))
    sandboxes.add(owner, sandbox, account, name=name, plan=plan, at=now)
    sandboxes.take_keys(owner, before, sandbox)
    counts = {"before": {"skus": skus}, "after": {"skus": 0}}
    ledger.enter(owner, sandbox, "sandbox.reset", sandbox, origin=origin, now=now, **counts)
    return Reset(sandbox, before, skus)


def erase_left(settings: Settings, database: Database, now: datetime) -> int:
    """Erase every sandbox that a reset left, or go on where that was cut off; return how many.

    One that another process is erasing is left to that; where the object store is away, to the next start or reset.
    """
    with owner_transaction(database.owner_url) as owner:
        found = sandboxes.left(owner)
    for sandbox in found:
        with owner_turn(database.owner_url, sandboxes.erasure_of(sandbox)) as is_ours:
            try:
                if is_ours:
                    remove(settings, database, sandbox, now, by=_ERASER, exported=None)
            except ConnectionError as error:
                log.warning("sandbox.not_erased", sandbox=str(sandbox), reason=str(error))
    return len(found)
