"""Stores the connections of people with applications, and their codes and tokens: adds, finds, redeems and ends them.

A person has one connection with an application, however often it was authorised. Codes and tokens are random; only
their SHA-256 is stored. A caller that presents one has no company yet, so functions of the database redeem them
(`accounts.sql`).
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from psycopg.rows import class_row
from sqlalchemy import Column, Index, LargeBinary, PrimaryKeyConstraint, Table, Uuid
from uuid_utils import uuid7

from schemas.accounts import Role
from warehouse.accounts.keys import digest
from warehouse.base import company, instant, metadata
from warehouse.operate.sessions import AsyncConnection, Connection

CODE_LIFETIME: Final = timedelta(minutes=2)
"""Lifetime of an authorization code, which its application exchanges at once."""
ACCESS_LIFETIME: Final = timedelta(minutes=15)
"""Lifetime of an access token."""
REFRESH_LIFETIME: Final = timedelta(days=30)
"""Lifetime of a refresh token that is not used; the next one lives as long again."""

_ADMIT: Final = "SELECT * FROM pcds_admit_connection(%(presented)s, %(resource)s, %(counted_as)s, %(at)s)"
"""Returns the columns of `Admitted`; no row for an invalid token. `counted_as` is call, answer or null."""

_AUTHORISE: Final = """
INSERT INTO connections (id, company_id, user_id, client_id, scopes, authorised_at)
VALUES (%(id)s, %(company_id)s, %(user_id)s, %(client_id)s, %(scopes)s, %(at)s)
ON CONFLICT (user_id, client_id) WHERE revoked_at IS NULL DO UPDATE
SET scopes = excluded.scopes, authorised_at = excluded.authorised_at
RETURNING id
"""
_HOLD_CODE: Final = """
INSERT INTO authorization_codes
    (code_hash, company_id, connection_id, redirect_uri, code_challenge, resource, scopes, expires_at)
VALUES (%(hash)s, %(company_id)s, %(connection_id)s, %(redirect_uri)s, %(code_challenge)s, %(resource)s, %(scopes)s,
        %(expires_at)s)
"""
_OF: Final = """
SELECT connections.id, oauth_clients.id AS client_id, oauth_clients.name, connections.scopes, connections.authorised_at,
       connections.last_used_at
FROM connections JOIN oauth_clients ON oauth_clients.id = connections.client_id
WHERE connections.user_id = %s AND connections.revoked_at IS NULL
ORDER BY connections.authorised_at DESC, connections.id
"""
_REVOKE: Final = """
UPDATE connections SET revoked_at = %(at)s WHERE id = %(id)s AND revoked_at IS NULL
    AND user_id = coalesce(%(user_id)s, user_id)
RETURNING (SELECT name FROM oauth_clients WHERE oauth_clients.id = connections.client_id)
"""
_REDEEM: Final = """
SELECT pcds_redeem_code(%(presented)s, %(client)s, %(redirect_uri)s, %(challenge)s, %(resource)s, %(access)s,
                        %(refresh)s, %(access_until)s, %(refresh_until)s, %(at)s)
"""
_ROTATE: Final = """
SELECT pcds_rotate_token(%(presented)s, %(client)s, %(scopes)s, %(resource)s, %(access)s, %(refresh)s,
                         %(access_until)s, %(refresh_until)s, %(at)s)
"""


@dataclass(frozen=True, slots=True)
class Client:
    """An application: its name, its redirect addresses, and how it authenticates.

    `auth_method` is none, client_secret_basic or client_secret_post; without a secret it is none.
    """

    id: str
    name: str
    redirect_uris: Sequence[str]
    auth_method: str
    secret_hash: bytes | None
    held_since: datetime


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """The authorisation that a person gives: these scopes on this resource, and a code sent to this address."""

    client: Client
    redirect_uri: str
    code_challenge: str
    resource: str
    scopes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Admitted:
    """The live connection of a request, and 0 or the seconds to wait under its ceiling."""

    connection_id: UUID
    company_id: UUID
    user_id: UUID
    email: str
    client_id: str
    client_name: str
    scopes: list[str]
    expires_at: datetime
    ceiling: int
    retry_after: int
    role: Role


@dataclass(frozen=True, slots=True)
class Connected:
    """A connection as it is shown to its person."""

    id: UUID
    client_id: str
    name: str
    scopes: list[str]
    authorised_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class Tokens:
    """A new pair of tokens, and the scopes of the access token."""

    access: str
    refresh: str
    scopes: list[str]


def authorise(
    connection: Connection, company_id: UUID, user_id: UUID, request: AuthorizationRequest, at: datetime
) -> UUID:
    """Return the person's connection with the application; adds it where there is none."""
    row = {
        "id": UUID(str(uuid7())),
        "company_id": company_id,
        "user_id": user_id,
        "client_id": request.client.id,
        "at": at,
    }
    stored = connection.execute(_AUTHORISE, row | {"scopes": list(request.scopes)}).fetchone()
    assert stored is not None, "it was made or found"
    return stored[0]  # type: ignore[no-any-return]


def hold_code(
    connection: Connection, company_id: UUID, connection_id: UUID, request: AuthorizationRequest, at: datetime
) -> str:
    """Make a code of a connection and store its digest; the code itself is only returned."""
    code = f"sac_{secrets.token_urlsafe(32)}"
    row = {"hash": digest(code), "company_id": company_id, "connection_id": connection_id}
    row |= {
        "redirect_uri": request.redirect_uri,
        "code_challenge": request.code_challenge,
        "resource": request.resource,
    }
    connection.execute(_HOLD_CODE, row | {"scopes": list(request.scopes), "expires_at": at + CODE_LIFETIME})
    return code


async def admit(
    connection: AsyncConnection, token: str, *, resource: str, counted_as: str | None, at: datetime
) -> Admitted | None:
    """Return the live connection of an access token, counted as a call, an answer or not; None for an invalid token."""
    parameters = {"presented": digest(token), "resource": resource, "counted_as": counted_as, "at": at}
    row = await (await connection.execute(_ADMIT, parameters)).fetchone()
    return None if row is None else Admitted(*row)


def of_person(connection: Connection, user_id: UUID) -> list[Connected]:
    """Return a person's live connections, the newest first."""
    with connection.cursor(row_factory=class_row(Connected)) as cursor:
        return cursor.execute(_OF, [user_id]).fetchall()


def revoke(connection: Connection, connection_id: UUID, at: datetime, *, user_id: UUID | None = None) -> str | None:
    """End a connection, only that person's where one is given; return the application's name, None where none ended."""
    row = connection.execute(_REVOKE, {"id": connection_id, "at": at, "user_id": user_id}).fetchone()
    return row[0] if row else None


def redeem(
    connection: Connection,
    code: str,
    *,
    client_id: str,
    redirect_uri: str | None,
    challenge: str,
    resource: str,
    at: datetime,
) -> Tokens | None:
    """Exchange a code for its first tokens; None for any fault. The code is used up either way."""
    parameters = {
        "presented": digest(code),
        "client": client_id,
        "redirect_uri": redirect_uri,
        "challenge": challenge,
        "resource": resource,
    }
    return _exchanged(connection, _REDEEM, parameters, at)


def rotate(
    connection: Connection, refresh: str, *, client_id: str, scopes: Sequence[str] | None, resource: str, at: datetime
) -> Tokens | None:
    """Exchange a refresh token for the next tokens.

    None for any fault, tokens without scopes where it lacks those wanted.
    """
    parameters = {
        "presented": digest(refresh),
        "client": client_id,
        "resource": resource,
        "scopes": None if scopes is None else list(scopes),
    }
    return _exchanged(connection, _ROTATE, parameters, at)


def revoke_token(connection: Connection, token: str, client_id: str, at: datetime) -> tuple[UUID, UUID] | None:
    """End one of the client's tokens.

    Return the connection and its company where it was the connection's last token.
    """
    parameters = [digest(token), client_id, at]
    return connection.execute("SELECT * FROM pcds_revoke_token(%s, %s, %s)", parameters).fetchone()


def _exchanged(connection: Connection, statement: str, parameters: Mapping[str, object], at: datetime) -> Tokens | None:
    access, refresh = f"sct_{secrets.token_urlsafe(32)}", f"srt_{secrets.token_urlsafe(32)}"
    new = {
        "access": digest(access),
        "refresh": digest(refresh),
        "access_until": at + ACCESS_LIFETIME,
        "refresh_until": at + REFRESH_LIFETIME,
        "at": at,
    }
    row = connection.execute(statement, {**parameters, **new}).fetchone()
    return None if row is None or row[0] is None else Tokens(access, refresh, row[0])


PER_ADDRESS: Final = 30
"""Registrations from one address in any 60 seconds."""

_CLIENT: Final = "SELECT id, name, redirect_uris, auth_method, secret_hash, held_since FROM oauth_clients WHERE id = %s"
_HOLD: Final = """
INSERT INTO oauth_clients (id, name, redirect_uris, auth_method, secret_hash, held_since)
VALUES (%(id)s, %(name)s, %(redirect_uris)s, %(auth_method)s, %(secret_hash)s, %(held_since)s)
ON CONFLICT (id) DO UPDATE
SET name = excluded.name, redirect_uris = excluded.redirect_uris, held_since = excluded.held_since
"""


def find_client(connection: Connection, client_id: str) -> Client | None:
    """Return the application of an id, None where there is none."""
    with connection.cursor(row_factory=class_row(Client)) as cursor:
        return cursor.execute(_CLIENT, [client_id]).fetchone()


def hold(connection: Connection, client: Client) -> None:
    """Store a new application, or the current content of a known one's document."""
    connection.execute(_HOLD, {**asdict(client), "redirect_uris": list(client.redirect_uris)})


def seconds_to_wait(connection: Connection, address: str, at: datetime) -> int:
    """Count a registration from an address; return 0, or the seconds until it may register again."""
    parameters = [address, PER_ADDRESS, at]
    row = connection.execute("SELECT pcds_take_registration(%s, %s, %s)", parameters).fetchone()
    assert row is not None, "the function answers one row whoever asks"
    return int(row[0])


LIFETIME: Final = timedelta(minutes=10)
"""How long a code is valid, by the service's clock (decisions §7)."""

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
    conn.execute("DELETE FROM confirmations WHERE expires_at <= %s", [now])
    conn.execute(_KEEP, [company_id, digest(code), connection_id, meaning, expires_at])
    return code, expires_at


def holds(conn: Connection, code: str, connection_id: UUID, meaning: bytes, now: datetime) -> bool:
    """Return whether the code was issued to this connection for this meaning, and is still valid."""
    return conn.execute(_HELD, [digest(code), connection_id, meaning, now]).rowcount == 1


confirmations = Table(
    "confirmations",
    metadata,
    company(),
    Column("code_hash", LargeBinary, nullable=False, comment="SHA-256 of the code"),
    Column("connection_id", Uuid, nullable=False),
    Column("meaning", LargeBinary, nullable=False, comment="SHA-256 of the tool and its arguments"),
    instant("expires_at"),
    PrimaryKeyConstraint("company_id", "code_hash"),
    Index("ix_confirmations_expires_at", "company_id", "expires_at"),
)
