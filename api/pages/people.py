"""People page for administrators: who may sign in and as what; inviting, roles, links, disabling and letting back."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.pages.forms import Form, read_form
from api.pages.render import language_of, link, page, redirect
from api.pages.request_values import origin_of, path_id
from api.pages.sessions import Administrator, Session
from api.pages.texts import text
from api.service import service_of
from schemas.refusals import NotThere
from schemas.roles import ROLES, Role
from services import people as managing
from services.people import Act, AddressTaken, LastAdministrator
from warehouse.accounts import people, users

router = APIRouter(prefix="/people")


class _NewLink(NamedTuple):
    """A link that is shown once, and for whom it is."""

    email: str
    url: str


@router.get("")
async def get_people(request: Request, session: Administrator) -> Response:
    """List the people of the company."""
    return await run_in_threadpool(_page, request, session)


@router.post("")
async def post_person(request: Request, session: Administrator) -> Response:
    """Invite a person; the link is shown once, on the page that answers."""
    form = await read_form(request, session)
    return await run_in_threadpool(_invite, request, session, form)


@router.post("/{id}")
async def post_change(request: Request, session: Administrator) -> Response:
    """Give another role, make a link, disable, or let back: what the pressed button says."""
    form = await read_form(request, session)
    return await run_in_threadpool(_change, request, session, form)


def _invite(request: Request, session: Session, form: Form) -> Response:
    email, role = users.known_as(form.get("email", "")), _role(form)
    if not users.is_address(email):
        return _page(request, session, form=form, fault=("email", "people.no_address"))
    if role is None:
        return _page(request, session, form=form, fault=("role", "people.no_role"))
    try:
        with service_of(request).writes.company(session.company_id) as conn:
            _, token = managing.invite(conn, _act(request, session), email, role)
    except AddressTaken:
        return _page(request, session, form=form, fault=("email", "people.taken"))
    return _page(request, session, new_link=_NewLink(email, _url(request, token)))


def _role(form: Form) -> Role | None:
    sent = form.get("role", "")
    return next((role for role in ROLES if role == sent), None)


def _change(request: Request, session: Session, form: Form) -> Response:
    user_id, act = path_id(request), _act(request, session)
    token: str | None = None
    try:
        with service_of(request).writes.company(session.company_id) as conn:
            match form.get("step"), _role(form):
                case "role", str() as role:
                    managing.change_role(conn, act, user_id, role)
                case "link", _:
                    token = managing.new_link(conn, act, user_id)
                case "disable", _:
                    managing.disable(conn, act, user_id)
                case "second_factor_off", _:
                    managing.second_factor_off(conn, act, user_id)
                case "return", _:
                    managing.let_back(conn, act, user_id)
                case _:
                    raise NotThere
    except LastAdministrator:
        return _page(request, session, fault=("", "people.last"))
    except AddressTaken:
        return _page(request, session, fault=("", "people.taken"))
    if token is not None:
        return _page(request, session, new_link=_NewLink(_email_of(request, session, user_id), _url(request, token)))
    return redirect(link(request, "/people"))


def _email_of(request: Request, session: Session, user_id: UUID) -> str:
    service = service_of(request)
    with service.writes.company(session.company_id) as conn:
        person = people.one(conn, user_id, service.clock.now())
    return person.email if person else ""


def _act(request: Request, session: Session) -> Act:
    return Act(session.company_id, origin_of(request, session), service_of(request).clock.now())


def _url(request: Request, token: str) -> str:
    return f"{service_of(request).settings.base_url}/password/{token}"


def _page(
    request: Request,
    session: Session,
    *,
    form: Form | None = None,
    fault: tuple[str, str] | None = None,
    new_link: _NewLink | None = None,
) -> Response:
    service, lang = service_of(request), language_of(request)
    with service.writes.company(session.company_id) as conn:
        found = people.every(conn, service.clock.now())
    faults: Sequence[tuple[str, str]] = [(fault[0], text(fault[1], lang))] if fault else []
    return page(
        request,
        "people.html",
        session=session,
        status=400 if fault else 200,
        people=found,
        roles=[(role, text(f"role.{role}", lang)) for role in ROLES],
        new_link=new_link,
        given=form or Form([]),
        faults=faults,
    )
