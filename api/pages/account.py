"""One's own account: where one is signed in, ending sessions, leaving. The password has a page of its own."""

from uuid import UUID

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.pages import sessions
from api.pages.forms import Form, read_form
from api.pages.render import language_of, link, page, redirect
from api.pages.request_values import origin_of
from api.pages.sessions import Session, Viewer
from api.pages.texts import text
from api.service import service_of
from schemas.refusals import NotThere
from services import people as managing
from services.people import Act, LastAdministrator
from warehouse.accounts import people

router = APIRouter(prefix="/account")


@router.get("")
async def get_account(request: Request, session: Viewer) -> Response:
    """Show the person's role and sessions."""
    return await run_in_threadpool(_page, request, session)


@router.post("/sessions")
async def post_sessions(request: Request, session: Viewer) -> Response:
    """End one session of the person, or all of them, this one too."""
    form = await read_form(request, session)
    await run_in_threadpool(_end, request, session, form)
    return redirect(link(request, "/account"))


@router.post("/leave")
async def post_leave(request: Request, session: Viewer) -> Response:
    """End the person's own account, with its sessions and connections."""
    form = await read_form(request, session)
    if form.get("sure") != "yes":
        return await run_in_threadpool(_page, request, session, ("sure", "account.sure.needed"))
    try:
        await run_in_threadpool(_leave, request, session)
    except LastAdministrator:
        return await run_in_threadpool(_page, request, session, ("sure", "people.last"))
    answer = redirect(link(request, "/sign-in"))
    sessions.forget(request, answer)
    return answer


def _end(request: Request, session: Session, form: Form) -> None:
    chosen: UUID | None = None
    if form.get("session") != "all":
        try:
            chosen = UUID(form.get("session", ""))
        except ValueError:
            raise NotThere from None
    with service_of(request).writes.company(session.company_id) as conn:
        if not managing.end_sessions(conn, _act(request, session), session.user_id, chosen):
            raise NotThere


def _leave(request: Request, session: Session) -> None:
    with service_of(request).writes.company(session.company_id) as conn:
        managing.disable(conn, _act(request, session), session.user_id)


def _act(request: Request, session: Session) -> Act:
    return Act(session.company_id, origin_of(request, session), service_of(request).clock.now())


def _page(request: Request, session: Session, fault: tuple[str, str] | None = None) -> Response:
    service = service_of(request)
    with service.writes.company(session.company_id) as conn:
        found = people.sessions(conn, session.user_id, service.clock.now())
        own = people.session_id(conn, sessions.token_of(request) or "")
    return page(
        request,
        "account.html",
        session=session,
        status=400 if fault else 200,
        sessions=found,
        own=own,
        faults=[(fault[0], text(fault[1], language_of(request)))] if fault else [],
    )
