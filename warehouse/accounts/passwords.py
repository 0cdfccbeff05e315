"""Hashes and checks passwords with Argon2id (RFC 9106), which makes each guess cost as much as a sign-in.

What does not belong here: limits on guesses (migration 0016) and digests of random secrets, which need no slow hash
(`warehouse.access.keys.digest`).
"""

import unicodedata
from functools import cache
from typing import Final

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

SHORTEST: Final = 10
"""Fewest characters of a password; NIST SP 800-63B, section 3.1.1.2, asks for at least 8."""
LONGEST: Final = 1_000
"""Most characters of a password; more adds no safety and takes time to hash."""

_HASHER: Final = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1, type=Type.ID)
"""19 MiB and two passes, the least that OWASP's Password Storage Cheat Sheet names for Argon2id."""


def normalised(password: str) -> str:
    """Return the form in which passwords are hashed and compared: NFKC (NIST SP 800-63B, section 3.1.1.2).

    One keyboard sends `é` as one character and another as two; both are the same password.
    """
    return unicodedata.normalize("NFKC", password)


def hash_password(password: str) -> str:
    """Return the hash of a password, as it is stored."""
    return _HASHER.hash(normalised(password))


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
        return _HASHER.verify(stored or _hash_of_nobody(), form) and stored is not None
    except (VerificationError, InvalidHashError):
        return False


@cache
def _hash_of_nobody() -> str:
    return hash_password("")
