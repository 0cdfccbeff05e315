"""Stores request windows: a higher ceiling for one key between two instants, agreed beforehand (interface v1, Limits).

A key has one window at most; opening another replaces it, and the audit ledger records the earlier one. All functions
need the owner's connection: the application's role may neither see nor open windows.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from psycopg.rows import class_row

from warehouse.sessions import Connection

_OPEN: Final = """
INSERT INTO request_windows (client_id, company_id, per_minute, opens_at, closes_at)
VALUES (%(client_id)s, %(company_id)s, %(per_minute)s, %(opens_at)s, %(closes_at)s)
ON CONFLICT (client_id) DO UPDATE
SET per_minute = excluded.per_minute, opens_at = excluded.opens_at, closes_at = excluded.closes_at
"""
_OF: Final = "SELECT client_id, per_minute, opens_at, closes_at FROM request_windows WHERE client_id = %s FOR UPDATE"


@dataclass(frozen=True, slots=True)
class Window:
    """A window from `opens_at` until before `closes_at`, or until it is closed where that is None."""

    client_id: UUID
    per_minute: int
    opens_at: datetime
    closes_at: datetime | None

    def as_dict(self) -> dict[str, object]:
        """Return the window as commands and the ledger show it (decisions §8)."""
        return {"per_minute": self.per_minute, "from": _shown(self.opens_at), "until": _shown(self.closes_at)}


def _shown(instant: datetime | None) -> str | None:
    return None if instant is None else instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def of(connection: Connection, client_id: UUID) -> Window | None:
    """Return the key's window, past, present or to come; locks it until the transaction ends."""
    with connection.cursor(row_factory=class_row(Window)) as cursor:
        return cursor.execute(_OF, [client_id]).fetchone()


def every(connection: Connection) -> list[tuple[UUID, Window]]:
    """Return the windows of the session's company with the company, the last to begin first."""
    query = "SELECT company_id, client_id, per_minute, opens_at, closes_at FROM request_windows ORDER BY opens_at DESC"
    return [(row[0], Window(*row[1:])) for row in connection.execute(query).fetchall()]


def put(connection: Connection, company_id: UUID, window: Window) -> None:
    """Store the key's window, in place of an earlier one."""
    connection.execute(
        _OPEN,
        {
            "client_id": window.client_id,
            "company_id": company_id,
            "per_minute": window.per_minute,
            "opens_at": window.opens_at,
            "closes_at": window.closes_at,
        },
    )
