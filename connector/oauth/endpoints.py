"""What the authorization server's endpoints share: their addresses, how a request is parsed, and how one is refused.

Addresses are all made from the service's base address. Clients compare the issuer letter by letter: everywhere it is
the base address without a slash at its end. A request to the token or revocation endpoint is a form's parameters, and
the client from HTTP Basic or the form; only its form is checked here (RFC 6749, sections 2.3.1 and 3.2). A refusal is a
code of RFC 6749 (section 5.2), 7591, 8707 or 9728, and a sentence in plain ASCII, as the section requires; its body
also has the `correlationId` of all errors.
"""

from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import parse_qsl, unquote_plus

import orjson
from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from schemas.texts import control_in

AUTHORIZE: Final = "/oauth/authorize"
TOKEN: Final = "/oauth/token"  # noqa: S105  (a path)
REGISTER: Final = "/oauth/register"
REVOKE: Final = "/oauth/revoke"
RESOURCE: Final = "/api/mcp"
RESOURCE_METADATA: Final = f"/.well-known/oauth-protected-resource{RESOURCE}"
"""With the resource's path inserted (RFC 9728, section 3.1)."""
SERVER_METADATA: Final = "/.well-known/oauth-authorization-server"
SCOPES: Final = ("read", "write")
"""Scopes of a connection: `read` to see records, `write` to file drafts and proposals for review."""


def resource(base: str) -> str:
    """Return the only resource of the tokens."""
    return base + RESOURCE


NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
ANY_ORIGIN: Final = {"Access-Control-Allow-Origin": "*"}
"""These endpoints accept no cookie, so any page may call them (Fetch, section 3.2)."""
_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="oauth"'}


class OAuthRefused(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """An endpoint refuses; `code` is the error code."""

    def __init__(
        self, code: str, sentence: str, *, status: int = 400, headers: Mapping[str, str] | None = None
    ) -> None:
        """Make the refusal; `sentence` says what would be right."""
        super().__init__(sentence)
        self.code, self.status, self.headers = code, status, dict(headers or {})


def invalid_grant() -> OAuthRefused:
    """Return the only answer for every invalid code and refresh token (interface v1, Errors)."""
    return OAuthRefused("invalid_grant", "The code or refresh token does not count; ask the person again.")


def invalid_client() -> OAuthRefused:
    """Return the same answer for an unknown client and a wrong secret."""
    sentence = "The client is unknown or its secret is wrong; register again."
    return OAuthRefused("invalid_client", sentence, status=401, headers=_CHALLENGE)


async def answer_refused(request: Request, error: Exception) -> Response:
    """Handle the exception."""
    assert isinstance(error, OAuthRefused)
    body = {"error": error.code, "error_description": str(error), "correlationId": request.state.correlation_id}
    headers = {**NO_STORE, **ANY_ORIGIN, **error.headers}
    return Response(orjson.dumps(body), error.status, headers, media_type="application/json")


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
            raise OAuthRefused("invalid_request", f"The parameter {_plain_ascii(name)} holds a control character.")
        if name in _REPEATABLE:
            resources.append(value)
        elif name in values:
            raise OAuthRefused("invalid_request", f"The parameter {_plain_ascii(name)} is sent more than once.")
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


def _plain_ascii(name: str) -> str:
    """Return a name in plain ASCII, as RFC 6749 requires of a description."""
    return "".join(letter for letter in name[:40] if letter.isascii() and (letter.isalnum() or letter in "_-."))
