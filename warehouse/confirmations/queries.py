"""Stores confirmation codes as digests for ten minutes, and finds one by code, connection and confirmed action.

A code is valid until it expires, so that a repeated call finds it again; the review queue ensures that its action is
filed once (`services.review.file`, `filing_key`).
"""

import secrets
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from warehouse.access.keys import digest
from warehouse.sessions import Connection

LIFETIME: Final = timedelta(minutes=10)
"""How long a code is valid, by the service's clock (decisions §7)."""

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
"""A row where the connection was given this valid code, whatever it confirms."""


def issue(
    conn: Connection, company_id: UUID, connection_id: UUID, meaning: bytes, now: datetime
) -> tuple[str, datetime]:
    """Issue a code for `meaning` over one connection, with the instant of its expiry; expired ones are removed."""
    code, expires_at = secrets.token_urlsafe(24), now + LIFETIME
    conn.execute(_FORGET, [now])
    conn.execute(_KEEP, [company_id, digest(code), connection_id, meaning, expires_at])
    return code, expires_at


def holds(conn: Connection, code: str, connection_id: UUID, meaning: bytes, now: datetime) -> bool:
    """Return whether the code was issued to this connection for this meaning, and is still valid."""
    return conn.execute(_HELD, [digest(code), connection_id, meaning, now]).rowcount == 1
