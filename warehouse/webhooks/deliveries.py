"""Stores what is sent to webhooks: each change, how often it was tried, and what came of it.

Changes of one key, a SKU or another record, are sent one after the other: only the first that waits of each key is
taken.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from uuid_utils import uuid7

from warehouse import pages
from warehouse.sessions import Connection

MOST_WAITING: Final = 1_000
"""With so many waiting deliveries a webhook is given no more: the changes stay in the feed."""
KEPT_DAYS: Final = 30

_COMPANIES: Final = "SELECT company_id, slug, work FROM pcds_due_webhooks(%s, %s)"
_TURN: Final = "deliveries of {company_id}"
_ADD: Final = """
INSERT INTO webhook_deliveries
    (id, company_id, webhook_id, number, change_id, type, key, sku_code, body, state, due_at, tries, created_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 'waiting', %s, 0, %s)"""
_WAITING: Final = "SELECT count(*) FROM webhook_deliveries WHERE webhook_id = %s AND state = 'waiting'"
_FIRST: Final = """
SELECT id, change_id, body, tries FROM (
    SELECT DISTINCT ON (key) id, change_id, body, tries, due_at, number FROM webhook_deliveries
    WHERE webhook_id = %(webhook_id)s AND state = 'waiting' ORDER BY key, number, id
) AS first WHERE due_at <= %(now)s ORDER BY number, id LIMIT %(limit)s"""
_END: Final = """
UPDATE webhook_deliveries SET state = %(state)s, tries = tries + 1, status = %(status)s, fault = %(fault)s,
    ended_at = %(at)s
WHERE id = %(id)s AND state = 'waiting'"""
_LATER: Final = """
UPDATE webhook_deliveries SET tries = tries + %(tries)s, status = %(status)s, fault = %(fault)s, due_at = %(due_at)s
WHERE id = %(id)s AND state = 'waiting'"""
_AT_ONCE: Final = """
UPDATE webhook_deliveries SET due_at = %s, tries = 0 WHERE webhook_id = %s AND state = 'waiting'"""
_TAKE_BACK: Final = "DELETE FROM webhook_deliveries WHERE webhook_id = %s AND state = 'waiting' AND number > %s"
_REMOVE: Final = "DELETE FROM webhook_deliveries WHERE webhook_id = %s"
_FORGET: Final = "DELETE FROM webhook_deliveries WHERE webhook_id = %s AND ended_at < %s"

_ITEM: Final = f"""change_id AS id, type, sku_code, state, tries, status, fault,
    {pages.instant("created_at")} AS created_at, {pages.instant("due_at")} AS due_at,
    {pages.instant("ended_at")} AS ended_at"""
_NEWEST: Final = "number DESC, id DESC"


class Due(NamedTuple):
    """A company with something to send; `work` stays the same until something was sent or tried."""

    company_id: UUID
    slug: str
    work: str


class Delivery(NamedTuple):
    """A change that is to be sent now."""

    id: UUID
    change_id: str
    body: str
    tries: int


class New(NamedTuple):
    """A change that is to be sent."""

    number: int
    change_id: str
    type: str
    key: str
    sku_code: str | None
    body: str


def page(limit: int, offset: int) -> str:
    """Return the query of WebhookDeliveryListResponse as one JSON text for the parameter `id`, the newest first.

    Null where the company has no such webhook.
    """
    of_hook = "FROM webhook_deliveries WHERE webhook_id = %(id)s"
    rows = f"SELECT * {of_hook} ORDER BY {_NEWEST} LIMIT {limit:d} OFFSET {offset:d}"
    listed = pages.page(
        _ITEM,
        "webhook_deliveries",
        order=_NEWEST,
        limit=limit,
        offset=offset,
        rows=rows,
        total=f"(SELECT count(*) {of_hook})",
    )
    exists = "EXISTS (SELECT FROM webhooks WHERE id = %(id)s AND removed_at IS NULL)"
    return f"SELECT CASE WHEN {exists} THEN ({listed}) END AS page"


def companies(connection: Connection, now: datetime) -> Sequence[Due]:
    """Return the companies that have something to send, in a session of no company."""
    return [Due(*row) for row in connection.execute(_COMPANIES, [now, MOST_WAITING])]


def turn_of(company_id: UUID) -> str:
    """Return the name of the turn that who sends for the company has (`Pool.turn`)."""
    return _TURN.format(company_id=company_id)


def waiting(connection: Connection, webhook_id: UUID) -> int:
    """Return how many deliveries of a webhook wait."""
    row = connection.execute(_WAITING, [webhook_id]).fetchone()
    return int(row[0]) if row else 0


def add(connection: Connection, company_id: UUID, webhook_id: UUID, changes: Sequence[New], *, at: datetime) -> None:
    """Store changes that are to be sent."""
    rows = [(UUID(str(uuid7())), company_id, webhook_id, *change, at, at) for change in changes]
    with connection.cursor() as cursor:
        cursor.executemany(_ADD, rows)


def first(connection: Connection, webhook_id: UUID, now: datetime, *, limit: int) -> list[Delivery]:
    """Return the deliveries that are to be sent now, at most one a key."""
    asked = {"webhook_id": webhook_id, "now": now, "limit": limit}
    return [Delivery(*row) for row in connection.execute(_FIRST, asked)]


def end(
    connection: Connection, delivery_id: UUID, state: str, *, status: int | None, fault: str | None, at: datetime
) -> None:
    """Record that a change was delivered, or was given up."""
    connection.execute(_END, {"id": delivery_id, "state": state, "status": status, "fault": fault, "at": at})


def try_later(
    connection: Connection, delivery_id: UUID, *, status: int | None, fault: str | None, due_at: datetime
) -> None:
    """Record an attempt that failed, and when the next one is; one without an answer does not count as a try."""
    row = {"id": delivery_id, "status": status, "fault": fault, "due_at": due_at, "tries": int(status is not None)}
    connection.execute(_LATER, row)


def try_at_once(connection: Connection, webhook_id: UUID, *, now: datetime) -> None:
    """Have a webhook's waiting deliveries tried now, and as often as new ones."""
    connection.execute(_AT_ONCE, [now, webhook_id])


def take_back(connection: Connection, webhook_id: UUID, position: int) -> None:
    """Remove the waiting deliveries of the changes behind an entry, which are put among them again."""
    connection.execute(_TAKE_BACK, [webhook_id, position])


def remove(connection: Connection, webhook_id: UUID) -> None:
    """Remove everything that was sent or waits."""
    connection.execute(_REMOVE, [webhook_id])


def forget(connection: Connection, webhook_id: UUID, *, before: datetime) -> None:
    """Remove the deliveries that ended before an instant."""
    connection.execute(_FORGET, [webhook_id, before])
