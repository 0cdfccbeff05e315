"""Hashes and checks passwords with Argon2id (RFC 9106), which makes each guess cost as much as a sign-in.

What does not belong here: limits on guesses (`pcds_sign_in`) and digests of random secrets, which need no slow hash
(`warehouse.accounts.keys.digest`).
"""

import hashlib
import os
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Final
from uuid import UUID

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from warehouse.operate.sessions import Connection

SHORTEST: Final = 10
"""Fewest characters of a password; NIST SP 800-63B, section 3.1.1.2, asks for at least 8."""
LONGEST: Final = 1_000
"""Most characters of a password; more adds no safety and takes time to hash."""

_MEMORY_KIB: Final = 19_456
"""19 MiB, with two passes the least that OWASP's Password Storage Cheat Sheet names for Argon2id."""
_PASSES: Final = 2
_SALT_BYTES: Final = 16
_HASH_BYTES: Final = 32


def normalised(password: str) -> str:
    """Return the form in which passwords are hashed and compared: NFKC (NIST SP 800-63B, section 3.1.1.2).

    One keyboard sends `é` as one character and another as two; both are the same password.
    """
    return unicodedata.normalize("NFKC", password)


def hash_password(password: str) -> str:
    """Return the hash of a password as it is stored: a PHC string, which names its parameters and salt."""
    salt = os.urandom(_SALT_BYTES)
    function = Argon2id(salt=salt, length=_HASH_BYTES, iterations=_PASSES, lanes=1, memory_cost=_MEMORY_KIB)
    return function.derive_phc_encoded(normalised(password).encode())


def is_too_long(password: str) -> bool:
    """Return whether no account can have the password, in the form that was typed or the one that is hashed."""
    return min(len(password), len(normalised(password))) > LONGEST


def fault(password: str) -> str | None:
    """Return why a password is refused, `length` or `common`; None where it is accepted."""
    password = normalised(password)
    if not SHORTEST <= len(password) <= LONGEST:
        return "length"
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # noqa: PLC0415  (large, and needed when one is chosen only)

    return "common" if password.casefold() in FREQUENCY_LISTS["passwords"] else None


def is_right(password: str, stored: str | None) -> bool:
    """Return whether the password matches a hash; takes as long without a hash, where the account does not exist.

    Hashes from before passwords were normalised are of what was typed then: as it is typed now, or with its letters
    taken apart. How many hashes are computed follows from the typed password alone, so that it tells nothing of the
    account; one without other letters than ASCII has one form.
    """
    forms = dict.fromkeys((normalised(password), password, unicodedata.normalize("NFD", password)))
    matches = [_matches(stored, form) for form in forms]  # all of them, whichever is right
    return True in matches


def _matches(stored: str | None, form: str) -> bool:
    try:
        Argon2id.verify_phc_encoded(form.encode(), stored or _hash_of_nobody())
    except InvalidKey:  # also of a text that is no hash of this kind
        return False
    return bool(stored)


@cache
def _hash_of_nobody() -> str:
    return hash_password("")


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
