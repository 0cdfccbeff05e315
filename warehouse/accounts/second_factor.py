"""Stores the second factor of a sign-in: a person's sealed secret of one-time codes, and the recovery codes.

What belongs here: the rows, in a session of the person's company. What does not: the codes themselves and the seal
(`services.second_factor`).
"""

import hashlib
from collections.abc import Iterable
from typing import Final
from uuid import UUID

from warehouse.sessions import Connection

_SEALED: Final = "SELECT totp_secret FROM users WHERE id = %s AND disabled_at IS NULL"
_TAKE: Final = "UPDATE users SET totp_step = %(step)s WHERE id = %(id)s AND coalesce(totp_step, 0) < %(step)s"
_SET: Final = "UPDATE users SET totp_secret = %s, totp_step = %s WHERE id = %s"
_ADD: Final = "INSERT INTO recovery_codes (code_hash, company_id, user_id) VALUES (%s, %s, %s)"
_USE: Final = "DELETE FROM recovery_codes WHERE code_hash = %s AND user_id = %s"
_CLEAR: Final = "DELETE FROM recovery_codes WHERE user_id = %s"
_LEFT: Final = "SELECT count(*) FROM recovery_codes WHERE user_id = %s"


def sealed_secret(conn: Connection, user_id: UUID) -> bytes | None:
    """Return the sealed secret of a person; None where the password alone signs in."""
    row = conn.execute(_SEALED, [user_id]).fetchone()
    return None if row is None or row[0] is None else bytes(row[0])


def take_step(conn: Connection, user_id: UUID, step: int) -> bool:
    """Take the code of a time step; False where it, or a later one, was taken before (RFC 6238, section 5.2)."""
    return conn.execute(_TAKE, {"id": user_id, "step": step}).rowcount == 1


def switch_on(
    conn: Connection, company_id: UUID, user_id: UUID, sealed: bytes, *, step: int, recovery_codes: Iterable[str]
) -> None:
    """Store a secret, whose code of `step` was just shown, and new recovery codes in place of earlier ones."""
    conn.execute(_SET, [sealed, step, user_id])
    conn.execute(_CLEAR, [user_id])
    for code in recovery_codes:
        conn.execute(_ADD, [_digest(user_id, code), company_id, user_id])


def switch_off(conn: Connection, user_id: UUID) -> bool:
    """Remove secret and recovery codes; False where there was no second factor."""
    was_on = sealed_secret(conn, user_id) is not None
    conn.execute(_SET, [None, None, user_id])
    conn.execute(_CLEAR, [user_id])
    return was_on


def use_recovery_code(conn: Connection, user_id: UUID, code: str) -> bool:
    """Use up a recovery code of a person; False for any other text."""
    return conn.execute(_USE, [_digest(user_id, code), user_id]).rowcount == 1


def recovery_codes_left(conn: Connection, user_id: UUID) -> int:
    """Return how many recovery codes of a person are unused."""
    (left,) = conn.execute(_LEFT, [user_id]).fetchone() or (0,)
    return int(left)


def _digest(user_id: UUID, code: str) -> bytes:
    """Return the digest of a code of 80 random bits, which needs no slow hash."""
    return hashlib.sha256(user_id.bytes + code.encode()).digest()
