"""Pages that set a password: by the link of `pcds user reset`, or for a signed-in person who knows the old one.

Both end the person's sessions, so that the new password is typed once more at the sign-in.
`warehouse.accounts.passwords` defines the rules for a password. Asking for a link after forgetting a password does not
belong here.
"""

import secrets

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api.origin import acting, client_network
from api.pages import sessions
from api.pages.forms import Form, posted, posted_by_visitor
from api.pages.refusals import PageRefused
from api.pages.render import link, page
from api.pages.sessions import SignedIn
from api.pages.sign_in import attempted
from api.pages.turns import in_turn
from api.service import service_of
from warehouse.accounts import passwords, users
from warehouse.accounts.users import Linked
from warehouse.audit import ledger

router = APIRouter()


@router.get("/password")
async def get_password(request: Request, session: SignedIn) -> Response:
    """Show the form of a signed-in person."""
    return page(request, "password.html", session=session, csrf=session.csrf, email=session.email, fault=None)


@router.post("/password")
async def post_password(request: Request, session: SignedIn) -> Response:
    """Set the new password of a person who knows the old one."""
    form = await posted(request, session)
    fault = _fault_of(form)
    if fault is None:
        network = client_network(request)
        found = await attempted(request, session.email, form.get("old", ""), network)
        fault = None if found else "password.old_wrong"
    if fault:
        return page(
            request, "password.html", status=400, session=session, csrf=session.csrf, email=session.email, fault=fault
        )
    await in_turn(request, "password", _set, request, Linked(session.user_id, session.company_id, session.email), form)
    return _to_sign_in(request)


@router.get("/password/{token}")
async def get_link(request: Request) -> Response:
    """Show the form behind a link."""
    return _linked_form(request, await run_in_threadpool(_linked, request))


@router.post("/password/{token}")
async def post_link(request: Request) -> Response:
    """Set the new password, once."""
    form = await posted_by_visitor(request)
    person = await run_in_threadpool(_linked, request)
    if fault := _fault_of(form):
        return _linked_form(request, person, fault)
    await in_turn(request, "password", _set, request, person, form)
    return _to_sign_in(request)


def _linked(request: Request) -> Linked:
    """Return whose password the link sets. Raise `PageRefused` for one that is unknown, used or expired."""
    service = service_of(request)
    with service.writes.system() as connection:
        found = users.linked(connection, request.path_params["token"], service.clock.now())
    if found is None:
        raise PageRefused(404, "password.over")
    return found


def _linked_form(request: Request, person: Linked, fault: str | None = None) -> Response:
    visit = sessions.visit_of(request) or secrets.token_urlsafe(32)
    answer = page(
        request,
        "password.html",
        status=400 if fault else 200,
        csrf=sessions.csrf_of(visit),
        email=person.email,
        fault=fault,
    )
    sessions.remember_visit(request, answer, visit)
    return answer


def _fault_of(form: Form) -> str | None:
    """Return the text of the new password's fault."""
    if form.get("new", "") != form.get("again", ""):
        return "password.differ"
    fault = passwords.fault(form.get("new", ""))
    return f"password.{fault}" if fault else None


def _set(request: Request, person: Linked, form: Form) -> None:
    """Set the password, with an entry in the company's ledger. Raise `PageRefused` where the account has ended."""
    service, made = service_of(request), passwords.hashed(form["new"])
    with service.writes.company(person.company_id) as connection:
        if not users.set_password(connection, person.user_id, made):
            raise PageRefused(404, "password.over")
        ledger.enter(
            connection,
            person.company_id,
            "user.password_set",
            person.user_id,
            before={},
            after={},
            origin=acting(request, "user", str(person.user_id), person.email),
            now=service.clock.now(),
        )


def _to_sign_in(request: Request) -> Response:
    answer = RedirectResponse(link(request, "/sign-in"), 303, {"Cache-Control": "no-store"})
    sessions.forget(request, answer)
    return answer
