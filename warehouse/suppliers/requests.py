"""Stores requests to suppliers: the token of their links, their row types, and every statement about them.

`services.suppliers.requests` decides what a supplier may be asked or may answer. A token is shown once, in the link,
and
only its SHA-256 is stored: it is too random to be guessed from its digest.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

import orjson
from psycopg.rows import class_row

from schemas.skus.types import PartFacts
from warehouse.accounts.keys import digest
from warehouse.operate.sessions import AsyncConnection, Connection
from warehouse.skus import queries as skus

ANSWERS_PER_MINUTE: Final = 10
"""Uses of one token, and of one address, in any 60 seconds (interface v1, Limits)."""

_ADMIT: Final = "SELECT * FROM pcds_admit_supplier(%(presented)s::bytea, %(address)s, %(ceiling)s, %(at)s)"
_FIND: Final = "SELECT * FROM pcds_supplier_request(%(presented)s::bytea, %(at)s)"
_INSERT: Final = """
INSERT INTO supplier_requests
    (id, company_id, sku_id, component_ids, supplier_name, token_hash, state, created_at, updated_at, enquiry_id,
    expires_at, asked)
VALUES (%s, %s, %s, %s, %s, %s, 'open', %s, %s, %s, %s, %s::json)"""
_SELECT: Final = f"""
SELECT requests.id, requests.sku_id, requests.component_ids, requests.supplier_name, requests.state,
    requests.created_at, requests.expires_at, requests.withdrawn_at, requests.enquiry_id,
    requests.asked,
    sku.sku_code, sku.name AS sku_name, companies.name AS company_name
FROM supplier_requests AS requests
CROSS JOIN LATERAL {skus.named("requests.sku_id")} AS sku
CROSS JOIN companies"""
"""SKUs are looked up one by one: Postgres may estimate that reading all of them is cheaper. It sees one company."""
_LOCK: Final = "SELECT FROM supplier_requests WHERE id = %s FOR UPDATE"
_MOVE: Final = "UPDATE supplier_requests SET state = %s, updated_at = %s WHERE id = %s"


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `state` is open, awaiting_review or closed, `component_ids` are lines of the SKU's graph.

    `asked` is what those were when they were asked about; null for a request from before that was kept.
    """

    id: UUID
    sku_id: UUID
    component_ids: list[UUID]
    supplier_name: str | None
    state: str
    created_at: datetime
    expires_at: datetime | None
    withdrawn_at: datetime | None
    enquiry_id: UUID | None
    asked: dict[str, PartFacts] | None
    sku_code: str
    sku_name: str
    company_name: str


class Admitted(NamedTuple):
    """The request behind a token, None where the token is unknown or fully answered; 0 or the seconds to wait."""

    request_id: UUID | None
    company_id: UUID | None
    retry_after: int


class Found(NamedTuple):
    """The request and the company of a token."""

    request_id: UUID
    company_id: UUID


async def admit(connection: AsyncConnection, token: str, *, address: str, at: datetime) -> Admitted:
    """Count a use of a token and of the address, on a connection of no company; return the token's request."""
    asked = {"presented": digest(token), "address": address, "ceiling": ANSWERS_PER_MINUTE, "at": at}
    row = await (await connection.execute(_ADMIT, asked)).fetchone()
    assert row is not None, "the statement answers one row whoever asks"
    return Admitted(*row)


async def find(connection: AsyncConnection, token: str, *, at: datetime) -> Found | None:
    """Return the same without counting; None where the token is unknown, has ended or is fully answered."""
    row = await (await connection.execute(_FIND, {"presented": digest(token), "at": at})).fetchone()
    return None if row is None else Found(*row)


def new_token() -> str:
    """Make a token of 43 random URL-safe characters."""
    return secrets.token_urlsafe(32)


def add(
    connection: Connection,
    company_id: UUID,
    request_id: UUID,
    *,
    token: str,
    sku_id: UUID,
    component_ids: Sequence[UUID],
    asked: Mapping[str, PartFacts],
    supplier_name: str | None,
    at: datetime,
    enquiry_id: UUID | None = None,
    expires_at: datetime | None = None,
) -> None:
    """Store a new request in a session of its company, without the token itself."""
    row = [request_id, company_id, sku_id, list(component_ids), supplier_name, digest(token), at, at]
    connection.execute(_INSERT, [*row, enquiry_id, expires_at, orjson.dumps(asked).decode()])


def of(connection: Connection, request_id: UUID, *, locking: bool = False) -> Request | None:
    """Return a request of the session's company; with `locking` others wait to answer or decide until the commit."""
    if locking:
        lock(connection, request_id)
    with connection.cursor(row_factory=class_row(Request)) as cursor:
        return cursor.execute(f"{_SELECT} WHERE requests.id = %s", [request_id]).fetchone()


def lock(connection: Connection, request_id: UUID) -> None:
    """Lock a request until the transaction ends."""
    connection.execute(_LOCK, [request_id])


def every(connection: Connection, *, limit: int | None = None) -> list[Request]:
    """Return the session's company's requests, newest first; at most `limit`."""
    with connection.cursor(row_factory=class_row(Request)) as cursor:
        return cursor.execute(f"{_SELECT} ORDER BY requests.created_at DESC, requests.id LIMIT %s", [limit]).fetchall()


def move(connection: Connection, request_id: UUID, state: str, *, at: datetime) -> None:
    """Put a request into another state."""
    connection.execute(_MOVE, [state, at, request_id])
