"""Stores bearer tokens: their form, the statement that admits a token request, and the row of a token.

A token is opaque and only its SHA-256 is stored, with the key that it came from: each request looks that key up again,
so revoking the key ends its tokens at once (interface v1, Authentication).
"""

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from warehouse.access.keys import Key, digest
from warehouse.sessions import AsyncConnection

PREFIX: Final = "sat_"
"""Every token begins with this, and no key does."""

TEST_PREFIX: Final = f"{PREFIX}test_"
"""A token of a sandbox's key begins with this, and no other does."""

LIFETIME_SECONDS: Final = 900
"""Lifetime of a token, by the service's clock (interface v1, Limits)."""

REQUESTS_PER_MINUTE: Final = 30
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
    asked = {
        "client_id": client_id,
        "presented": presented,
        "address": address,
        "ceiling": REQUESTS_PER_MINUTE,
        "at": at,
    }
    row = await (await connection.execute(_ADMIT, asked)).fetchone()
    assert row is not None, "the statement answers one row whoever asks"
    *columns, digest_found, retry_after = row
    return Admitted(None if digest_found is None else Key(*columns), digest_found, retry_after)


def new_token(*, is_test: bool = False) -> str:
    """Make a token of 43 random URL-safe characters behind the prefix."""
    if is_test:
        return TEST_PREFIX + secrets.token_urlsafe(32)
    while (token := PREFIX + secrets.token_urlsafe(32)).startswith(TEST_PREFIX):
        pass  # once in a thousand million
    return token


async def issue(
    connection: AsyncConnection, key: Key, *, token: str, scopes: Sequence[str], expires_at: datetime
) -> None:
    """Store a new token's digest, in a session of the key's company; `expires_at` is the first instant without it."""
    await connection.execute(_ISSUE, [digest(token), key.company_id, key.client_id, list(scopes), expires_at])
