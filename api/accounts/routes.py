"""POST /oauth/token: exchanges client credentials for a bearer token (RFC 6749, section 4.4; interface v1).

Whatever is wrong with a request, one statement is sent and the request is counted. So an unknown client, a wrong secret
and a revoked key cannot be told apart by their answer or their work.
"""

import hmac
import json
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final  # Any: Starlette's form has texts and files
from urllib.parse import parse_qsl, unquote_plus
from uuid import UUID

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import json_of
from api.http.errors import NO_STORE, Encoded, TokenRefused, TooLarge
from api.http.requests import client_network, limited_chunks
from api.http.service import service_of
from api.openapi.document import V1, body_of, operation
from schemas.accounts import TokenForm, TokenInput, TokenResponse
from schemas.vocabularies import VOCABULARIES
from warehouse.accounts import keys
from warehouse.accounts.keys import TEST_PREFIX, Key, digest

_MAX_BYTES: Final = 8 * 2**10
"""Largest body; its parameters have at most a few hundred characters together."""
_KNOWN: Final = ("grant_type", "client_id", "client_secret", "scope")
_FORM, _JSON = "application/x-www-form-urlencoded", "application/json"


@dataclass(frozen=True, slots=True)
class Grant:
    """The client and scopes that a token request names. A client id that is no UUID names no client."""

    client_id: UUID | None = None
    secret: str = ""
    scopes: list[str] | None = None


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object in their order, including repeated ones."""


async def asked_for(request: Request) -> Grant:
    """Return the grant of a request. Raise `TokenRefused` where it is malformed or of another type."""
    sent = _once(await _pairs(request))
    if "grant_type" not in sent:
        raise TokenRefused("invalid_request", "The parameter grant_type is missing; send client_credentials.")
    if sent["grant_type"] != "client_credentials":
        raise TokenRefused("unsupported_grant_type")
    basic = _basic(request.headers.get("Authorization", ""))
    client, secret = basic or (sent.get("client_id", ""), sent.get("client_secret", ""))
    if basic is not None and ("client_secret" in sent or sent.get("client_id", client) != client):
        raise TokenRefused("invalid_request", "Send the client either as HTTP Basic or in the body, not both.")
    if basic is None and not (client and secret):
        raise TokenRefused("invalid_request", "Send client_id and client_secret, as HTTP Basic or in the body.")
    scopes = sent["scope"].split() if "scope" in sent else None
    return Grant(_identifier(client), secret, scopes)


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """Return the known parameters that have a value (section 3.2: one without is omitted, none is repeated)."""
    sent: dict[str, str] = {}
    for name, value in pairs:
        if name not in _KNOWN or value in ("", None):
            continue
        if name in sent:
            raise TokenRefused("invalid_request", f"The parameter {name} is sent more than once.")
        if not isinstance(value, str):
            raise TokenRefused("invalid_request", f"The parameter {name} is a text.")
        sent[name] = value
    return sent


async def _pairs(request: Request) -> list[tuple[str, Any]]:
    media_type = (request.headers.get("Content-Type") or _FORM).partition(";")[0].strip().lower()
    if media_type not in (_FORM, _JSON):
        raise TokenRefused("invalid_request", f"Send the parameters as {_FORM} or {_JSON}.")
    try:
        text = b"".join([chunk async for chunk in limited_chunks(request, _MAX_BYTES)]).decode()
        pairs = _members(text) if media_type == _JSON else parse_qsl(text, errors="strict", max_num_fields=100)
    except (TooLarge, Encoded, ValueError, RecursionError):
        raise TokenRefused("invalid_request", f"The body is no valid {media_type} of at most 8 KiB.") from None
    return pairs


def _members(text: str) -> _Pairs:
    value = json.loads(text, object_pairs_hook=_Pairs)
    if not isinstance(value, _Pairs):
        raise ValueError("no object")
    return value


def _basic(header: str) -> tuple[str, str] | None:
    """Return client id and secret of HTTP Basic, form-decoded (section 2.3.1); empty where the header is malformed."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        client, _, secret = b64decode(encoded.strip(), validate=True).decode().partition(":")
    except ValueError:
        return "", ""
    return unquote_plus(client), unquote_plus(secret)


def _identifier(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


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
    return await run_in_threadpool(_issued, request, key, _granted(grant, key))


async def _client(request: Request, grant: Grant) -> Key | None:
    """Return the live key that the grant names with the right secret. Raise `TokenRefused` over the limits."""
    service, presented = service_of(request), digest(grant.secret)
    client, address, now = grant.client_id, client_network(request), service.clock.now()
    admission = await service.reads.run(
        partial(keys.admit, client_id=client, presented=presented, address=address, at=now)
    )
    if admission.retry_after:
        raise TokenRefused("rate_limited", headers={"Retry-After": str(admission.retry_after)})
    if not hmac.compare_digest(bytes(admission.digest or b""), presented) or admission.key is None:
        return None
    key = admission.key
    request.state.company_id, request.state.client_id = key.company_id, key.client_id
    request.state.is_sandbox = grant.secret.startswith(TEST_PREFIX)
    return key


def _granted(grant: Grant, key: Key) -> list[str]:
    """Return the requested scopes, or all of the key's, in the order of the vocabulary. Raise `TokenRefused`."""
    wanted = key.scopes if grant.scopes is None else grant.scopes
    if not wanted or not set(wanted) <= set(key.scopes):
        raise TokenRefused("invalid_scope")
    return [scope for scope in VOCABULARIES["scope"] if scope in wanted]


def _issued(request: Request, key: Key, scopes: list[str]) -> Response:
    service, token = service_of(request), keys.new_token(is_test=request.state.is_sandbox)
    expires_at = service.clock.now() + timedelta(seconds=keys.LIFETIME_SECONDS)
    with service.writes.company(key.company_id) as connection:
        keys.issue_token(connection, key, token=token, scopes=scopes, expires_at=expires_at)
    answer = json_of(
        {"access_token": token, "token_type": "Bearer", "expires_in": keys.LIFETIME_SECONDS, "scope": " ".join(scopes)}
    )
    answer.headers.update(NO_STORE)
    return answer
