"""What is sent to a token or revocation endpoint: parameters of a form, and the client out of HTTP Basic or the form.

Only the form of the request is looked at here (RFC 6749, sections 2.3.1 and 3.2).
"""

from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import parse_qsl, unquote_plus

from fastapi import Depends
from starlette.requests import Request

from connector.oauth.refusals import OAuthRefused, invalid_client

_MAX_BYTES: Final = 16 * 2**10
_FORM: Final = "application/x-www-form-urlencoded"
_REPEATABLE: Final = ("resource",)
"""RFC 8707, section 2: a client may name several."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters that have a value, each once but `resource`."""

    values: dict[str, str]
    resources: list[str]

    def needed(self, name: str) -> str:
        """A parameter without which there is nothing to answer. Raises `OAuthRefused`."""
        if name not in self.values:
            raise OAuthRefused("invalid_request", f"The parameter {name} is missing.")
        return self.values[name]


@dataclass(frozen=True, slots=True)
class Credentials:
    """A client as it names itself; `secret` is empty where it shows none."""

    client_id: str
    secret: str


def parameters(pairs: Iterable[tuple[str, str]]) -> Parameters:
    """Names and values as parameters. Raises `OAuthRefused` where one is repeated."""
    values: dict[str, str] = {}
    resources: list[str] = []
    for name, value in pairs:
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
    """A body of at most so many bytes. Raises `OAuthRefused` at the byte that passes them."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise OAuthRefused("invalid_request", f"At most {most} bytes are taken here.", status=413)
    return bytes(body)


def credentials(request: Request, sent: Parameters) -> Credentials:
    """The client of a request, named in one way. Raises `OAuthRefused`."""
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
    """A name in plain ASCII, as RFC 6749 asks of a description."""
    return "".join(letter for letter in name[:40] if letter.isascii() and (letter.isalnum() or letter in "_-."))
