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

from api.bodies import limited
from api.errors import TooLarge
from api.pages.render import language_of, page
from api.pages.texts import text
from api.service import service_of
from api.staff import questions, upstream
from api.staff.addressed import is_by_us, is_to_us
from api.staff.questions import MAX_BYTES, Question, Unnamed, Unreadable
from api.staff.sessions import Member, member_of
from api.staff.sign_in import to_sign_in
from warehouse.dagster_home import PREFIX

GRAPHQL: Final = f"{PREFIX}/graphql"
METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
"""The methods that are routed here; most of them are refused with a sentence."""
CLOSED: Final = (
    "graphql",
    "report_asset_materialization",
    "report_asset_check",
    "report_asset_observation",
    "notebook",
    "dagit",
)
"""Dagster's endpoints that are not for reading pages: they act, or read a file that the address names."""

log = structlog.get_logger(__name__)


class Shut(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """The request is refused: `key` is the text with the reason and the remedy."""

    def __init__(self, status: int, key: str) -> None:
        """The text is shown in the requester's language."""
        super().__init__(key)
        self.status, self.key = status, key


async def at_door(request: Request) -> Response:
    """Handle every request under /dagster: refuse it, or forward it and return Dagster's answer."""
    try:
        if not service_of(request).settings.dagster_ui:
            raise Shut(404, "dagster.closed")
        if not is_to_us(request):
            raise Shut(421, "dagster.host")
        member = await member_of(request)
        if member is None:
            return upstream.protected(_first_sign_in(request))
        reads = request.method in ("GET", "HEAD")
        return await (_read(request) if reads else _asked(request, member))
    except Shut as shut:
        return upstream.protected(_refusal(request, shut))


def _first_sign_in(request: Request) -> Response:
    if request.method != "GET" or request.scope["path"] == GRAPHQL:
        raise Shut(401, "dagster.sign_in")
    query = request.scope["query_string"].decode("latin-1")
    return to_sign_in(quote(request.scope["path"], safe="/") + (f"?{query}" if query else ""))


async def _read(request: Request) -> Response:
    """Return a page of Dagster or a part of one."""
    path = request.scope["path"]
    first, *others = path.removeprefix(f"{PREFIX}/").split("/")
    if first == "graphql":
        raise Shut(405, "dagster.method")
    if first in CLOSED or ".." in (first, *others) or "\\" in path:
        raise Shut(404, "dagster.not_here")
    return await _passed(request, None)


async def _asked(request: Request, member: Member) -> Response:
    """Handle a GraphQL request, the only kind that may act."""
    if request.method != "POST" or request.scope["path"] != GRAPHQL:
        raise Shut(405, "dagster.method")
    if not is_by_us(request):
        raise Shut(403, "dagster.origin")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Shut(415, "dagster.type")
    try:
        data = b"".join([chunk async for chunk in limited(request, MAX_BYTES)])
        question = await to_thread.run_sync(questions.of_bytes, data)
    except TooLarge:
        raise Shut(413, "dagster.too_large") from None
    except Unreadable:
        raise Shut(400, "dagster.unreadable") from None
    return await _passed(request, _allowed(question, member))


def _allowed(question: Question, member: Member) -> Question:
    """Return the part of a question that is forwarded. Raise `Shut` for a mutation by a member without the right."""
    if "mutation" not in question.kinds:
        return question
    may = member.role == "operator"
    log.info("dagster.mutation", staff_id=str(member.id), acts=list(question.acts)[:20], allowed=may)
    if not may:
        raise Shut(403, "dagster.analyst")
    try:
        return question.named(member.email)
    except Unnamed:
        raise Shut(400, "dagster.variables") from None


async def _passed(request: Request, question: Question | None) -> Response:
    try:
        return await upstream.answered(request, question)
    except upstream.Down:
        raise Shut(503, "dagster.down") from None


def _refusal(request: Request, shut: Shut) -> Response:
    """Return a page for a person; for a page of Dagster a GraphQL error, which then shows the sentence."""
    sentence, identifier = text(shut.key, language_of(request)), request.state.correlation_id
    if "text/html" in request.headers.get("accept", ""):
        answer: Response = page(
            request, "staff_refused.html", status=shut.status, sentence=sentence, correlation_id=identifier
        )
    else:
        extensions = {"code": shut.key, "correlationId": identifier}
        answer = JSONResponse({"errors": [{"message": sentence, "extensions": extensions}]}, shut.status)
        answer.headers["Cache-Control"] = "no-store"
    if shut.status == 405:
        answer.headers["Allow"] = "POST" if request.scope["path"] == GRAPHQL else "GET, HEAD"
    return answer
