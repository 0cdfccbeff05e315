"""Pages that set a password: by the link of `pcds user reset`, or for a signed-in person who knows the old one.

Both end the person's sessions, so that the new password is typed once more at the sign-in.
`warehouse.accounts.passwords` defines the rules for a password. Asking for a link after forgetting a password does not
belong here.
"""

from collections.abc import Callable
from functools import partial

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.origin import origin_of_actor
from api.pages import sessions
from api.pages.concurrency import run_limited
from api.pages.credentials import Credentials
from api.pages.forms import Form, read_form, read_visitor_form, visitor_page
from api.pages.refusals import PageRefused
from api.pages.render import language_of, link, page, redirect
from api.pages.sessions import Session, Viewer
from api.pages.sign_in import check_person
from api.pages.texts import text
from api.service import service_of
from warehouse.accounts import passwords, users
from warehouse.accounts.users import Linked as Person
from warehouse.audit import ledger

router = APIRouter()


@router.get("/password")
async def get_password(request: Request, session: Viewer) -> Response:
    """Show the form of a signed-in person."""
    return _form(request, session.email, session=session)


@router.post("/password")
async def post_password(request: Request, session: Viewer) -> Response:
    """Set the new password of a person who knows the old one."""
    form = await read_form(request, session)
    if fault := _fault_of(form):
        return _form(request, session.email, ("new", fault), session=session)
    if not await check_person(request, Credentials(session.email, form.get("old", ""))):
        return _form(request, session.email, ("old", "password.old_wrong"), session=session)
    person = Person(session.user_id, session.company_id, session.email)
    await run_limited(request, "password", _set_password, request, person, form["new"])
    return _to_sign_in(request)


@router.get("/password/{token}")
async def get_link(request: Request) -> Response:
    """Show the form behind a link."""
    person = await run_in_threadpool(_person_of_link, request)
    return _form(request, person.email)


@router.post("/password/{token}")
async def post_link(request: Request) -> Response:
    """Set the new password, once."""
    form = await read_visitor_form(request)
    person = await run_in_threadpool(_person_of_link, request)
    if fault := _fault_of(form):
        return _form(request, person.email, ("new", fault))
    await run_limited(request, "password", _set_password, request, person, form["new"], request.path_params["token"])
    return _to_sign_in(request)


def _form(request: Request, email: str, *faults: tuple[str, str], session: Session | None = None) -> Response:
    """Show the form, of the signed-in person or behind a link; `faults` are an input's name and a text's key."""
    render: Callable[..., Response] = visitor_page
    if session is not None:
        render = partial(page, session=session, csrf=session.csrf)
    lang, shortest = language_of(request), passwords.SHORTEST
    return render(
        request,
        "password.html",
        status=400 if faults else 200,
        email=email,
        shortest=shortest,
        faults=[(name, text(key, lang, shortest=shortest)) for name, key in faults],
    )


def _person_of_link(request: Request) -> Person:
    """Return whose password the link sets. Raise `PageRefused` for one that is unknown, used or expired."""
    service = service_of(request)
    with service.writes.system() as connection:
        found = users.person_of_link(connection, request.path_params["token"], service.clock.now())
    if found is None:
        raise PageRefused(404, "password.over")
    return found


def _fault_of(form: Form) -> str | None:
    """Return the text of the new password's fault."""
    if passwords.normalised(form.get("new", "")) != passwords.normalised(form.get("again", "")):
        return "password.differ"
    fault = passwords.fault(form.get("new", ""))
    return f"password.{fault}" if fault else None


def _set_password(request: Request, person: Person, password: str, token: str | None = None) -> None:
    """Set the password, with an entry in the company's ledger; a link's `token` is used up.

    Raise `PageRefused` where the account has ended, or the link is over.
    """
    service, password_hash = service_of(request), passwords.hash_password(password)
    with service.writes.company(person.company_id) as connection:
        if token is not None and not users.use_link(connection, token, service.clock.now()):
            raise PageRefused(404, "password.over")
        if not users.set_password(connection, person.user_id, password_hash):
            raise PageRefused(404, "password.over")
        ledger.enter(
            connection,
            person.company_id,
            "user.password_set",
            person.user_id,
            before={},
            after={},
            origin=origin_of_actor(request, "user", str(person.user_id), person.email),
            now=service.clock.now(),
        )


def _to_sign_in(request: Request) -> Response:
    answer = redirect(link(request, "/sign-in"))
    sessions.forget(request, answer)
    return answer
