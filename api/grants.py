"""Parses a token request: its parameters from form or JSON, and the client from HTTP Basic or the body.

Only the form of the request is checked here (RFC 6749, sections 2.3.1, 3.2 and 4.4.2). `api.tokens` authenticates the
client and decides its scopes.
"""

import json
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final  # Any: Starlette's form has texts and files
from urllib.parse import parse_qsl, unquote_plus
from uuid import UUID

from starlette.requests import Request

from api.bodies import limited_chunks
from api.errors import TokenRefused, TooLarge

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
    except (TooLarge, ValueError, RecursionError):
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
