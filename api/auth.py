"""Who calls: a key or a bearer token to a live key, the scope that the operation needs, and the limit on requests.

An unknown and a revoked credential take the same path: one digest, one statement, one comparison, one answer. That
statement counts the request and commits by itself (`docs/decisions/0007-admission-in-one-statement.md`). Reads send
it right before their query (`api.reading`); writes ask here first, before their body is read.
"""

import hmac
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Security
from fastapi.openapi.models import APIKey, OAuth2, OAuthFlowClientCredentials, OAuthFlows
from fastapi.security.base import SecurityBase
from starlette.requests import Request

from api.errors import Forbidden, RateLimited, Unauthenticated
from api.service import service_of
from schemas.vocabularies import VOCABULARIES
from warehouse.queries.keys import ADMIT, PREFIX, REQUESTS_PER_MINUTE, Key, digest
from warehouse.sessions import AsyncConnection

TOKEN_PATH = "/api/v1/oauth/token"  # noqa: S105  (a path)


@dataclass(frozen=True, slots=True)
class Credential:
    """What a request presents, as its digest: not looked up yet."""

    digest: bytes
    is_token: bool


class _ApiKey(SecurityBase):
    """The X-API-Key header as it was sent; None where it is absent or empty."""

    def __init__(self) -> None:
        self.scheme_name = "ApiKey"
        self.model = APIKey.model_validate(
            {"in": "header", "name": "X-API-Key", "description": f"A key of the company, beginning with {PREFIX}."}
        )

    async def __call__(self, request: Request) -> str | None:
        return request.headers.get("X-API-Key") or None


class _Bearer(SecurityBase):
    """What follows the scheme in an `Authorization: Bearer` header (RFC 6750); None where there is none."""

    def __init__(self) -> None:
        self.scheme_name = "BearerToken"
        scopes = {scope: f"Operations that {scope}." for scope in VOCABULARIES["scope"]}
        flow = OAuthFlowClientCredentials(tokenUrl=TOKEN_PATH, scopes=scopes)
        description = "A token from the token endpoint: client_id is the key's id, client_secret the key."
        self.model = OAuth2(flows=OAuthFlows(clientCredentials=flow), description=description)

    async def __call__(self, request: Request) -> str | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else None


_API_KEY, _BEARER = _ApiKey(), _Bearer()


async def _presented(
    request: Request,
    key: Annotated[str | None, Security(_API_KEY)],
    token: Annotated[str | None, Security(_BEARER)],
) -> Credential:
    """The credential of the request, the key where it has both; raises `Unauthenticated` where it has none."""
    if key is None and token is not None:
        credential = Credential(digest(token), is_token=True)
    elif key is not None and key.startswith(PREFIX):
        credential = Credential(digest(key), is_token=False)
    else:
        raise Unauthenticated("missing_api_key")
    request.state.credential = credential
    return credential


Presented = Annotated[Credential, Depends(_presented)]
"""The credential of a read, to be looked up on the connection of the read's query."""


async def offered(request: Request) -> Credential | None:
    """The credential of a request that needs none."""
    try:
        return await _presented(request, await _API_KEY(request), await _BEARER(request))
    except Unauthenticated:
        return None


async def admit(request: Request, connection: AsyncConnection, credential: Credential, scope: str) -> Key:
    """The live key behind a credential; its company is noted for the log, and the request counted.

    Raises `Unauthenticated`, `RateLimited` or `Forbidden`, in this order.
    """
    asked = {"presented": credential.digest, "is_token": credential.is_token, "ceiling": REQUESTS_PER_MINUTE,
             "at": service_of(request).clock.now()}  # fmt: skip
    row: tuple[Any, ...] | None = await (await connection.execute(ADMIT, asked)).fetchone()
    request.state.credential = None
    *columns, held, retry_after = row or (b"", 0)
    if not hmac.compare_digest(bytes(held), credential.digest):
        raise Unauthenticated("invalid_token" if credential.is_token else "invalid_api_key")
    key = Key(*columns)
    request.state.company_id, request.state.client_id = key.company_id, key.client_id
    if retry_after:
        raise RateLimited(retry_after)
    if scope not in key.scopes:
        raise Forbidden(scope)
    return key


async def admitted(request: Request, credential: Credential, scope: str) -> Key:
    """The same on a connection of its own."""
    return await service_of(request).reading(lambda connection: admit(request, connection, credential, scope))


async def admit_left_over(request: Request) -> None:
    """Let in what was refused for another reason before its credential was looked up, so that it counts like any other.

    Raises as `admit` does: who may not call is told nothing else.
    """
    credential: Credential | None = getattr(request.state, "credential", None)
    if credential is not None:
        await admitted(request, credential, "read")


async def _writer(request: Request, credential: Presented) -> Key:
    return await admitted(request, credential, "write")


async def _reader(request: Request, credential: Presented) -> Key:
    return await admitted(request, credential, "read")


Writer = Annotated[Key, Depends(_writer)]
"""The key of a write, checked before anything else of the request is looked at."""

Reader = Annotated[Key, Depends(_reader)]
"""The key of a read whose answer is not one query."""
