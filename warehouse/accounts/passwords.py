"""Passwords as they are held: Argon2id (RFC 9106), which makes each guess cost as much as a sign-in.

What does not belong here: how often somebody may guess (migration 0016) and digests of random secrets, which need no
slow hash (`warehouse.access.keys.digest`).
"""

from functools import cache
from typing import Final

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

SHORTEST: Final = 10
"""Characters of a password; NIST SP 800-63B, section 3.1.1.2, asks for at least 8."""
LONGEST: Final = 1_000
"""Characters of a password; more is no better, and takes time to hash."""

_HASHER: Final = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1, type=Type.ID)
"""19 MiB and two passes, the least that OWASP's Password Storage Cheat Sheet names for Argon2id."""


def hashed(password: str) -> str:
    """What is stored of a password."""
    return _HASHER.hash(password)


def fault(password: str) -> str | None:
    """Why nobody should have this password: `length` or `common`; None where somebody may."""
    if not SHORTEST <= len(password) <= LONGEST:
        return "length"
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # noqa: PLC0415  (large, and needed when one is chosen only)

    return "common" if password.casefold() in FREQUENCY_LISTS["passwords"] else None


def is_right(password: str, held: str | None) -> bool:
    """Whether the password is the one behind a hash; takes as long without one, where nobody has that name."""
    try:
        return _HASHER.verify(held or _nobodys(), password) and held is not None
    except (VerificationError, InvalidHashError):
        return False


@cache
def _nobodys() -> str:
    return hashed("")
