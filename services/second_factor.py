"""Checks the second factor of a sign-in: one-time codes of an authenticator app (RFC 6238), and recovery codes.

A secret rests sealed (AES-GCM) with a key of the data directory, bound to its person: a copy of the database alone
gives no codes. A code counts once. Between the password and the code a sealed ticket says whose password was right.

What belongs here: codes, seals and tickets. What does not: the rows (`warehouse.accounts.second_factor`), and the limit
on guesses, which is that of passwords.
"""

import secrets
from base64 import b32encode, urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

import orjson
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor import InvalidToken
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from warehouse import deployment_keys
from warehouse.accounts import second_factor
from warehouse.sealing import SECOND_FACTORS, Seal
from warehouse.sessions import Connection
from warehouse.settings import Settings

STEP_SECONDS: Final = 30
DIGITS: Final = 6
RECOVERY_CODES: Final = 10
TICKET_LIFETIME: Final = timedelta(minutes=5)
_SECRET_BYTES: Final = 20
"""As long as the hash of the codes (RFC 4226, section 4, R6)."""
_CODE_BYTES: Final = 10
_TICKET: Final = b"sign-in"
"""What the seal of a ticket is bound to."""
_DRIFT: Final = (0, -1, 1)
"""Time steps that a device's clock may be off (RFC 6238, section 5.2)."""


class Ticket(NamedTuple):
    """The person whose password was right."""

    user_id: UUID
    company_id: UUID
    email: str


def seal_of(settings: Settings) -> Seal:
    """Return the seal of second factors. Raise `Refused` where this program was not given the deployment's key."""
    return Seal(deployment_keys.every(settings), SECOND_FACTORS)


def new_secret() -> bytes:
    """Return a new secret of one-time codes."""
    return secrets.token_bytes(_SECRET_BYTES)


def shown(secret: bytes) -> str:
    """Return a secret as people type it into an app: groups of four letters and digits (RFC 4648, section 6)."""
    text = b32encode(secret).decode()
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def address(secret: bytes, email: str, issuer: str) -> str:
    """Return the `otpauth:` address that an authenticator app reads from a picture."""
    return _totp(secret).get_provisioning_uri(email, issuer)


def step_of(secret: bytes, code: str, now: datetime) -> int | None:
    """Return the time step whose code this is, by a clock that may be a step off; None for any other text."""
    digits = code.replace(" ", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) == DIGITS):
        return None
    present = int(now.timestamp()) // STEP_SECONDS
    for drift in _DRIFT:
        try:
            _totp(secret).verify(digits.encode(), (present + drift) * STEP_SECONDS)
        except InvalidToken:
            continue
        return present + drift
    return None


def new_recovery_codes() -> list[str]:
    """Return codes that each sign in once without the device."""
    return [b32encode(secrets.token_bytes(_CODE_BYTES)).decode().lower() for _ in range(RECOVERY_CODES)]


def is_right(conn: Connection, seal: Seal, user_id: UUID, code: str, now: datetime) -> str | None:
    """Take a one-time or recovery code of a person; return which it was, `code` or `recovery`, None for a wrong one.

    Raise `Refused` where nobody can tell whether a one-time code is right, as the key of its secret is not here.
    """
    sealed = second_factor.sealed_secret(conn, user_id)
    if sealed is None:  # switched off, or the account has ended since the password
        return None
    secret = seal.unseal(sealed, user_id.bytes)
    if secret is not None and (step := step_of(secret, code, now)) is not None:
        return "code" if second_factor.take_step(conn, user_id, step) else None
    if second_factor.use_recovery_code(conn, user_id, code.replace(" ", "").lower()):
        return "recovery"
    if secret is None:
        raise deployment_keys.unopened(conn, seal.probes)
    return None


def ticket(seal: Seal, person: Ticket, now: datetime) -> str:
    """Return the sealed ticket of a person whose password was right."""
    content = [str(person.user_id), str(person.company_id), person.email, (now + TICKET_LIFETIME).isoformat()]
    return urlsafe_b64encode(seal.seal(orjson.dumps(content), _TICKET)).decode()


def read_ticket(seal: Seal, sent: str, now: datetime) -> Ticket | None:
    """Return the person of a ticket; None for one that is over, or was not made here."""
    try:
        content = seal.unseal(urlsafe_b64decode(sent), _TICKET)
    except ValueError:
        return None
    if content is None:
        return None
    user_id, company_id, email, until = orjson.loads(content)
    return Ticket(UUID(user_id), UUID(company_id), email) if now < datetime.fromisoformat(until) else None


def _totp(secret: bytes) -> TOTP:
    return TOTP(secret, DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303  (HMAC-SHA-1 is what every app computes)
