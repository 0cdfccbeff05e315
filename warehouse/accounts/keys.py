"""Stores API keys and checks them: their form, their digest, the statement that admits a caller, and issuing them.

A key is shown once and only its SHA-256 is stored: a key of this length is too random to be guessed from its digest, so
no slow hash is needed (decisions §5).
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import UUID

from psycopg.rows import class_row, dict_row

from warehouse.operate.sessions import AsyncConnection, Connection

PREFIX: Final = "svc_"
"""Every key begins with this (interface v1, Authentication)."""

TEST_PREFIX: Final = f"{PREFIX}test_"
"""A key of a sandbox begins with this, and no other does."""

REQUESTS_PER_MINUTE: Final = 120
"""Requests of a key with its tokens in any 60 seconds, outside a window (interface v1, Limits)."""

ADMIT: Final = "SELECT * FROM pcds_admit_counted(%(presented)s, %(is_token)s, %(usual_ceiling)s, %(asked_at)s)"
"""Returns the columns of `Key`, the digest, 0 or the seconds to wait, and `Rate`; no row for an invalid credential.

It sets the transaction's company, and counts the request when the transaction commits.
"""
ADMIT_EACH: Final = (
    "SELECT caller.* FROM unnest(%(asked_at)s::timestamptz[]) AS asked (at), "
    "pcds_admit_counted(%(presented)s, %(is_token)s, %(usual_ceiling)s, asked.at) AS caller"
)
"""The same for several requests with one credential: a row for each instant at which one of them came."""
_USE: Final = "id, name, scopes, created_at, revoked_at, last_used_at"

CALLER_COLUMNS: Final = 10
"""How many columns of a row of `ADMIT`, or of a `with_caller` query, describe the caller."""


def with_caller(query: str) -> str:
    """Join a query to the columns of its caller, as one statement for a connection that has no company.

    Postgres runs the outer side of a left join first, which sets the company that row-level security compares with. If
    it ever did not, or if the key is not live or must wait, then no company is set and the query sees no row.
    """
    return f"SELECT caller.*, answer.* FROM ({ADMIT}) AS caller LEFT JOIN ({query}) AS answer ON true"


@dataclass(frozen=True, slots=True)
class Key:
    """A live key: its client, its company and its scopes. With a token, its scopes are the token's."""

    client_id: UUID
    company_id: UUID
    name: str
    scopes: list[str]
    plan: str


class Rate(NamedTuple):
    """What a key may send in any 60 seconds, how much of it is left, and the seconds until there is one more."""

    quota: int
    remaining: int
    reset: int


def new_key(*, is_test: bool = False) -> str:
    """Make a key of 43 random URL-safe characters behind the prefix."""
    return _random(TEST_PREFIX if is_test else PREFIX, TEST_PREFIX)


def _random(prefix: str, of_tests: str) -> str:
    while True:
        made = prefix + secrets.token_urlsafe(32)
        if prefix == of_tests or not made.startswith(of_tests):  # else once in a thousand million
            return made


def digest(secret: str) -> bytes:
    """Return the SHA-256 of a key or token, as it is stored and looked up."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def issue(
    connection: Connection,
    company_id: UUID,
    client_id: UUID,
    *,
    key: str,
    name: str,
    scopes: Sequence[str],
    at: datetime,
) -> None:
    """Store a new key's digest, in a session of its company; the key itself is not stored."""
    connection.execute(
        "INSERT INTO api_keys (id, company_id, name, key_hash, scopes, created_at) VALUES (%s, %s, %s, %s, %s, %s)",
        [client_id, company_id, name, digest(key), list(scopes), at],
    )


def revoke(connection: Connection, client_id: UUID, at: datetime) -> bool:
    """End a key of the session's company; return False where it had ended before."""
    ended = connection.execute(
        "UPDATE api_keys SET revoked_at = %s WHERE id = %s AND revoked_at IS NULL", [at, client_id]
    )
    return ended.rowcount == 1


def company_of(connection: Connection, client_id: UUID) -> UUID | None:
    """Return the company of a key; needs the owner's connection, which sees every company's keys."""
    row = connection.execute("SELECT company_id FROM api_keys WHERE id = %s", [client_id]).fetchone()
    return row[0] if row else None


class KeyUse(NamedTuple):
    """A key as administrators see it; `last_used_at` is to the hour."""

    client_id: UUID
    name: str
    scopes: list[str]
    created_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None


def with_use(connection: Connection) -> list[KeyUse]:
    """Return the session's company's keys with their last use, those that count first, the newest first."""
    query = f"SELECT {_USE} FROM api_keys ORDER BY revoked_at IS NOT NULL, created_at DESC, id"
    return [KeyUse(*row) for row in connection.execute(query).fetchall()]


def every(connection: Connection) -> list[dict[str, object]]:
    """Return the session's company's keys, oldest first, with every column that may be shown."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(
            "SELECT id AS client_id, name, scopes, created_at, revoked_at FROM api_keys ORDER BY created_at, id"
        ).fetchall()


ACCESS_PREFIX: Final = "sat_"
"""Every token begins with this, and no key does."""

TEST_ACCESS_PREFIX: Final = f"{ACCESS_PREFIX}test_"
"""A token of a sandbox's key begins with this, and no other does."""

LIFETIME_SECONDS: Final = 900
"""Lifetime of a token, by the service's clock (interface v1, Limits)."""

TOKEN_REQUESTS_PER_MINUTE: Final = 30
"""Token requests of one client, and of one address, in any 60 seconds (interface v1, Limits)."""

_ADMIT: Final = (
    "SELECT * FROM pcds_admit_client(%(client_id)s::uuid, %(presented)s::bytea, %(address)s, %(ceiling)s, %(at)s)"
)
"""Returns the columns of `Key`, the digest and the seconds to wait."""

_ISSUE: Final = (
    "INSERT INTO bearer_tokens (token_hash, company_id, client_id, scopes, expires_at) VALUES (%s, %s, %s, %s, %s)"
)


class Admitted(NamedTuple):
    """A client's live key, the digest under which it is stored, and 0 or the seconds to wait.

    Key and digest are None where the client has no live key.
    """

    key: Key | None
    digest: bytes | None
    retry_after: int


async def admit(
    connection: AsyncConnection, client_id: UUID | None, presented: bytes, *, address: str, at: datetime
) -> Admitted:
    """Count a token request of a client and an address, on a connection of no company; return the client's key."""
    parameters = {
        "client_id": client_id,
        "presented": presented,
        "address": address,
        "ceiling": TOKEN_REQUESTS_PER_MINUTE,
        "at": at,
    }
    row = await (await connection.execute(_ADMIT, parameters)).fetchone()
    assert row is not None, "the statement answers one row whoever asks"
    *columns, digest_found, retry_after = row
    return Admitted(None if digest_found is None else Key(*columns), digest_found, retry_after)


def new_token(*, is_test: bool = False) -> str:
    """Make a token of 43 random URL-safe characters behind the prefix."""
    return _random(TEST_ACCESS_PREFIX if is_test else ACCESS_PREFIX, TEST_ACCESS_PREFIX)


def issue_token(connection: Connection, key: Key, *, token: str, scopes: Sequence[str], expires_at: datetime) -> None:
    """Store a new token's digest, in a session of the key's company; `expires_at` is the first instant without it."""
    connection.execute(_ISSUE, [digest(token), key.company_id, key.client_id, list(scopes), expires_at])


_OPEN: Final = """
INSERT INTO request_windows (client_id, company_id, per_minute, opens_at, closes_at)
VALUES (%(client_id)s, %(company_id)s, %(per_minute)s, %(opens_at)s, %(closes_at)s)
ON CONFLICT (client_id) DO UPDATE
SET per_minute = excluded.per_minute, opens_at = excluded.opens_at, closes_at = excluded.closes_at
"""
_OF: Final = "SELECT client_id, per_minute, opens_at, closes_at FROM request_windows WHERE client_id = %s FOR UPDATE"
_EVERY: Final = """
SELECT client_id, per_minute, opens_at, closes_at FROM request_windows
WHERE %(company_id)s::uuid IS NULL OR company_id = %(company_id)s ORDER BY opens_at, client_id"""


@dataclass(frozen=True, slots=True)
class Window:
    """A window from `opens_at` until before `closes_at`, or until it is closed where that is None."""

    client_id: UUID
    per_minute: int
    opens_at: datetime
    closes_at: datetime | None

    def as_dict(self) -> dict[str, object]:
        """Return the window as commands and the ledger show it (decisions §8)."""
        return {"per_minute": self.per_minute, "from": _text(self.opens_at), "until": _text(self.closes_at)}

    def state(self, now: datetime) -> str:
        """Return whether the window is `to_come`, `open` or `over`."""
        if self.closes_at is not None and self.closes_at <= max(now, self.opens_at):
            return "over"
        return "open" if self.opens_at <= now else "to_come"


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def lock_window(connection: Connection, client_id: UUID) -> Window | None:
    """Return the key's window, past, present or to come; locks it until the transaction ends."""
    with connection.cursor(row_factory=class_row(Window)) as cursor:
        return cursor.execute(_OF, [client_id]).fetchone()


def every_window(connection: Connection, company_id: UUID | None = None) -> list[Window]:
    """Return all windows, or a company's, the earliest first; past ones too."""
    with connection.cursor(row_factory=class_row(Window)) as cursor:
        return cursor.execute(_EVERY, {"company_id": company_id}).fetchall()


def put(connection: Connection, company_id: UUID, window: Window) -> None:
    """Store the key's window, in place of an earlier one."""
    connection.execute(_OPEN, asdict(window) | {"company_id": company_id})
