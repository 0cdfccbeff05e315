"""Reads the history of one SKU: its newest versions with author, time and reason, and the fields that they changed."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from services.audit.page import difference
from warehouse.audit import entries
from warehouse.sessions import Connection


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a SKU: author, time and reason, and the changed fields; `before` is None for the first."""

    version: int
    at: datetime
    actor_type: str
    actor_name: str | None
    reason: str | None
    before: dict[str, object] | None
    after: dict[str, object]


def history_of_sku(conn: Connection, sku_id: UUID, *, limit: int) -> list[Version] | None:
    """Return its versions in a session of its company, the newest first; None where the plan has no audit log."""
    if not entries.is_included(conn):
        return None
    return [_version(row) for row in entries.versions(conn, sku_id, limit=limit)]


def _version(row: entries.Version) -> Version:
    before, after = difference(row.version_before, row.version_after)
    return Version(row.version, row.at, row.actor_type, row.actor_name, row.reason, before, after)
