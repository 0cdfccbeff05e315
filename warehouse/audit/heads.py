"""Reads the heads of audit chains, and compares a head that was shipped with the chain as it is now.

A head that lies where the database's owner cannot write shows a chain that was computed anew: `verify` alone cannot
find that.
"""

from typing import Final, NamedTuple
from uuid import UUID

from warehouse.companies.queries import ids
from warehouse.sessions import Connection, Pool

_HEAD: Final = "SELECT links, audit_entries, chain_hash FROM company_counters"
_LINK: Final = "SELECT hash FROM audit_transactions WHERE number = %s"
_KEPT: Final = "SELECT hash FROM removed_links WHERE company = %s AND number = %s"


class Head(NamedTuple):
    """The last link of a company's chain: its number and hash, and how many entries lead to it."""

    company_id: str
    links: int
    entries: int
    hash: str | None


def every(pool: Pool) -> list[Head]:
    """Return the head of each company that has a chain, in the order of their ids."""
    with pool.system() as connection:
        companies = sorted(ids(connection))
    return [head for company_id in companies if (head := of_company(pool, company_id)) is not None]


def of_company(pool: Pool, company_id: UUID) -> Head | None:
    """Return the head of a company; None where it was removed meanwhile."""
    with pool.company(company_id) as connection:
        row = connection.execute(_HEAD).fetchone()
    if row is None:
        return None
    links, entries, hashed = row
    return Head(str(company_id), links, entries, bytes(hashed).hex() if hashed else None)


def still_stands(connection: Connection, head: Head) -> bool:
    """Return whether the chain of the session's company has this head among its links."""
    return _is(head, connection.execute(_LINK, [head.links]).fetchone())


def stayed(owner: Connection, head: Head) -> bool:
    """Return whether the hashes that stayed of a removed company have this head among them."""
    return _is(head, owner.execute(_KEPT, [head.company_id, head.links]).fetchone())


def _is(head: Head, row: tuple[bytes, ...] | None) -> bool:
    if head.links == 0:
        return head.hash is None
    return row is not None and bytes(row[0]).hex() == head.hash
