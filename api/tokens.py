"""POST /oauth/token: exchanges client credentials for a bearer token (RFC 6749, section 4.4; interface v1).

`api.grants` parses the request. Whatever is wrong with it, one statement is sent and the request is counted, so that an
unknown client, a wrong secret and a revoked key cannot be told apart by their answer or their work.
"""

import hmac
from datetime import timedelta
from functools import partial

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of
from api.document import V1, body_of, operation
from api.errors import NO_STORE, TokenRefused
from api.grants import Grant, asked_for
from api.origin import client_network
from api.service import service_of
from schemas.access import TokenForm, TokenInput
from schemas.responses import TokenResponse
from schemas.vocabularies import VOCABULARIES
from warehouse.access import tokens
from warehouse.access.keys import TEST_PREFIX, Key, digest

router = APIRouter(prefix=f"{V1}/oauth", tags=["Access"])

_ERRORS = (
    "invalid_request",
    "invalid_client",
    "unsupported_grant_type",
    "invalid_scope",
    "rate_limited",
    "internal_error",
)


@router.post(
    "/token",
    **operation(
        "Exchange client credentials for a bearer token",
        body=body_of(TokenInput) | body_of(TokenForm, "application/x-www-form-urlencoded"),
        answers={200: TokenResponse},
        errors=_ERRORS,
    ),
)
async def post_token(request: Request) -> Response:
    """`client_id` is the id of an API key, `client_secret` the key itself; as HTTP Basic or in the body.

    The token lives 900 seconds and ends with its key. It shares the key's requests a minute; this request does not.
    """
    try:
        grant, fault = await asked_for(request), None
    except TokenRefused as refused:
        grant, fault = Grant(), refused
    key = await _client(request, grant)
    if fault is not None:
        raise fault
    if key is None:
        raise TokenRefused("invalid_client", headers={"WWW-Authenticate": 'Basic realm="api"'})
    return await _issued(request, key, _granted(grant, key))


async def _client(request: Request, grant: Grant) -> Key | None:
    """Return the live key that the grant names with the right secret. Raise `TokenRefused` over the limits."""
    service, presented = service_of(request), digest(grant.secret)
    client, address, now = grant.client_id, client_network(request), service.clock.now()
    found = await service.reading(partial(tokens.admit, client_id=client, presented=presented, address=address, at=now))
    if found.retry_after:
        raise TokenRefused("rate_limited", headers={"Retry-After": str(found.retry_after)})
    if not hmac.compare_digest(bytes(found.digest or b""), presented) or found.key is None:
        return None
    key = found.key
    request.state.company_id, request.state.client_id = key.company_id, key.client_id
    request.state.is_sandbox = grant.secret.startswith(TEST_PREFIX)
    return key


def _granted(grant: Grant, key: Key) -> list[str]:
    """Return the requested scopes, or all of the key's, in the order of the vocabulary. Raise `TokenRefused`."""
    wanted = key.scopes if grant.scopes is None else grant.scopes
    if not wanted or not set(wanted) <= set(key.scopes):
        raise TokenRefused("invalid_scope")
    return [scope for scope in VOCABULARIES["scope"] if scope in wanted]


async def _issued(request: Request, key: Key, scopes: list[str]) -> Response:
    service, token = service_of(request), tokens.new_token(is_test=request.state.is_sandbox)
    expires_at = service.clock.now() + timedelta(seconds=tokens.LIFETIME_SECONDS)
    async with service.reads.company(key.company_id) as connection:
        await tokens.issue(connection, key, token=token, scopes=scopes, expires_at=expires_at)
    answer = json_of(
        {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": tokens.LIFETIME_SECONDS,
            "scope": " ".join(scopes),
        }
    )
    answer.headers.update(NO_STORE)
    return answer
