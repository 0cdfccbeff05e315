"""API keys: their form, their digest, the statement that lets a caller in, and what operators do with them.

A key is shown once and only its SHA-256 is held: a key of this length is too random to be guessed from its digest,
so no slow hash is needed (decisions §5).
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

PREFIX: Final = "svc_"
"""Every key begins so (interface v1, Authentication)."""

REQUESTS_PER_MINUTE: Final = 120
"""Of a key with its tokens, in any 60 seconds, outside a window (interface v1, Limits)."""

ADMIT: Final = "SELECT * FROM pcds_admit(%(presented)s, %(is_token)s, %(usual_ceiling)s, %(asked_at)s)"
"""The columns of `Key`, the digest, and 0 or the seconds to wait; no row for a credential that does not count.

It sets the transaction's company, and counts the request when the transaction commits.
"""

ADMIT_EACH: Final = (
    "SELECT caller.* FROM unnest(%(asked_at)s::timestamptz[]) AS asked (at), "
    "pcds_admit(%(presented)s, %(is_token)s, %(usual_ceiling)s, asked.at) AS caller"
)
"""The same for several requests with one credential: a row for each instant that one of them is asked at."""

CALLER_COLUMNS: Final = 7
"""How many columns of a row of `ADMIT`, or of an `admitting` query, are the caller's."""


def admitting(query: str) -> str:
    """A query of one row behind the columns of its caller, as one statement for a connection that has no company.

    The outer side of a left join is run first, and running it sets the company that row-level security compares
    with. Were it ever not first, is the key not live or must it wait, then there is no company, and nothing is seen.
    """
    return f"SELECT caller.*, answer.* FROM ({ADMIT}) AS caller LEFT JOIN ({query}) AS answer ON true"


@dataclass(frozen=True, slots=True)
class Key:
    """A live key: who calls, for which company, and what for. With a token, its scopes are the token's."""

    client_id: UUID
    company_id: UUID
    name: str
    scopes: list[str]
    plan: str


def new_key() -> str:
    """A key of 43 random URL-safe characters behind the prefix."""
    return PREFIX + secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """The SHA-256 of a key or token, as it is stored and looked up."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def issue(
    connection: psycopg.Connection[Any],
    company_id: UUID,
    client_id: UUID,
    *,
    key: str,
    name: str,
    scopes: Sequence[str],
    at: datetime,
) -> None:
    """Hold a new key's digest, in a session of its company; the key itself is nowhere."""
    connection.execute(
        "INSERT INTO api_keys (id, company_id, name, key_hash, scopes, created_at) VALUES (%s, %s, %s, %s, %s, %s)",
        [client_id, company_id, name, digest(key), list(scopes), at],
    )


def revoke(connection: psycopg.Connection[Any], client_id: UUID, at: datetime) -> bool:
    """End a key of the session's company; False where it had ended before."""
    ended = connection.execute(
        "UPDATE api_keys SET revoked_at = %s WHERE id = %s AND revoked_at IS NULL", [at, client_id]
    )
    return ended.rowcount == 1


def company_of(connection: psycopg.Connection[Any], client_id: UUID) -> UUID | None:
    """Whose key it is; asked on the owner's connection, which sees every company's."""
    row = connection.execute("SELECT company_id FROM api_keys WHERE id = %s", [client_id]).fetchone()
    return row[0] if row else None


def every(connection: psycopg.Connection[Any]) -> list[dict[str, Any]]:
    """The session's company's keys, oldest first, with all that may be shown of them."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(
            "SELECT id AS client_id, name, scopes, created_at, revoked_at FROM api_keys ORDER BY created_at, id"
        ).fetchall()
