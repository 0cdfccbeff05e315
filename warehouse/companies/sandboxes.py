"""Stores sandboxes: the one company of an account that its test keys reach, until a reset leaves it for an empty one.

A sandbox is a company like any other, so that row-level security keeps it and the account's own company apart (decision
0064). What changes two companies at once is the owner's, in a transaction that sets the company of each statement.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from warehouse.companies import queries as companies
from warehouse.operate.sessions import Connection, become

_OF: Final = "SELECT pcds_sandbox_of(%s)"
_LOCK: Final = "SELECT name, plan FROM companies WHERE id = %s FOR UPDATE"
_LEAVE: Final = "UPDATE companies SET left_at = %s WHERE id = %s"
_HELD: Final = "SELECT skus FROM company_counters WHERE company_id = %s"
_KEYS: Final = (
    "UPDATE api_keys SET company_id = %(new)s WHERE company_id = %(old)s",
    "UPDATE request_windows SET company_id = %(new)s WHERE company_id = %(old)s",
    "UPDATE bearer_tokens SET company_id = %(new)s WHERE company_id = %(old)s",
)
_EVERY: Final = """
SELECT id FROM companies WHERE sandbox_of = %(account)s
UNION ALL SELECT company FROM removed_companies WHERE sandbox_of = %(account)s AND ended_at IS NULL
"""
_LEFT: Final = """
SELECT id FROM companies WHERE left_at IS NOT NULL
UNION ALL SELECT company FROM removed_companies WHERE sandbox_of IS NOT NULL AND ended_at IS NULL
"""
_ERASURE: Final = "pcds/sandbox/{sandbox}"
_NO_COMPANY: Final = "SELECT set_config('app.company_id', '', true)"
NAME: Final = "{name} (sandbox)"


def find_sandbox(connection: Connection, company_id: UUID) -> UUID | None:
    """Return a company's sandbox, in a session of no company; None where it has none."""
    row = connection.execute(_OF, [company_id]).fetchone()
    return row[0] if row else None


def lock(owner: Connection, account: UUID) -> tuple[str, str]:
    """Return name and plan of the account's own company; nobody else makes or resets its sandbox until the commit."""
    become(owner, account)
    row = owner.execute(_LOCK, [account]).fetchone()
    assert row is not None, "a sandbox has an account, and a removed account no sandbox"
    return row[0], row[1]


def add(owner: Connection, sandbox: UUID, account: UUID, *, name: str, plan: str, at: datetime) -> None:
    """Add the sandbox of an account that has none; the session is the sandbox's afterwards."""
    become(owner, sandbox)
    companies.add(owner, sandbox, name=NAME.format(name=name), plan=plan, at=at, sandbox_of=account)


def leave(owner: Connection, old: UUID, at: datetime) -> int:
    """Note that no key reaches this sandbox any more, so that it is erased; return how many SKUs it has."""
    become(owner, old)
    owner.execute(_LEAVE, [at, old])
    return held(owner, old)


def held(connection: Connection, sandbox: UUID) -> int:
    """Return how many SKUs a sandbox has, in its session."""
    (skus,) = connection.execute(_HELD, [sandbox]).fetchone() or (0,)
    return int(skus)


def take_keys(owner: Connection, old: UUID, new: UUID) -> None:
    """Have the keys of one sandbox, with their windows and tokens, reach another."""
    owner.execute(_NO_COMPANY)
    for statement in _KEYS:
        owner.execute(statement, {"old": old, "new": new})
    become(owner, new)


def every_of(owner: Connection, account: UUID) -> list[UUID]:
    """Return all sandboxes of an account, also those that a reset left or whose erasure was cut off."""
    return [row[0] for row in owner.execute(_EVERY, {"account": account}).fetchall()]


def accounts(owner: Connection) -> dict[UUID, UUID]:
    """Return every sandbox with the company whose test keys reach it; the session is of no company."""
    return dict(owner.execute("SELECT id, sandbox_of FROM companies WHERE sandbox_of IS NOT NULL").fetchall())


def left(owner: Connection) -> list[UUID]:
    """Return the sandboxes of all accounts that a reset left, or whose erasure was cut off, in a session of none."""
    return [row[0] for row in owner.execute(_LEFT).fetchall()]


def erasure_of(sandbox: UUID) -> str:
    """Return the name of the turn that who erases the sandbox has (`warehouse.operate.sessions.owner_turn`)."""
    return _ERASURE.format(sandbox=sandbox)
