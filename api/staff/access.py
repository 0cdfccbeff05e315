"""Access control of Dagster's web server: decides who may send which request. `api.staff.upstream` forwards it.

Dagster's web server itself accepts mutations by GET, checks no Host, can be framed and has no sign-in. This module
therefore admits signed-in staff only, reading by GET, GraphQL by POST of JSON from our own pages, and mutations by
operators only.
"""

from typing import Final
from urllib.parse import quote

import structlog
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from api.bodies import limited_chunks
from api.errors import TooLarge
from api.pages.render import language_of, page
from api.pages.texts import text
from api.service import service_of
from api.staff import graphql_requests, upstream
from api.staff.addressed import is_from_our_page, is_to_us
from api.staff.graphql_requests import MAX_BYTES, GraphqlRequest, Unreadable, Untaggable
from api.staff.sessions import Member, member_of
from api.staff.sign_in import to_sign_in
from warehouse.dagster_home import PREFIX

GRAPHQL: Final = f"{PREFIX}/graphql"
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

log = structlog.get_logger(__name__)


class AccessRefused(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """The request is refused: `key` is the text with the reason and the remedy."""

    def __init__(self, status: int, key: str) -> None:
        """The text is shown in the requester's language."""
        super().__init__(key)
        self.status, self.key = status, key


async def handle(request: Request) -> Response:
    """Handle every request under /dagster: refuse it, or forward it and return Dagster's answer."""
    try:
        if not service_of(request).settings.dagster_ui:
            raise AccessRefused(404, "dagster.closed")
        if not is_to_us(request):
            raise AccessRefused(421, "dagster.host")
        member = await member_of(request)
        if member is None:
            return upstream.add_protection(_sign_in_first(request))
        reads = request.method in ("GET", "HEAD")
        return await (_forward_read(request) if reads else _handle_graphql(request, member))
    except AccessRefused as refused:
        return upstream.add_protection(_refusal(request, refused))


def _sign_in_first(request: Request) -> Response:
    if request.method != "GET" or request.scope["path"] == GRAPHQL:
        raise AccessRefused(401, "dagster.sign_in")
    query = request.scope["query_string"].decode("latin-1")
    return to_sign_in(quote(request.scope["path"], safe="/") + (f"?{query}" if query else ""))


async def _forward_read(request: Request) -> Response:
    """Return a page of Dagster or a part of one."""
    path = request.scope["path"]
    endpoint, *others = path.removeprefix(f"{PREFIX}/").split("/")
    if endpoint == "graphql":
        raise AccessRefused(405, "dagster.method")
    if endpoint in CLOSED_ENDPOINTS or ".." in (endpoint, *others) or "\\" in path:
        raise AccessRefused(404, "dagster.not_here")
    return await _forward(request, None)


async def _handle_graphql(request: Request, member: Member) -> Response:
    """Handle a GraphQL request, the only kind that may act."""
    if request.method != "POST" or request.scope["path"] != GRAPHQL:
        raise AccessRefused(405, "dagster.method")
    if not is_from_our_page(request):
        raise AccessRefused(403, "dagster.origin")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise AccessRefused(415, "dagster.type")
    try:
        data = b"".join([chunk async for chunk in limited_chunks(request, MAX_BYTES)])
        graphql_request = await to_thread.run_sync(graphql_requests.parse_bytes, data)
    except TooLarge:
        raise AccessRefused(413, "dagster.too_large") from None
    except Unreadable as unreadable:
        raise AccessRefused(400, unreadable.key) from None
    return await _forward(request, _check_rights(graphql_request, member))


def _check_rights(graphql_request: GraphqlRequest, member: Member) -> GraphqlRequest:
    """Return the request to forward. Raise `AccessRefused` for a mutation by a member without the right."""
    if "mutation" not in graphql_request.kinds:
        return graphql_request
    is_allowed = member.role == "operator"
    log.info("dagster.mutation", staff_id=str(member.id), acts=list(graphql_request.mutations)[:20], allowed=is_allowed)
    if not is_allowed:
        raise AccessRefused(403, "dagster.analyst")
    try:
        return graphql_request.tagged_with(member.email)
    except Untaggable:
        raise AccessRefused(400, "dagster.variables") from None


async def _forward(request: Request, graphql_request: GraphqlRequest | None) -> Response:
    try:
        return await upstream.forward(request, graphql_request)
    except upstream.UpstreamDown:
        raise AccessRefused(503, "dagster.down") from None


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
