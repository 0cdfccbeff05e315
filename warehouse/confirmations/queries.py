"""Confirmation codes: kept as digests for ten minutes, and found by who holds one for the very thing confirmed.

A code stands until it expires, so that a call that is repeated finds it again; that what it confirms is filed once is
the review queue's (`services.review.file`, `filing_key`).
"""

import secrets
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from warehouse.access.keys import digest
from warehouse.sessions import Connection

LIFETIME: Final = timedelta(minutes=10)
"""Of a code, by the service's clock (decisions §7)."""

_FORGET: Final = "DELETE FROM confirmations WHERE expires_at <= %s"
_KEEP: Final = (
    "INSERT INTO confirmations (company_id, code_hash, connection_id, meaning, expires_at) VALUES (%s, %s, %s, %s, %s)"
)
_HELD: Final = (
    "SELECT FROM confirmations WHERE code_hash = %s AND connection_id = %s AND meaning = %s AND expires_at > %s"
)

GIVEN: Final = (
    "SELECT true FROM confirmations"
    " WHERE code_hash = %(code)s AND connection_id = %(connection)s AND expires_at > %(at)s"
)
"""A row where the connection was given this code, for whatever it confirms, and it still counts."""


def issue(
    conn: Connection, company_id: UUID, connection_id: UUID, meaning: bytes, now: datetime
) -> tuple[str, datetime]:
    """A new code for `meaning` over one connection, and the first instant without it; expired ones are removed."""
    code, expires_at = secrets.token_urlsafe(24), now + LIFETIME
    conn.execute(_FORGET, [now])
    conn.execute(_KEEP, [company_id, digest(code), connection_id, meaning, expires_at])
    return code, expires_at


def holds(conn: Connection, code: str, connection_id: UUID, meaning: bytes, now: datetime) -> bool:
    """Whether the code was issued to this connection for this meaning, and still counts."""
    return conn.execute(_HELD, [digest(code), connection_id, meaning, now]).rowcount == 1
