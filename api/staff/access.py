"""Decides who may send which request to Dagster's web server, and forwards it.

Dagster's web server itself accepts mutations by GET, checks no Host, can be framed and has no sign-in. This module
therefore admits signed-in staff only, reading by GET, and GraphQL by POST of JSON from our own pages. What a member may
change, Dagster's own permissions decide, and what a query may ask for (`pipelines.engine.ui`).
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import ip_address
from typing import Final
from urllib.parse import quote, urlsplit

import anyio
import httpx2
import psycopg
import websockets
from fastapi import FastAPI
from psycopg_pool import PoolTimeout
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from websockets.asyncio.client import ClientConnection, connect

from api.http.errors import TooLarge
from api.http.middleware import LoggedRoute
from api.http.requests import limited_chunks
from api.http.service import service_of
from api.pages.forms import OWN_FETCH_SITES
from api.pages.render import language_of, page, text
from api.staff import sessions
from api.staff.sessions import Member, member_of
from warehouse.operate import dagster_home
from warehouse.operate.dagster_home import PREFIX
from warehouse.operate.settings import Settings


def is_to_us(connection: HTTPConnection) -> bool:
    """Return whether Host is the base address, or the address of the connection itself (on loopback, also by name)."""
    return connection.headers.get("host", "").lower() in _own_hosts(connection)


def is_from_our_page(connection: HTTPConnection) -> bool:
    """Return whether Origin and Sec-Fetch-Site, where sent, name a page of the requested host."""
    origin, host = connection.headers.get("origin"), connection.headers.get("host", "").lower()
    base = urlsplit(service_of(connection).settings.base_url)
    own_origin = f"{base.scheme if host == _without_default_port(base.netloc, base.scheme) else 'http'}://{host}"
    fetch_site = connection.headers.get("sec-fetch-site", "")
    return (origin is None or origin.lower() == own_origin) and fetch_site in OWN_FETCH_SITES


def _own_hosts(connection: HTTPConnection) -> set[str]:
    settings = service_of(connection).settings
    base = urlsplit(settings.base_url)
    hosts = {_without_default_port(base.netloc, base.scheme)}
    address, port = connection.scope.get("server") or ("", None)
    try:
        own_address = ip_address(address)
    except ValueError:  # a socket of the file system, or a test's own
        return hosts
    own_address = getattr(own_address, "ipv4_mapped", None) or own_address
    names = [
        f"[{own_address}]" if own_address.version == 6 else str(own_address),
        *(["localhost"] if own_address.is_loopback else []),
    ]
    return hosts | {_without_default_port(f"{name}:{port}", "http") for name in names}


def _without_default_port(netloc: str, scheme: str) -> str:
    """Return the form that a browser sends: without the default port of the scheme."""
    return netloc.lower().removesuffix(":443" if scheme == "https" else ":80")


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
    upstream = connection.app.state.dagster
    assert isinstance(upstream, Upstream)
    return upstream


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
        upstream_request = dagster.client.build_request(request.method, url, headers=sent, content=content)
        answer = await dagster.client.send(upstream_request, stream=True)
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


PROTOCOL: Final = "graphql-ws"
RECHECK_SECONDS: Final = 60.0
_LARGEST_QUESTION: Final = 2**18
_LARGEST_FRAME: Final = 16 * 2**20
"""Largest frames to Dagster, in characters, and from it, in bytes: the events of a run come in batches."""
_DISCONNECTED: Final = (websockets.ConnectionClosed, WebSocketDisconnect, RuntimeError, psycopg.Error, PoolTimeout)
"""One side has disconnected, or the session cannot be checked any more: the bridge ends."""
_REFUSED: Final = 1008  # RFC 6455, section 7.4.1
_GONE: Final = 1011


async def bridge_socket(socket: WebSocket) -> None:
    """Bridge a page of Dagster, or refuse: closing before accepting answers with 403."""
    is_allowed = service_of(socket).settings.dagster_ui and is_to_us(socket) and is_from_our_page(socket)
    if not (is_allowed and PROTOCOL in socket.scope["subprotocols"] and await member_of(socket) is not None):
        await socket.close(_REFUSED)
        return
    dagster = upstream_of(socket)
    try:
        async with connect(
            f"ws://{dagster.address}{GRAPHQL}",
            subprotocols=[websockets.Subprotocol(PROTOCOL)],
            proxy=None,
            additional_headers=dagster.key_header,
            max_size=_LARGEST_FRAME,
            compression=None,
            open_timeout=5,
            close_timeout=1,
        ) as upstream:
            await socket.accept(PROTOCOL)
            await _bridge(socket, upstream)
    except (OSError, TimeoutError, websockets.WebSocketException):
        pass  # Dagster does not answer; its pages reconnect by themselves
    if socket.application_state != WebSocketState.DISCONNECTED != socket.client_state:
        await socket.close(_GONE)


async def _bridge(socket: WebSocket, upstream: ClientConnection) -> None:
    async with anyio.create_task_group() as tasks:

        async def until(work: Callable[[WebSocket, ClientConnection], Awaitable[None]]) -> None:
            with suppress(*_DISCONNECTED):
                await work(socket, upstream)
            tasks.cancel_scope.cancel()

        for work in (_forward_to_dagster, _forward_to_page, _check_session):
            tasks.start_soon(until, work)


async def _forward_to_dagster(socket: WebSocket, upstream: ClientConnection) -> None:
    while frame := (await socket.receive()).get("text"):  # bytes and empty frames are not part of this protocol
        if len(frame) > _LARGEST_QUESTION:
            return
        await upstream.send(frame)


async def _forward_to_page(socket: WebSocket, upstream: ClientConnection) -> None:
    async for frame in upstream:
        await (socket.send_text(frame) if isinstance(frame, str) else socket.send_bytes(frame))


async def _check_session(socket: WebSocket, _: ClientConnection) -> None:
    while await member_of(socket) is not None:
        await anyio.sleep(RECHECK_SECONDS)
    await socket.close(_REFUSED)


MAX_BYTES: Final = 2**20
"""Largest request; the largest of Dagster's own pages has some 20 KiB."""
METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
"""The methods that are routed here; most of them are refused with a sentence."""
CLOSED_ENDPOINTS: Final = (
    "graphql",
    "report_asset_materialization",
    "report_asset_check",
    "report_asset_observation",
    "notebook",
    "dagit",
)
"""Dagster's endpoints that are not for reading pages: they act, or read a file that the address names."""


class AccessRefused(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """The request is refused: `key` is the text with the reason and the remedy."""

    def __init__(self, status: int, key: str) -> None:
        """Take the key of a text, which is shown in the requester's language."""
        super().__init__(key)
        self.status, self.key = status, key


def install(app: FastAPI) -> None:
    """Register everything under /dagster, which the OpenAPI document lacks."""
    for path in (PREFIX, f"{PREFIX}/{{path:path}}"):
        app.router.routes.append(LoggedRoute(path, handle, methods=METHODS, include_in_schema=False))
    app.router.routes.append(WebSocketRoute(GRAPHQL, bridge_socket))


async def handle(request: Request) -> Response:
    """Handle every request under /dagster: refuse it, or forward it and return Dagster's answer."""
    path = request.scope["path"]
    try:
        if not service_of(request).settings.dagster_ui:
            raise AccessRefused(404, "dagster.closed")
        if not is_to_us(request):
            raise AccessRefused(421, "dagster.host")
        member = await member_of(request)
        if member is None and (request.method != "GET" or path == GRAPHQL):
            raise AccessRefused(401, "dagster.sign_in")
        if member is None:
            query = request.scope["query_string"].decode("latin-1")
            return add_protection(sessions.to_sign_in(quote(path, safe="/") + (f"?{query}" if query else "")))
        content = None if request.method in ("GET", "HEAD") else await _read_graphql(request)
        if content is None:
            _check_page(path)
        return await forward(request, member, content)
    except UpstreamDown:
        return add_protection(_refusal(request, AccessRefused(503, "dagster.down")))
    except AccessRefused as refused:
        return add_protection(_refusal(request, refused))


def _check_page(path: str) -> None:
    """Refuse what is no page of Dagster or a part of one."""
    endpoint, *others = path.removeprefix(f"{PREFIX}/").split("/")
    if endpoint == "graphql":
        raise AccessRefused(405, "dagster.method")
    if endpoint in CLOSED_ENDPOINTS or ".." in (endpoint, *others) or "\\" in path:
        raise AccessRefused(404, "dagster.not_here")


async def _read_graphql(request: Request) -> bytes:
    """Return the body of a GraphQL request, the only kind that may act."""
    if request.method != "POST" or request.scope["path"] != GRAPHQL:
        raise AccessRefused(405, "dagster.method")
    if not is_from_our_page(request):
        raise AccessRefused(403, "dagster.origin")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise AccessRefused(415, "dagster.type")
    try:
        return b"".join([chunk async for chunk in limited_chunks(request, MAX_BYTES)])
    except TooLarge:
        raise AccessRefused(413, "dagster.too_large") from None


def _refusal(request: Request, refused: AccessRefused) -> Response:
    """Return a page for a person; for a page of Dagster a GraphQL error, which then shows the sentence."""
    sentence, identifier = text(refused.key, language_of(request)), request.state.correlation_id
    if "text/html" in request.headers.get("accept", ""):
        answer: Response = page(
            request, "staff_refused.html", status=refused.status, sentence=sentence, correlation_id=identifier
        )
    else:
        extensions = {"code": refused.key, "correlationId": identifier}
        answer = JSONResponse({"errors": [{"message": sentence, "extensions": extensions}]}, refused.status)
        answer.headers["Cache-Control"] = "no-store"
    if refused.status == 405:
        answer.headers["Allow"] = "POST" if request.scope["path"] == GRAPHQL else "GET, HEAD"
    return answer
