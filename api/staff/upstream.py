"""Forwards requests to Dagster's web server, and its answers back, each reduced to what is needed.

Only listed headers are forwarded, never all except some. Answers are streamed and made safe: they cannot be framed, and
load pictures only from here. `api.staff.access` decides who may ask.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final
from urllib.parse import quote

import httpx2
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response, StreamingResponse

from api.staff.sessions import Member
from warehouse import dagster_home
from warehouse.settings import Settings

GRAPHQL: Final = f"{dagster_home.PREFIX}/graphql"
_REQUEST_HEADERS: Final = ("accept", "user-agent", "if-none-match", "if-modified-since", "range")
_ANSWER_HEADERS: Final = (
    "content-type",
    "content-length",
    "content-disposition",
    "content-range",
    "accept-ranges",
    "etag",
    "last-modified",
    "location",
    "vary",
    "cache-control",
    "content-security-policy",
)
_POLICY: Final = (
    "frame-ancestors 'none'; frame-src 'none'; connect-src 'self'; img-src 'self' data:; form-action 'self'"
)
"""What Dagster's own policy lacks: with it alone any page could frame it, and a picture or a script could reach any
host.
"""
_PROTECTION: Final = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_TIMEOUT: Final = httpx2.Timeout(connect=2, read=120, write=30, pool=10)
"""Timeouts in seconds. A query of Dagster's pages ends by itself after 15 seconds in the database."""
_CONNECTION_LIMITS: Final = httpx2.Limits(max_connections=50, max_keepalive_connections=10)


class UpstreamDown(Exception):  # noqa: N818  (an answer to a person, not a fault of this program)
    """Dagster's web server does not answer."""


class Upstream:
    """The connection to Dagster's web server, opened once for the process."""

    def __init__(self, settings: Settings, client: httpx2.AsyncClient) -> None:
        self.client = client
        self.key_header = {dagster_home.DOOR_HEADER: dagster_home.door_key(settings)}
        self.address = f"{dagster_home.HOST}:{settings.dagster_port}"


@asynccontextmanager
async def open_upstream(settings: Settings) -> AsyncIterator[Upstream]:
    """Open the connection for the time of the block."""
    async with make_client(httpx2.AsyncHTTPTransport(verify=False, limits=_CONNECTION_LIMITS)) as client:
        yield Upstream(settings, client)


def make_client(transport: httpx2.AsyncBaseTransport) -> httpx2.AsyncClient:
    """Return a client that keeps no cookies: one connection serves everybody."""
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    return httpx2.AsyncClient(transport=transport, timeout=_TIMEOUT, cookies=no_cookies)


def upstream_of(connection: HTTPConnection) -> Upstream:
    """Return the connection of the app that got the request."""
    found = connection.app.state.dagster
    assert isinstance(found, Upstream)
    return found


async def forward(request: Request, member: Member, content: bytes | None) -> Response:
    """Return Dagster's answer, streamed; `content` is the body where there is one. Raise `UpstreamDown`."""
    dagster = upstream_of(request)
    sent = {name: request.headers[name] for name in _REQUEST_HEADERS if name in request.headers}
    sent |= {"accept-encoding": "identity", "host": request.headers.get("host", ""), **dagster.key_header}
    sent |= {"x-correlation-id": request.state.correlation_id, dagster_home.STAFF_HEADER: str(member.id)}
    if member.role == "operator":
        sent[dagster_home.ACTOR_HEADER] = quote(member.email)
    if content is not None:
        sent["content-type"] = "application/json"
    # The path as it was checked, encoded again: an escape within an escape stays one.
    path = quote(request.scope["path"], safe="/:@!$&()*+,;=~")
    url = httpx2.URL(f"http://{dagster.address}{path}").copy_with(query=request.scope["query_string"])
    try:
        asked = dagster.client.build_request(request.method, url, headers=sent, content=content)
        answer = await dagster.client.send(asked, stream=True)
    except httpx2.TransportError:
        raise UpstreamDown from None
    headers = {name: answer.headers[name] for name in _ANSWER_HEADERS if name in answer.headers}
    return add_protection(StreamingResponse(_stream(answer), answer.status_code, headers))


async def _stream(answer: httpx2.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            yield chunk
    finally:
        await answer.aclose()


def add_protection(answer: Response) -> Response:
    """Return the answer with the headers that protect its reader; one of our own pages already has a policy."""
    answer.headers.update(_PROTECTION)
    policy = answer.headers.get("content-security-policy", "").rstrip("; ")
    if "frame-ancestors" not in policy:
        answer.headers["Content-Security-Policy"] = f"{policy}; {_POLICY}" if policy else _POLICY
    return answer
