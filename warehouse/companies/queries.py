"""Adds, changes and lists companies and their plans, for operators."""

from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from warehouse.sessions import Connection, Pool

_ADD: Final = "INSERT INTO companies (id, name, plan, created_at, sandbox_of) VALUES (%s, %s, %s, %s, %s)"
_COUNTER: Final = "INSERT INTO company_counters (company_id) VALUES (%s)"
_COUNTED: Final = "SELECT skus, links FROM company_counters"
LINKS: Final = "SELECT links FROM company_counters"
"""The links of the audit chain of the session's company, for a read of one statement."""
_OF: Final = "SELECT name, plan FROM companies WHERE id = %s"


class Counted(NamedTuple):
    """A company's SKUs, and the links of its audit chain, one for each transaction that wrote."""

    skus: int
    links: int


def plans(connection: Connection) -> list[str]:
    """Return all plans, the smallest first."""
    rows = connection.execute("SELECT plan FROM plans ORDER BY sku_limit NULLS LAST").fetchall()
    return [row[0] for row in rows]


def allows_keys(connection: Connection, plan: str) -> bool:
    """Return whether a plan includes API keys (decisions §5)."""
    row = connection.execute("SELECT api_keys FROM plans WHERE plan = %s", [plan]).fetchone()
    return bool(row and row[0])


def add(
    connection: Connection, company_id: UUID, *, name: str, plan: str, at: datetime, sandbox_of: UUID | None = None
) -> None:
    """Add a company with its counter, in a transaction of the owner that has the company set."""
    connection.execute(_ADD, [company_id, name, plan, at, sandbox_of])
    connection.execute(_COUNTER, [company_id])


def of(connection: Connection, company_id: UUID) -> tuple[str, str] | None:
    """Return name and plan of the session's company; None for any other."""
    return connection.execute(_OF, [company_id]).fetchone()


def counters(connection: Connection) -> Counted:
    """Return the counters of the session's company; zeros where there is none."""
    return Counted(*(connection.execute(_COUNTED).fetchone() or (0, 0)))


def set_plan(connection: Connection, company_id: UUID, plan: str) -> None:
    """Move a company to a plan, in a transaction of the owner; its records stay, whatever the new limit."""
    connection.execute("UPDATE companies SET plan = %s WHERE id = %s", [plan, company_id])


def every(connection: Connection) -> list[tuple[UUID, str, str]]:
    """Return id, name and plan of all companies, oldest first; only the owner sees more than one."""
    return connection.execute("SELECT id, name, plan FROM companies ORDER BY created_at, id").fetchall()


def ids(connection: Connection) -> list[UUID]:
    """Return the ids of all companies, oldest first; a session of no company may call it (migration 0008)."""
    return [row[0] for row in connection.execute("SELECT pcds_company_ids()")]


def every_company(pool: Pool) -> list[UUID]:
    """Return the ids of all companies, oldest first, in a session of its own."""
    with pool.system() as connection:
        return ids(connection)
