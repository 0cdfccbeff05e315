"""People who sign in and their sessions: what is held, added, found and ended.

A session is a random token in a cookie, of which only the SHA-256 is held. Before a session is looked up nobody is of a
company, so that finding and ending go through functions of migration 0016.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import psycopg

from warehouse.queries.keys import digest

IDLE: Final = timedelta(hours=2)
"""A session ends when nothing was asked in it for so long."""
LONGEST: Final = timedelta(hours=12)
"""A session ends so long after the sign-in, whatever is asked in it."""
PER_ACCOUNT: Final = 10
"""Wrong passwords for one account in any 60 seconds; the right one has to wait behind them too."""
PER_ADDRESS: Final = 30
"""Wrong passwords from one address in any 60 seconds."""

FIND: Final = "SELECT * FROM pcds_session(%(token)s, %(idle_since)s, %(at)s)"
"""The columns of `User`; no row for a session that has ended."""

_SIGN_IN: Final = (
    "SELECT * FROM pcds_sign_in(%(email)s, %(account)s, %(address)s, %(per_account)s, %(per_address)s, %(at)s)"
)
_BEGIN: Final = (
    "INSERT INTO user_sessions (token_hash, company_id, user_id, seen_at, expires_at) VALUES (%s, %s, %s, %s, %s)"
)
_ADD: Final = "INSERT INTO users (id, company_id, email, password_hash, created_at) VALUES (%s, %s, %s, %s, %s)"
_DISABLE: Final = "UPDATE users SET disabled_at = %s WHERE id = %s AND disabled_at IS NULL"


@dataclass(frozen=True, slots=True)
class User:
    """A person who is signed in, and the company that the person works for."""

    id: UUID
    email: str
    company_id: UUID
    company_name: str
    plan: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a sign-in is compared with: nobody where there is none of that name, or the seconds to wait."""

    user_id: UUID | None
    company_id: UUID | None
    password_hash: str | None
    retry_after: int


def known_as(email: str) -> str:
    """An email as it is held and compared: small letters, without spaces around it."""
    return email.strip().casefold()


def attempt(connection: psycopg.Connection[Any], email: str, address: str, at: datetime) -> Attempt:
    """Look a person up and count the attempt; undo the transaction where the password proves right."""
    name = known_as(email)
    # The counts outlive the attempt and are no place for a name.
    asked = {"email": name, "account": hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest(),
             "address": address, "per_account": PER_ACCOUNT, "per_address": PER_ADDRESS, "at": at}  # fmt: skip
    row = connection.execute(_SIGN_IN, asked).fetchone()
    assert row is not None, "the function answers one row whoever asks"
    return Attempt(*row)


def begin(connection: psycopg.Connection[Any], company_id: UUID, user_id: UUID, at: datetime) -> str:
    """Begin a session of a person in a session of the company; its token, which is nowhere else."""
    token = secrets.token_urlsafe(32)
    connection.execute(_BEGIN, [digest(token), company_id, user_id, at, at + LONGEST])
    return token


def finding(token: str, at: datetime) -> dict[str, Any]:
    """The parameters of `FIND`."""
    return {"token": digest(token), "idle_since": at - IDLE, "at": at}


def end(connection: psycopg.Connection[Any], token: str) -> None:
    """End a session; one that has ended stays so."""
    connection.execute("SELECT pcds_end_session(%s)", [digest(token)])


def add(
    connection: psycopg.Connection[Any], company_id: UUID, user_id: UUID, *, email: str, password_hash: str,
    at: datetime,
) -> None:  # fmt: skip
    """A new person of the session's company. Raises `UniqueViolation` where the email is somebody's already."""
    connection.execute(_ADD, [user_id, company_id, known_as(email), password_hash, at])


def disable(connection: psycopg.Connection[Any], user_id: UUID, at: datetime) -> bool:
    """End a person's sessions and connections from the next request on; False where that was done before."""
    return connection.execute(_DISABLE, [at, user_id]).rowcount == 1


def company_of(connection: psycopg.Connection[Any], email: str) -> tuple[UUID, UUID] | None:
    """A person's id and company; asked on the owner's connection, which sees every company's."""
    return connection.execute("SELECT id, company_id FROM users WHERE email = %s", [known_as(email)]).fetchone()
