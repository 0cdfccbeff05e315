"""Access to Dagster's web server: decides who may send which request. `api.staff.upstream` forwards it.

Dagster's web server itself accepts mutations by GET, checks no Host, can be framed and has no sign-in. This module
therefore admits signed-in staff only, reading by GET, and GraphQL by POST of JSON from our own pages. What a member may
change, Dagster's own permissions decide, and what a query may ask for (`pipelines.engine.ui`).
"""

from typing import Final
from urllib.parse import quote

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import WebSocketRoute

from api.bodies import limited_chunks
from api.correlation import LoggedRoute
from api.errors import TooLarge
from api.pages.render import language_of, page
from api.pages.texts import text
from api.service import service_of
from api.staff import live, sign_in, upstream
from api.staff.addressed import is_from_our_page, is_to_us
from api.staff.sessions import member_of
from api.staff.upstream import GRAPHQL
from warehouse.dagster_home import PREFIX

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
        """The text is shown in the requester's language."""
        super().__init__(key)
        self.status, self.key = status, key


def install(app: FastAPI) -> None:
    """Register the staff's routes: their sign-in, and everything under /dagster. The OpenAPI document lacks them."""
    app.include_router(sign_in.router)
    for path in (PREFIX, f"{PREFIX}/{{path:path}}"):
        app.router.routes.append(LoggedRoute(path, handle, methods=METHODS, include_in_schema=False))
    app.router.routes.append(WebSocketRoute(GRAPHQL, live.bridge_socket))


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
            return upstream.add_protection(sign_in.to_sign_in(quote(path, safe="/") + (f"?{query}" if query else "")))
        content = None if request.method in ("GET", "HEAD") else await _read_graphql(request)
        if content is None:
            _check_page(path)
        return await upstream.forward(request, member, content)
    except upstream.UpstreamDown:
        return upstream.add_protection(_refusal(request, AccessRefused(503, "dagster.down")))
    except AccessRefused as refused:
        return upstream.add_protection(_refusal(request, refused))


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
