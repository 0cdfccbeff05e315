"""One identifier and one log line a request: X-Correlation-Id in and out, and the answer to a fault of ours.

The outermost layer, so that every answer passes it: handlers', the framework's own, and the one for an exception
that nobody caught. The log line names company and route, never a header's value or a body.
"""

import re
import time
from collections.abc import Callable
from typing import Final
from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import Fault
from api.languages import spoken

HEADER: Final = "X-Correlation-Id"
_ACCEPTED: Final = re.compile(r"[\x21-\x7e]{1,128}")
_CLIENT_CLOSED: Final = 499
"""Logged, never sent: the caller went away before its body was complete."""


class Correlation:
    """ASGI middleware; puts `correlation_id` on the request's state and into every log line written under it."""

    def __init__(self, app: ASGIApp, fault: Callable[[Request], Response] | None = None) -> None:
        """`app` is what answers, `fault` the answer to an exception that nobody caught; without it that is JSON."""
        self.app, self.fault = app, fault or _fault
        self.log: structlog.stdlib.BoundLogger = structlog.get_logger("pcds.requests").bind()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, name it, time it, log it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        identifier = given if _ACCEPTED.fullmatch(given) else str(uuid4())
        state = scope.setdefault("state", {})
        state["correlation_id"] = identifier
        status = 0
        begun = time.perf_counter()

        async def named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = identifier
            await send(message)

        with structlog.contextvars.bound_contextvars(correlation_id=identifier):
            try:
                await self.app(scope, receive, named)
            except ClientDisconnect:
                status = _CLIENT_CLOSED
            except Exception:
                self.log.exception("fault", method=scope["method"], route=_route(scope))
                if status:  # too late for another answer: let the server break the connection
                    raise
                await self.fault(Request(scope))(scope, receive, named)
            finally:
                self._log_request(scope, status, begun)

    def _log_request(self, scope: Scope, status: int, begun: float) -> None:
        state, route = scope["state"], _route(scope)
        log = self.log.debug if route in _PROBES else self.log.info
        log(
            "request",
            method=scope["method"],
            route=route,
            status=status,
            ms=round((time.perf_counter() - begun) * 1000, 1),
            company=str(state["company_id"]) if "company_id" in state else None,
            client=str(state["client_id"]) if "client_id" in state else None,
        )


def _fault(request: Request) -> Response:
    return spoken(request, Fault().response(request.state.correlation_id))


_PROBES: Final = ("/healthz", "/readyz")
"""Asked every second by whoever watches the service; what they hear is no news."""


def _route(scope: Scope) -> str | None:
    """The path's template: it groups, and holds nothing that a caller has made up."""
    return getattr(scope.get("route"), "path", None)
