"""Stores webhooks: their addresses, sealed secrets, place in the company's changes, and how sending goes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.rows import class_row

from schemas.changes import CHANGE_TYPES
from warehouse import pages
from warehouse.sessions import Connection

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
_COUNT: Final = "SELECT count(*) FROM webhooks WHERE removed_at IS NULL"
_TURN: Final = "SELECT pg_advisory_xact_lock(hashtextextended('webhooks of ' || %s, 0))"
_UPDATE: Final = """
UPDATE webhooks SET url = %(url)s, description = %(description)s, types = %(types)s, state = %(state)s,
    disabled_reason = NULL, next_at = NULL, failures = 0, failing_since = NULL, fault = NULL, updated_at = %(at)s
WHERE id = %(id)s"""
_ROLL: Final = """
UPDATE webhooks SET old_secret = secret, secret = %(secret)s, old_secret_until = %(until)s, updated_at = %(at)s
WHERE id = %(id)s"""
_REMOVE: Final = """
UPDATE webhooks SET state = 'removed', removed_at = %(at)s, updated_at = %(at)s, secret = ''::bytea, old_secret = NULL
WHERE id = %(id)s"""
_PLACE: Final = "UPDATE webhooks SET position = %(position)s, next_at = NULL, updated_at = %(at)s WHERE id = %(id)s"
_DUE: Final = f"""
SELECT {_COLUMNS} FROM webhooks WHERE state = 'active' AND (next_at IS NULL OR next_at <= %s) ORDER BY id FOR UPDATE"""
_MOVE: Final = "UPDATE webhooks SET position = %s WHERE id = %s"
_TAKEN: Final = """
UPDATE webhooks SET failures = 0, failing_since = NULL, fault = %(fault)s, next_at = NULL, delivered_at = %(at)s
WHERE id = %(id)s AND state = 'active'"""
_FAILED: Final = """
UPDATE webhooks SET failures = failures + 1, failing_since = coalesce(failing_since, %(at)s), fault = %(fault)s,
    next_at = %(next_at)s
WHERE id = %(id)s AND state = 'active'"""
_DISABLE: Final = """
UPDATE webhooks SET state = 'disabled', disabled_reason = %(reason)s, updated_at = %(at)s
WHERE id = %(id)s AND state = 'active'"""

_WAITING: Final = f"""(
    (SELECT count(*) FROM webhook_deliveries WHERE webhook_id = webhooks.id AND state = 'waiting')
    + (SELECT count(*) FROM audit_entries WHERE id > webhooks.position AND action = ANY(coalesce(webhooks.types,
       ARRAY[{", ".join(f"'{kind}'" for kind in CHANGE_TYPES)}]::text[]))))"""
"""What is put among the deliveries already, and the changes behind the webhook's place in the feed."""
_ITEM: Final = f"""id, url, description, types, state, disabled_reason, fault,
    {pages.instant("failing_since")} AS failing_since, {pages.instant("next_at")} AS next_at,
    {pages.instant("delivered_at")} AS delivered_at, {_WAITING} AS waiting,
    {pages.instant("old_secret_until")} AS old_secret_until,
    {pages.instant("created_at")} AS created_at, {pages.instant("updated_at")} AS updated_at"""
_NEWEST: Final = "created_at DESC, id"
DETAIL: Final = f"""
SELECT (SELECT row_to_json(item) FROM (
    SELECT {_ITEM} FROM webhooks WHERE id = %(id)s AND removed_at IS NULL) AS item)::text AS webhook"""
"""Selects one webhook as JSON text, null where the company has none of the id."""


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


def page(limit: int, offset: int) -> str:
    """Return the query of WebhookListResponse as one JSON text, newest first."""
    kept = "FROM webhooks WHERE removed_at IS NULL"
    rows = f"SELECT * {kept} ORDER BY {_NEWEST} LIMIT {limit:d} OFFSET {offset:d}"
    total = f"(SELECT count(*) {kept})"
    return pages.page(_ITEM, "webhooks", order=_NEWEST, limit=limit, offset=offset, rows=rows, total=total)


def detail(connection: Connection, webhook_id: UUID) -> str | None:
    """Return a webhook as JSON text; None where the session's company has none of the id."""
    (found,) = connection.execute(DETAIL, {"id": webhook_id}).fetchone() or (None,)
    return None if found is None else str(found)


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
    connection.execute(_TURN, [str(company_id)])
    row = connection.execute(_COUNT).fetchone()
    return int(row[0]) if row else 0


def of(connection: Connection, webhook_id: UUID, *, locking: bool = False) -> Hook | None:
    """Return a webhook of the session's company; with `locking` others wait to change it until the commit."""
    query = f"{_ONE} FOR UPDATE" if locking else _ONE
    with connection.cursor(row_factory=class_row(Hook)) as cursor:
        return cursor.execute(query, [webhook_id]).fetchone()


def update(
    connection: Connection,
    webhook_id: UUID,
    *,
    url: str,
    description: str | None,
    types: list[str] | None,
    state: str,
    at: datetime,
) -> None:
    """Change a webhook; what was counted of its failures begins anew."""
    row = {"id": webhook_id, "url": url, "description": description, "types": types, "state": state, "at": at}
    connection.execute(_UPDATE, row)


def roll(connection: Connection, webhook_id: UUID, *, secret: bytes, until: datetime, at: datetime) -> None:
    """Store another secret; the one before it signs beside it until an instant."""
    connection.execute(_ROLL, {"id": webhook_id, "secret": secret, "until": until, "at": at})


def remove(connection: Connection, webhook_id: UUID, *, at: datetime) -> None:
    """Take a webhook away, with its secrets."""
    connection.execute(_REMOVE, {"id": webhook_id, "at": at})


def place(connection: Connection, webhook_id: UUID, position: int, *, at: datetime) -> None:
    """Have a webhook send the changes behind an entry, from now on."""
    connection.execute(_PLACE, {"id": webhook_id, "position": position, "at": at})


def due(connection: Connection, now: datetime) -> list[Hook]:
    """Return the webhooks to which something may be sent now, locked until the transaction ends."""
    with connection.cursor(row_factory=class_row(Hook)) as cursor:
        return cursor.execute(_DUE, [now]).fetchall()


def move(connection: Connection, webhook_id: UUID, position: int) -> None:
    """Store the last entry whose change was put among the deliveries."""
    connection.execute(_MOVE, [position, webhook_id])


def taken(connection: Connection, webhook_id: UUID, *, fault: str | None, at: datetime) -> None:
    """Record that the receiver took something; `fault` says why it did not take something else."""
    connection.execute(_TAKEN, {"id": webhook_id, "fault": fault, "at": at})


def failed(connection: Connection, webhook_id: UUID, *, fault: str, next_at: datetime, at: datetime) -> None:
    """Record that the receiver took nothing, and when the next attempt is."""
    connection.execute(_FAILED, {"id": webhook_id, "fault": fault, "next_at": next_at, "at": at})


def disable(connection: Connection, webhook_id: UUID, *, reason: str, at: datetime) -> bool:
    """Disable a webhook for a reason; return whether it was active."""
    return connection.execute(_DISABLE, {"id": webhook_id, "reason": reason, "at": at}).rowcount == 1
