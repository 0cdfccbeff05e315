"""The one layer around every request: correlation id, log line, counts, common headers, compression, faults.

Every answer passes it: those of handlers and of the framework, the one for an uncaught exception, and the one for a
request that was running when the process had to end. The log line names company and route and the caller's network
(/24, of IPv6 /48), never a whole address, a header's value or a body.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final  # Any: ASGI's list of headers

import structlog
from starlette.datastructures import Headers
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipResponder, IdentityResponder
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uuid_utils import uuid4

from api.http import ALWAYS, metrics
from api.http.answers import accepted_language, in_language, takes_gzip
from api.http.errors import Fault, HttpRefusal, Stopping
from api.openapi.document import V1
from schemas.addresses import behind, coarse_network_of
from warehouse.accounts.keys import Rate
from warehouse.operate import logs, tracing
from warehouse.operate.surroundings import is_passing

if TYPE_CHECKING:
    from warehouse.operate.otlp import Traced


def of_rate(rate: Rate | None) -> list[tuple[bytes, bytes]]:
    """Return the headers that say what is left of a key's limit; none of a request that counts for no key.

    They are those of the IETF's draft-ietf-httpapi-ratelimit-headers-10, which has two structured fields.
    """
    if rate is None:
        return []
    policy = f'"key";q={rate.quota};w=60'
    left = f'"key";r={rate.remaining};t={rate.reset}'
    return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", left.encode())]


def of_sandbox(*, is_sandbox: bool) -> list[tuple[bytes, bytes]]:
    """Return the header that marks what a test key is answered; none for any other request."""
    return [(b"sandbox", b"true")] if is_sandbox else []


def with_common_headers(headers: Iterable[tuple[bytes, bytes]], *more: tuple[bytes, bytes]) -> list[Any]:
    """Return the headers of an answer, adding the common ones that it lacks and replacing its own by `more`."""
    replaced, kept_headers, names = dict(more), list[Any](), set[bytes]()
    for header in headers:
        name = header[0].lower()
        if name not in replaced:
            kept_headers.append(header)
            names.add(name)
    return [*kept_headers, *[header for header in ALWAYS if header[0] not in names], *more]


HEADER: Final = "X-Correlation-Id"
_ACCEPTED: Final = re.compile(r"[\x21-\x7e]{1,128}")
_LOGGER: Final = logging.getLogger("pcds.requests")
_STREAM: Final = "/api/mcp"
"""The path whose answer to GET does not end."""
_CLIENT_CLOSED: Final = 499
"""Status that is logged, never sent: the caller closed the connection before its body was complete."""


class Correlation:
    """ASGI middleware; adds `correlation_id` to the request's state and to every log line written during it."""

    def __init__(
        self,
        app: ASGIApp,
        handlers: Mapping[Any, Callable[..., Any]] = MappingProxyType({}),
        fault: Callable[[Request, HttpRefusal], Response] | None = None,
    ) -> None:
        """`app` answers requests, `handlers` its exceptions by their class, `fault` all others: without it in JSON."""
        self.app, self.handlers, self.fault = app, handlers, fault or _json
        self.kinds, self.is_traced = tuple(handlers), tracing.is_on()
        self.log: structlog.stdlib.BoundLogger = structlog.get_logger(_LOGGER.name).bind()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with an id; measure its time, log it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["method"] == "HEAD" and scope["path"] != _STREAM:
            scope = {**scope, "method": "GET"}  # answered as one; the server, which keeps its own, sends no body
        headers = Headers(scope=scope)
        value = headers.get(HEADER, "")
        identifier = value if _ACCEPTED.fullmatch(value) else str(uuid4())
        state = scope.setdefault("state", {})
        state["correlation_id"] = identifier
        status = 0
        begun = time.perf_counter()
        header = (b"x-correlation-id", identifier.encode("ascii"))
        out = send

        async def send_named(message: Message) -> None:
            nonlocal status, out
            if message["type"] == "http.response.start":
                status = message["status"]
                rate = of_rate(state.get("rate"))
                sandbox = of_sandbox(is_sandbox=state.get("is_sandbox", False))
                message["headers"] = with_common_headers(message.get("headers", ()), header, *rate, *sandbox)
                if _may_compress(scope, message):
                    out = _compressed(headers, send)
            await out(message)

        bound = structlog.contextvars.bind_contextvars(correlation_id=identifier)
        is_traced = self.is_traced and scope["path"] not in _PROBES
        with _traced(scope, headers) if is_traced else nullcontext() as span:
            try:
                await self._handle(scope, receive, send_named)
            except ClientDisconnect:
                status = _CLIENT_CLOSED
            except asyncio.CancelledError:  # the grace period of running requests at a stop is over
                if status:
                    raise
                await self._answer(scope, receive, send_named, Stopping())
            except Exception as error:
                passing = is_passing(error)
                self.log.exception("fault", method=scope["method"], route=_route(scope), passing=passing)
                if status:  # too late for another answer: let the server break the connection
                    raise
                await self._answer(scope, receive, send_named, Fault(passing=passing))
            finally:
                self._log_request(scope, headers, status, begun)
                structlog.contextvars.reset_contextvars(**bound)
                if span is not None:
                    _describe(span, scope, status)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; answer an exception that has a handler."""
        try:
            await self.app(scope, receive, send)
        except self.kinds as error:
            handler = next(self.handlers[kind] for kind in type(error).__mro__ if kind in self.handlers)
            answer = await handler(Request(scope, receive), error)
            await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, refused: HttpRefusal) -> None:
        """Send the answer to a fault or a stop; JSON where rendering the page fails."""
        request = Request(scope)
        try:
            answer = self.fault(request, refused)
        except Exception:  # the pages themselves may be broken
            self.log.exception("fault", method=scope["method"], route=_route(scope))
            answer = _json(request, refused)
        await answer(scope, receive, send)

    def _log_request(self, scope: Scope, headers: Headers, status: int, begun: float) -> None:
        state, route, seconds = scope["state"], _route(scope), time.perf_counter() - begun
        if "app" in scope:  # not where one API process passes a request on to another, which counts it already
            metrics.note(scope["method"], route, status, seconds)
        fields = {
            "method": scope["method"],
            "route": route,
            "status": status,
            "ms": round(seconds * 1000, 1),
            "company": str(state["company_id"]) if "company_id" in state else None,
            "client": str(state["client_id"]) if "client_id" in state else None,
            "network": _network(scope, headers),
        }
        logs.write_line(_LOGGER, logging.DEBUG if route in _PROBES else logging.INFO, "request", fields)


def _traced(scope: Scope, headers: Headers) -> AbstractContextManager["Traced | None"]:
    """Trace the request, as part of the caller's trace where it names one."""
    return tracing.span(scope["method"], kind="SERVER", parent=headers.get("traceparent"))


def _describe(span: "Traced", scope: Scope, status: int) -> None:
    state, route = scope["state"], _route(scope)
    attributes = {
        "http.request.method": scope["method"],
        "http.route": route,
        "http.response.status_code": status,
        "pcds.correlation_id": state["correlation_id"],
        "pcds.company_id": str(state["company_id"]) if "company_id" in state else None,
    }
    span.describe(f"{scope['method']} {route or ''}".strip(), attributes, failed=status >= 500)


def _json(request: Request, refused: HttpRefusal) -> Response:
    return in_language(refused.response(request.state.correlation_id), accepted_language(request))


_PROBES: Final = ("/healthz", "/readyz", "/metrics")
"""Paths that monitors request all the time; their answers are not logged."""


def _route(scope: Scope) -> str | None:
    """Return the path's template: it groups log lines, and contains nothing that a caller made up."""
    return getattr(scope.get("route"), "path", None)


def _network(scope: Scope, headers: Headers) -> str | None:
    """Return the network of the caller, seen through trusted proxies; None where no app of ours answered."""
    service = getattr(scope["app"].state, "service", None) if "app" in scope else None
    if service is None or scope.get("client") is None:
        return None
    forwarded = headers.get("x-forwarded-for", "")
    return coarse_network_of(behind(scope["client"][0], forwarded, service.settings.trusted_proxies) or "")


class LoggedRoute(Route):
    """A route whose template stands in the request's log line, as the framework's own do."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match as a route does, and name it."""
        match, of_route = super().matches(scope)
        return match, {**of_route, "route": self}


LEAST_BYTES: Final = 32 * 2**10
"""Below this size an answer takes less time to send than to compress."""
_LEVEL: Final = 1
_COMPRESSED_ALREADY: Final = (
    *DEFAULT_EXCLUDED_CONTENT_TYPES,
    "application/pdf",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
)


def _may_compress(scope: Scope, start: Message) -> bool:
    """Return whether an answer is one of a read of the REST API that is large, or whose size nobody knows yet."""
    if scope["method"] != "GET" or not scope["path"].startswith(f"{V1}/"):
        return False
    length = next((value for name, value in start["headers"] if name == b"content-length"), None)
    return length is None or int(length) >= LEAST_BYTES


def _compressed(headers: Headers, send: Send) -> Send:
    """Return what sends an answer on, compressed if its caller takes gzip and it proves large and uncompressed."""
    responder = (
        GZipResponder(_nobody, LEAST_BYTES, _LEVEL, exclude_content_types=_COMPRESSED_ALREADY)
        if takes_gzip(headers.getlist("accept-encoding"))
        else IdentityResponder(_nobody, LEAST_BYTES, exclude_content_types=_COMPRESSED_ALREADY)
    )
    responder.send = send
    return responder.send_with_compression


async def _nobody(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """Stand for the app where a responder of the library is given the messages of an answer itself."""
