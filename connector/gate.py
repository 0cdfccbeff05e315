"""Admits or refuses every request to /api/mcp as the resource server, and passes admitted ones to the protocol.

One statement a request reads the current token, connection, person and application, counts the request and stores the
connection's last use; so revoking takes effect on the next request. A tool call counts once, together with the answer
to its question: answers have a limit of their own, and count as answers only where this connection was asked; an answer
has the sealed state of a question (`requestState`) or a confirmation code. `connector.tools.assistants` checks what it
confirms, and whether it is still valid, when it files. The protocol library then gets the caller's identity
(`connector.principal`).
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

import orjson
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.request_state import InvalidRequestState
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connector import service as service_connector
from connector.oauth.endpoints import RESOURCE_METADATA, SCOPES, resource
from connector.principal import Principal
from connector.server import MAX_BODY_BYTES, security
from connector.service import Service
from connector.tools import kit
from schemas.json_values import JsonMapping
from warehouse import assistants
from warehouse.accounts.keys import digest
from warehouse.assistants import Admitted

_PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "GET, POST, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Accept, Last-Event-ID, MCP-Protocol-Version, "
    "Mcp-Session-Id, Mcp-Method, Mcp-Name",
    "Access-Control-Max-Age": "7200",
}
_EXPOSED: Final = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After, X-Correlation-Id"
_RATE_LIMITED: Final = -32000  # one of the codes that JSON-RPC leaves to servers
_UNREADABLE: Final = -32700  # JSON-RPC 2.0, section 5.1
_NO_REQUEST: Final = -32600


class Refusal(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """The request is refused; `code` is the error of the answer's body."""

    def __init__(self, status: int, code: str, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        """Make the refusal; `sentence` says what would be right."""
        super().__init__(sentence)
        self.status, self.code, self.headers = status, code, dict(headers or {})

    def body(self, correlation_id: str) -> dict[str, object]:
        """Return the error body of the contract."""
        return {"error": self.code, "correlationId": correlation_id, "message": str(self)}

    def response(self, correlation_id: str) -> Response:
        """Return the response with the error body."""
        body = orjson.dumps(self.body(correlation_id))
        return Response(body, self.status, self.headers, media_type="application/json")


class OverCeiling(Refusal):
    """The connection has called as often as its plan allows; the body is JSON-RPC, which clients understand."""

    def __init__(self, admitted: Admitted, request_id: object) -> None:
        """Make the refusal; `request_id` is the call's."""
        sentence = f"This connection may make {admitted.ceiling} calls a minute; wait {admitted.retry_after} s."
        super().__init__(429, "rate_limited", sentence, {"Retry-After": str(admitted.retry_after)})
        self._limit, self._wait, self._id = admitted.ceiling, admitted.retry_after, request_id

    def body(self, correlation_id: str) -> dict[str, object]:
        """Return a JSON-RPC error with the ceiling that was reached (interface v1, Errors, rule 2)."""
        data = {"error": self.code, "limit": self._limit, "retryAfter": self._wait, "correlationId": correlation_id}
        error = {"code": _RATE_LIMITED, "message": str(self), "data": data}
        return {"jsonrpc": "2.0", "id": self._id, "error": error}


class Unreadable(Refusal):
    """The body of a message is no JSON object. The gate never passes on a message that it cannot read."""

    def __init__(self, code: int) -> None:
        """Make the refusal; `code` says whether it is no JSON, or no message, such as a batch (JSON-RPC 2.0, 5.1)."""
        super().__init__(400, "invalid_request", "Send one message: a JSON object (RFC 8259) in UTF-8.")
        self._code = code

    def body(self, correlation_id: str) -> dict[str, object]:
        """Return a JSON-RPC error without an id, since the id could not be read."""
        error = {"code": self._code, "message": str(self), "data": {"correlationId": correlation_id}}
        return {"jsonrpc": "2.0", "id": None, "error": error}


class Answers:
    """Unseals this data directory's questions, and looks up codes."""

    def __init__(self, service: Service) -> None:
        self._service, self._codec = service, security(service.settings).codec

    async def one(self, admitted: Admitted, params: Mapping[str, object]) -> bool:
        """Return whether the parameters of a call contain an answer to a question that we asked."""
        match params:
            case {"requestState": str(state)}:
                try:
                    self._codec.unseal(state)
                except InvalidRequestState:
                    return False
                return True
            case {"arguments": {"confirmation": str(code)}}:
                parameters = {
                    "code": digest(code),
                    "connection": admitted.connection_id,
                    "at": self._service.clock.now(),
                }
                return await kit.row(self._service, admitted.company_id, assistants.GIVEN, parameters) is not None
        return False


class Gate:
    """ASGI application around the protocol's application."""

    def __init__(self, service: Service, app: ASGIApp) -> None:
        """Wrap `app`, which answers admitted requests."""
        self._service, self._app, self._answers = service, AuthContextMiddleware(app), Answers(service)
        self._hosts, self._origins = (
            service_connector.hosts(service.settings),
            service_connector.origins(service.settings),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Admit one request, or answer with the refusal."""
        request = Request(scope, receive)
        try:
            self._check_place(request)
            send = _shared_with(request.headers.get("origin"), send)
            if request.method == "OPTIONS":
                await Response(status_code=204, headers=_PREFLIGHT)(scope, receive, send)
                return
            token = self._token(request)
            body = await body_of(request)
            admitted = await self._admitted(token, _message(body))
        except Refusal as refusal:
            await refusal.response(scope["state"]["correlation_id"])(scope, receive, send)
            return
        scope["state"] |= {"company_id": admitted.company_id, "client_id": admitted.connection_id}
        scope["user"] = self._user(admitted, scope["state"]["correlation_id"])
        await self._app(scope, replay_body(body, receive), send)

    def _check_place(self, request: Request) -> None:
        if request.headers.get("host") not in self._hosts:
            raise Refusal(421, "invalid_request", f"The connector is at {self._service.settings.base_url}.")
        if request.headers.get("origin", self._origins[0]) not in self._origins:
            raise Refusal(403, "invalid_request", "Pages of this origin may not use the connector from a browser.")

    def _token(self, request: Request) -> str:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise self._unauthenticated("Connect first: this address needs a bearer token in its header.")
        return token.strip()

    async def _admitted(self, token: str, message: JsonMapping) -> Admitted:
        counted_as = _counted_as(message)
        admitted = await self._admit(token, counted_as, message.get("id"))
        if counted_as == "answer" and not await self._answers.one(admitted, message["params"]):
            admitted = await self._admit(token, "call", message.get("id"))
        needed = "write" if _drafts(message) else "read"
        if needed not in admitted.scopes:
            raise Refusal(
                403,
                "insufficient_scope",
                f"This needs the scope {needed}, which the connection lacks.",
                {"WWW-Authenticate": self._challenge("insufficient_scope")},
            )
        return admitted

    async def _admit(self, token: str, counted_as: str | None, request_id: object) -> Admitted:
        place, now = resource(self._service.settings.base_url), self._service.clock.now()
        admitted = await self._service.reads.run(
            partial(assistants.admit, token=token, resource=place, counted_as=counted_as, at=now)
        )
        if admitted is None:
            raise self._unauthenticated("The token is unknown, expired or revoked; connect again.", "invalid_token")
        if admitted.retry_after:
            raise OverCeiling(admitted, request_id)
        return admitted

    def _unauthenticated(self, sentence: str, error: str | None = None) -> Refusal:
        return Refusal(401, "invalid_token", sentence, {"WWW-Authenticate": self._challenge(error)})

    def _challenge(self, error: str | None) -> str:
        """Return the challenge with the metadata address (RFC 9728, 5.1); no error without a token (RFC 6750, 3.1)."""
        reason = f'error="{error}", ' if error else ""
        metadata = f'resource_metadata="{self._service.settings.base_url}{RESOURCE_METADATA}"'
        return f'Bearer {reason}{metadata}, scope="{" ".join(SCOPES)}"'

    def _user(self, admitted: Admitted, correlation_id: str) -> AuthenticatedUser:
        """Return the user to whom the protocol binds sessions and questions: this person with this application."""
        principal = Principal(
            admitted.company_id,
            admitted.connection_id,
            admitted.user_id,
            admitted.email,
            admitted.client_name,
            correlation_id,
            admitted.role,
        )
        base = self._service.settings.base_url
        return AuthenticatedUser(
            AccessToken(
                token="",  # code behind the gate does not use it
                client_id=admitted.client_id,
                scopes=admitted.scopes,
                expires_at=int(admitted.expires_at.timestamp()),
                resource=resource(base),
                subject=str(admitted.user_id),
                claims={"iss": base, **principal.claims()},
            )
        )


class _AtGate:
    """Calls the gate of the app, which exists once the app has started.

    It is an object and no function, because a route then passes every method and does not change the path.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["app"].state.gate(scope, receive, send)


at_gate: Final = _AtGate()


async def body_of(request: Request) -> bytes:
    """Read a request's body. Raises `Refusal` at the first byte beyond the limit."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise Refusal(413, "payload_too_large", f"At most {MAX_BODY_BYTES} bytes are taken here.")
    return bytes(body)


def _message(body: bytes) -> Mapping[str, object]:
    """Return the message of a body, empty where there is none. Raises `Unreadable`.

    The protocol's parsers accept bodies that this one refuses: a text without its last character, invalid numbers,
    other encodings. A call in such a body would otherwise not be counted.
    """
    if not body:
        return {}
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Unreadable(_UNREADABLE) from None
    if not isinstance(message, dict):
        raise Unreadable(_NO_REQUEST)
    return message


def _counted_as(message: Mapping[str, object]) -> str | None:
    """Return `call`, `answer` for a call that claims to answer a question, or None for no count (decisions §7)."""
    if message.get("method") == "resources/read":
        return "call"
    if message.get("method") != "tools/call":
        return None
    match message.get("params"):
        case {"requestState": str()} | {"arguments": {"confirmation": str()}} if _drafts(message):
            return "answer"
    return "call"


def _drafts(message: Mapping[str, object]) -> bool:
    match message:
        case {"method": "tools/call", "params": {"name": str(name)}}:
            return name in kit.DRAFTING
    return False


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that gives the body that was read, and then further messages: the disconnect."""
    unread = True

    async def read() -> Message:
        nonlocal unread
        if unread:
            unread = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return read


def _shared_with(origin: str | None, send: Send) -> Send:
    """Return a send function whose answers a page of the origin may read (Fetch, section 3.2)."""
    if origin is None:
        return send

    async def shared(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = _EXPOSED
            headers.add_vary_header("Origin")
        await send(message)

    return shared
