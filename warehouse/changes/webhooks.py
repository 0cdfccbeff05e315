"""Stores webhooks: their addresses, sealed secrets, place in the company's changes, and how sending goes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple, cast  # Any: a page with what the statement answers beside it
from uuid import UUID

from psycopg.rows import class_row, dict_row
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)
from uuid_utils import uuid7

from schemas.changes import CHANGE_TYPES, Webhook, WebhookDelivery
from schemas.pages import Page
from schemas.refusals import NotThere
from warehouse import pages
from warehouse.base import company, identity, instant, metadata
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing

MOST: Final = 10
"""Most webhooks of a company."""

_ADD: Final = """
INSERT INTO webhooks
    (id, company_id, url, description, types, state, secret, position, failures, created_at, updated_at)
VALUES (%(id)s, %(company_id)s, %(url)s, %(description)s, %(types)s, 'active', %(secret)s, %(position)s, 0, %(at)s,
    %(at)s)"""
_COLUMNS: Final = (
    "id, url, description, types, state, secret, old_secret, old_secret_until, position, failures, failing_since"
)
_ONE: Final = f"SELECT {_COLUMNS} FROM webhooks WHERE id = %s AND removed_at IS NULL"
_DUE: Final = f"""
SELECT {_COLUMNS} FROM webhooks WHERE state = 'active' AND (next_at IS NULL OR next_at <= %s) ORDER BY id FOR UPDATE"""
_FAILED: Final = """
UPDATE webhooks SET failures = failures + 1, failing_since = coalesce(failing_since, %(at)s), fault = %(fault)s,
    next_at = %(next_at)s
WHERE id = %(id)s AND state = 'active'"""

_WAITING: Final = f"""(
    (SELECT count(*) FROM webhook_deliveries WHERE webhook_id = webhooks.id AND state = 'waiting')
    + (SELECT count(*) FROM audit_entries WHERE id > webhooks.position AND action = ANY(coalesce(webhooks.types,
       ARRAY[{", ".join(f"'{kind}'" for kind in CHANGE_TYPES)}]::text[]))))"""
"""What is put among the deliveries already, and the changes behind the webhook's place in the feed."""
_ITEM: Final = f"""id, url, description, types, state, disabled_reason, fault, failing_since, next_at, delivered_at,
    {_WAITING} AS waiting, old_secret_until, created_at, updated_at"""
_NEWEST: Final = "created_at DESC, id"
DETAIL: Final = f"SELECT {_ITEM} FROM webhooks WHERE id = %(id)s AND removed_at IS NULL"
"""Selects one webhook, no row where the company has none of the id."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook as it is stored; the secrets are sealed."""

    id: UUID
    url: str
    description: str | None
    types: list[str] | None
    state: str
    secret: bytes
    old_secret: bytes | None
    old_secret_until: datetime | None
    position: int
    failures: int
    failing_since: datetime | None


def page(limit: int, offset: int) -> Listing[Webhook]:
    """Return the question for a page of the company's webhooks, newest first."""
    kept = "FROM webhooks WHERE removed_at IS NULL"
    return pages.listing(_ITEM, "webhooks", order=_NEWEST, limit=limit, offset=offset, chosen=kept)


def detail(connection: Connection, webhook_id: UUID) -> Webhook | None:
    """Return a webhook as it is shown; None where the session's company has none of the id."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cast(Webhook | None, cursor.execute(DETAIL, {"id": webhook_id}).fetchone())


def add(
    connection: Connection,
    company_id: UUID,
    webhook_id: UUID,
    *,
    url: str,
    description: str | None,
    types: list[str] | None,
    secret: bytes,
    position: int,
    at: datetime,
) -> None:
    """Store an active webhook, whose first change is the one behind `position`."""
    row = {"id": webhook_id, "company_id": company_id, "url": url, "description": description, "secret": secret}
    connection.execute(_ADD, row | {"types": types, "position": position, "at": at})


def count(connection: Connection, company_id: UUID) -> int:
    """Return how many webhooks the session's company has; others wait to add one until the transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('webhooks of ' || %s, 0))", [str(company_id)])
    row = connection.execute("SELECT count(*) FROM webhooks WHERE removed_at IS NULL").fetchone()
    return int(row[0]) if row else 0


def find(connection: Connection, webhook_id: UUID, *, locking: bool = False) -> Hook | None:
    """Return a webhook of the session's company; with `locking` others wait to change it until the commit."""
    query = f"{_ONE} FOR UPDATE" if locking else _ONE
    with connection.cursor(row_factory=class_row(Hook)) as cursor:
        return cursor.execute(query, [webhook_id]).fetchone()


def change(connection: Connection, webhook_id: UUID, values: Mapping[str, object], *, is_active: bool = False) -> bool:
    """Set columns of a webhook, with `is_active` only while it is active; return whether they were set."""
    columns = ", ".join(f"{name} = %({name})s" for name in values)
    condition = " AND state = 'active'" if is_active else ""
    statement = f"UPDATE webhooks SET {columns} WHERE id = %(id)s{condition}"
    return connection.execute(statement, {**values, "id": webhook_id}).rowcount == 1


def due(connection: Connection, now: datetime) -> list[Hook]:
    """Return the webhooks to which something may be sent now, locked until the transaction ends."""
    with connection.cursor(row_factory=class_row(Hook)) as cursor:
        return cursor.execute(_DUE, [now]).fetchall()


def failed(connection: Connection, webhook_id: UUID, *, fault: str, next_at: datetime, at: datetime) -> None:
    """Record that the receiver took nothing, and when the next attempt is."""
    connection.execute(_FAILED, {"id": webhook_id, "fault": fault, "next_at": next_at, "at": at})


MOST_WAITING: Final = 1_000
"""With so many waiting deliveries a webhook is given no more: the changes stay in the feed."""
KEPT_DAYS: Final = 30

_COMPANIES: Final = "SELECT company_id, slug, work FROM pcds_due_webhooks(%s, %s)"
_TURN_OF_DELIVERY: Final = "deliveries of {company_id}"
_ADD_DELIVERY: Final = """
INSERT INTO webhook_deliveries
    (id, company_id, webhook_id, number, change_id, type, key, sku_code, body, state, due_at, tries, created_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 'waiting', %s, 0, %s)"""
_WAITING_DELIVERIES: Final = "SELECT count(*) FROM webhook_deliveries WHERE webhook_id = %s AND state = 'waiting'"
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

_DELIVERY: Final = "change_id AS id, type, sku_code, state, tries, status, fault, created_at, due_at, ended_at"
_NEWEST_DELIVERY: Final = "number DESC, id DESC"


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


def page_of_deliveries(webhook_id: UUID, limit: int, offset: int) -> Listing[WebhookDelivery]:
    """Return the question for a page of what was sent or waits, the newest first.

    Beside the page it says whether the webhook `exists`.
    """
    return pages.listing(
        _DELIVERY,
        "webhook_deliveries",
        order=_NEWEST_DELIVERY,
        limit=limit,
        offset=offset,
        chosen="FROM webhook_deliveries WHERE webhook_id = %(id)s",
        more={"exists": "EXISTS (SELECT FROM webhooks WHERE id = %(id)s AND removed_at IS NULL)"},
        parameters={"id": webhook_id},
    )


def deliveries_of(page: Any) -> Page[WebhookDelivery]:  # a page of `page_of_deliveries`
    """Return the deliveries of a page. Raise `NotThere` where the company has no such webhook."""
    if not page.pop("exists"):
        raise NotThere
    return cast(Page[WebhookDelivery], page)


def companies(connection: Connection, now: datetime) -> Sequence[Due]:
    """Return the companies that have something to send, in a session of no company."""
    return [Due(*row) for row in connection.execute(_COMPANIES, [now, MOST_WAITING])]


def turn_of(company_id: UUID) -> str:
    """Return the name of the turn that who sends for the company has (`Pool.turn`)."""
    return _TURN_OF_DELIVERY.format(company_id=company_id)


def waiting(connection: Connection, webhook_id: UUID) -> int:
    """Return how many deliveries of a webhook wait."""
    row = connection.execute(_WAITING_DELIVERIES, [webhook_id]).fetchone()
    return int(row[0]) if row else 0


def add_deliveries(
    connection: Connection, company_id: UUID, webhook_id: UUID, changes: Sequence[New], *, at: datetime
) -> None:
    """Store changes that are to be sent."""
    rows = [(UUID(str(uuid7())), company_id, webhook_id, *change, at, at) for change in changes]
    with connection.cursor() as cursor:
        cursor.executemany(_ADD_DELIVERY, rows)


def first(connection: Connection, webhook_id: UUID, now: datetime, *, limit: int) -> list[Delivery]:
    """Return the deliveries that are to be sent now, at most one a key."""
    parameters = {"webhook_id": webhook_id, "now": now, "limit": limit}
    return [Delivery(*row) for row in connection.execute(_FIRST, parameters)]


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


def remove_deliveries(connection: Connection, webhook_id: UUID) -> None:
    """Remove everything that was sent or waits."""
    connection.execute("DELETE FROM webhook_deliveries WHERE webhook_id = %s", [webhook_id])


def forget(connection: Connection, webhook_id: UUID, *, before: datetime) -> None:
    """Remove the deliveries that ended before an instant."""
    connection.execute("DELETE FROM webhook_deliveries WHERE webhook_id = %s AND ended_at < %s", [webhook_id, before])


webhooks = Table(
    "webhooks",
    metadata,
    identity(),
    company(),
    Column("url", Text, nullable=False),
    Column("description", Text),
    Column("types", ARRAY(Text), comment="of the changes that are sent; null for all"),
    Column("state", Text, nullable=False, comment="active, paused, disabled or removed"),
    Column("disabled_reason", Text, comment="not_delivered, gone or restored"),
    Column("secret", LargeBinary, nullable=False, comment="signs what is sent; sealed"),
    Column("old_secret", LargeBinary, comment="the one before; signs too until old_secret_until"),
    instant("old_secret_until", nullable=True),
    Column(
        "position",
        BigInteger,
        nullable=False,
        comment="the last entry of the ledger whose change was put among its deliveries",
    ),
    instant("next_at", nullable=True),
    Column("failures", Integer, nullable=False, comment="attempts in a row of which none was taken"),
    instant("failing_since", nullable=True),
    Column("fault", Text, comment="why the last attempt failed, as a code"),
    instant("delivered_at", nullable=True),
    instant("created_at"),
    instant("updated_at"),
    instant("removed_at", nullable=True),
    Index("ix_webhooks_company_id", "company_id", "created_at"),
    Index("ix_webhooks_active", "company_id", postgresql_where=text("state = 'active'")),
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Uuid, nullable=False),
    company(),
    Column("webhook_id", Uuid, nullable=False),
    Column("number", BigInteger, nullable=False, comment="of the change in the company's ledger"),
    Column("change_id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column(
        "key",
        Text,
        nullable=False,
        comment="changes of the same key are sent one after the other: the SKU, or another record",
    ),
    Column("sku_code", Text),
    Column("body", Text, nullable=False),
    Column("state", Text, nullable=False, comment="waiting, delivered or failed"),
    instant("due_at"),
    Column("tries", Integer, nullable=False),
    Column("status", Integer, comment="of the last answer (HTTP); null where there was none"),
    Column("fault", Text),
    instant("created_at"),
    instant("ended_at", nullable=True),
    PrimaryKeyConstraint("id"),
    ForeignKeyConstraint(["webhook_id"], ["webhooks.id"]),
    Index("ix_webhook_deliveries_newest", "webhook_id", "number", "id"),
    Index("ix_webhook_deliveries_waiting", "webhook_id", "key", "number", postgresql_where=text("state = 'waiting'")),
    Index("ix_webhook_deliveries_ended_at", "webhook_id", "ended_at"),
)
