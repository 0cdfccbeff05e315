"""Parses requests to a token or revocation endpoint: a form's parameters, and the client from HTTP Basic or the form.

Only the form of the request is checked here (RFC 6749, sections 2.3.1 and 3.2).
"""

from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import parse_qsl, unquote_plus

from fastapi import Depends
from starlette.requests import Request

from connector.oauth.refusals import OAuthRefused, invalid_client
from schemas.texts import control_in

_MAX_BYTES: Final = 16 * 2**10
_FORM: Final = "application/x-www-form-urlencoded"
_REPEATABLE: Final = ("resource",)
"""RFC 8707, section 2: a client may name several."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters that have a value, each once except `resource`."""

    values: dict[str, str]
    resources: list[str]

    def needed(self, name: str) -> str:
        """Return a required parameter. Raises `OAuthRefused` where it is missing."""
        if name not in self.values:
            raise OAuthRefused("invalid_request", f"The parameter {name} is missing.")
        return self.values[name]


@dataclass(frozen=True, slots=True)
class Credentials:
    """A client's id and secret as sent; `secret` is empty where it sends none."""

    client_id: str
    secret: str


def parameters(pairs: Iterable[tuple[str, str]]) -> Parameters:
    """Return names and values as parameters. Raises `OAuthRefused` where one is repeated."""
    values: dict[str, str] = {}
    resources: list[str] = []
    for name, value in pairs:
        if control_in(name + value):
            raise OAuthRefused("invalid_request", f"The parameter {_shown(name)} holds a control character.")
        if name in _REPEATABLE:
            resources.append(value)
        elif name in values:
            raise OAuthRefused("invalid_request", f"The parameter {_shown(name)} is sent more than once.")
        elif value:
            values[name] = value
    return Parameters(values, resources)


async def _sent(request: Request) -> Parameters:
    media_type = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type != _FORM:
        raise OAuthRefused("invalid_request", f"Send the parameters as {_FORM}.")
    body = await read(request, _MAX_BYTES)
    try:
        return parameters(parse_qsl(body.decode(), errors="strict", max_num_fields=100))
    except ValueError:
        raise OAuthRefused("invalid_request", f"The body is no valid {_FORM}.") from None


Sent = Annotated[Parameters, Depends(_sent)]
"""The parameters of a request's body."""


async def read(request: Request, most: int) -> bytes:
    """Read a body of at most `most` bytes. Raises `OAuthRefused` at the first byte beyond."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise OAuthRefused("invalid_request", f"At most {most} bytes are taken here.", status=413)
    return bytes(body)


def credentials(request: Request, sent: Parameters) -> Credentials:
    """Return the client of a request, which must name it in one way only. Raises `OAuthRefused`."""
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        if "client_id" not in sent.values:
            raise invalid_client()
        return Credentials(sent.values["client_id"], sent.values.get("client_secret", ""))
    try:
        client, _, secret = b64decode(encoded.strip(), validate=True).decode().partition(":")
    except ValueError:
        raise invalid_client() from None
    client = unquote_plus(client)
    if "client_secret" in sent.values or sent.values.get("client_id", client) != client:
        raise OAuthRefused("invalid_request", "Send the client either as HTTP Basic or in the body, not both.")
    return Credentials(client, unquote_plus(secret))


def _shown(name: str) -> str:
    """Return a name in plain ASCII, as RFC 6749 requires of a description."""
    return "".join(letter for letter in name[:40] if letter.isascii() and (letter.isalnum() or letter in "_-."))
