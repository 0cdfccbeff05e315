"""Hashes and checks passwords with Argon2id (RFC 9106), which makes each guess cost as much as a sign-in.

What does not belong here: limits on guesses (migration 0016) and digests of random secrets, which need no slow hash
(`warehouse.access.keys.digest`).
"""

import os
import unicodedata
from functools import cache
from typing import Final

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

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
