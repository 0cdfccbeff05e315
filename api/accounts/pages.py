"""Pages of accounts: one's own with its password, and for administrators the company's people and API keys.

`pcds key` makes the keys that reach the company's data; a page makes test keys, which reach its sandbox alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from uuid import UUID, uuid4

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.accounts.sign_in import Credentials, actor_of, check_person
from api.http.service import Service, service_of
from api.pages import sessions
from api.pages.concurrency import run_limited
from api.pages.forms import Form, origin_of, path_id, read_form, read_visitor_form, visitor_page
from api.pages.refusals import PageRefused
from api.pages.render import language_of, link, page, redirect, text
from api.pages.sessions import Administrator, Session, Viewer
from schemas import texts
from schemas.accounts import ROLES, Role
from schemas.actors import Actor
from schemas.refusals import NotThere, Refused
from schemas.vocabularies import VOCABULARIES
from services import accounts as managing
from services.companies import make
from services.run import run
from warehouse.accounts import keys, people, sign_in
from warehouse.accounts.people import Ticket
from warehouse.audit import ledger
from warehouse.companies import queries as companies
from warehouse.companies import sandboxes
from warehouse.operate.sessions import Connection, owner_transaction

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
    except Refused:
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
    actor = _actor(request, session)

    def end(conn: Connection) -> int:
        return managing.end_sessions(conn, actor, session.user_id, chosen)

    if not run(service_of(request).writes, actor, end, bool):
        raise NotThere


def _leave(request: Request, session: Session) -> None:
    actor = _actor(request, session)

    def leave(conn: Connection) -> None:
        managing.disable(conn, actor, session.user_id)

    run(service_of(request).writes, actor, leave, lambda _: None)


def _actor(request: Request, session: Session) -> Actor:
    return Actor(session.company_id, origin_of(request, session), service_of(request).clock.now())


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


password_router = APIRouter()


@password_router.get("/password")
async def get_password(request: Request, session: Viewer) -> Response:
    """Show the form of a signed-in person."""
    return _form(request, session.email, session=session)


@password_router.post("/password")
async def post_password(request: Request, session: Viewer) -> Response:
    """Set the new password of a person who knows the old one."""
    form = await read_form(request, session)
    if fault := _fault_of(form):
        return _form(request, session.email, ("new", fault), session=session)
    if not await check_person(request, Credentials(session.email, form.get("old", ""))):
        return _form(request, session.email, ("old", "password.old_wrong"), session=session)
    person = Ticket(session.user_id, session.company_id, session.email)
    await run_limited(request, "password", _set_password, request, person, form["new"])
    return _to_sign_in(request)


@password_router.get("/password/{token}")
async def get_link(request: Request) -> Response:
    """Show the form behind a link."""
    person = await run_in_threadpool(_person_of_link, request)
    return _form(request, person.email)


@password_router.post("/password/{token}")
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
    lang, shortest = language_of(request), sign_in.SHORTEST
    return render(
        request,
        "password.html",
        status=400 if faults else 200,
        email=email,
        shortest=shortest,
        faults=[(name, text(key, lang, shortest=shortest)) for name, key in faults],
    )


def _person_of_link(request: Request) -> Ticket:
    """Return whose password the link sets. Raise `PageRefused` for one that is unknown, used or expired."""
    service = service_of(request)
    with service.writes.system() as connection:
        found = people.person_of_link(connection, request.path_params["token"], service.clock.now())
    if found is None:
        raise PageRefused(404, "password.over")
    return found


def _fault_of(form: Form) -> str | None:
    """Return the text of the new password's fault."""
    if sign_in.normalised(form.get("new", "")) != sign_in.normalised(form.get("again", "")):
        return "password.differ"
    fault = sign_in.fault(form.get("new", ""))
    return f"password.{fault}" if fault else None


def _set_password(request: Request, person: Ticket, password: str, token: str | None = None) -> None:
    """Set the password, with an entry in the company's ledger; a link's `token` is used up.

    Raise `PageRefused` where the account has ended, or the link is over.
    """
    service, password_hash = service_of(request), sign_in.hash_password(password)
    with service.writes.company(person.company_id) as connection:
        if token is not None and not people.use_link(connection, token, service.clock.now()):
            raise PageRefused(404, "password.over")
        if not people.set_password(connection, person.user_id, password_hash):
            raise PageRefused(404, "password.over")
        actor = actor_of(request, person)
        ledger.enter(connection, actor, "user.password_set", person.user_id, before={}, after={})


def _to_sign_in(request: Request) -> Response:
    answer = redirect(link(request, "/sign-in"))
    sessions.forget(request, answer)
    return answer


people_router = APIRouter(prefix="/people")


class _NewLink(NamedTuple):
    """A link that is shown once, and for whom it is."""

    email: str
    url: str


@people_router.get("")
async def get_people(request: Request, session: Administrator) -> Response:
    """List the people of the company."""
    return await run_in_threadpool(_people_page, request, session)


@people_router.post("")
async def post_person(request: Request, session: Administrator) -> Response:
    """Invite a person; the link is shown once, on the page that answers."""
    form = await read_form(request, session)
    return await run_in_threadpool(_invite, request, session, form)


@people_router.post("/{id}")
async def post_change(request: Request, session: Administrator) -> Response:
    """Give another role, make a link, disable, or let back: what the pressed button says."""
    form = await read_form(request, session)
    return await run_in_threadpool(_change, request, session, form)


def _invite(request: Request, session: Session, form: Form) -> Response:
    email, role = people.known_as(form.get("email", "")), _role(form)
    if not people.is_address(email):
        return _people_page(request, session, form=form, fault=("email", "people.no_address"))
    if role is None:
        return _people_page(request, session, form=form, fault=("role", "people.no_role"))
    actor = _actor(request, session)

    def invite(conn: Connection) -> str:
        return managing.invite(conn, actor, email, role)[1]

    try:
        token = run(service_of(request).writes, actor, invite, str)
    except Refused:
        return _people_page(request, session, form=form, fault=("email", "people.taken"))
    return _people_page(request, session, new_link=_NewLink(email, _url(request, token)))


def _role(form: Form) -> Role | None:
    sent = form.get("role", "")
    return next((role for role in ROLES if role == sent), None)


def _change(request: Request, session: Session, form: Form) -> Response:
    user_id, actor = path_id(request), _actor(request, session)

    def change(conn: Connection) -> _NewLink | None:
        match form.get("step"), _role(form):
            case "role", str() as role:
                managing.change_role(conn, actor, user_id, role)
            case "link", _:
                token = managing.new_link(conn, actor, user_id)
                return _NewLink(managing.load_live(conn, actor, user_id).email, _url(request, token))
            case "disable", _:
                managing.disable(conn, actor, user_id)
            case "second_factor_off", _:
                managing.second_factor_off(conn, actor, user_id)
            case "return", _:
                managing.let_back(conn, actor, user_id)
            case _:
                raise NotThere
        return None

    try:
        new_link = run(service_of(request).writes, actor, change, lambda link_made: link_made)
    except Refused as refused:
        key = "people.taken" if refused.issues[0].field == "email" else "people.last"
        return _people_page(request, session, fault=("", key))
    return _people_page(request, session, new_link=new_link) if new_link else redirect(link(request, "/people"))


def _url(request: Request, token: str) -> str:
    return f"{service_of(request).settings.base_url}/password/{token}"


def _people_page(
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


keys_router = APIRouter(prefix="/keys")

_LONGEST_NAME = 100


@keys_router.get("")
def get_keys(request: Request, session: Administrator) -> Response:
    """List the company's keys, those that count first, and then those of its sandbox."""
    return _keys_page(request, session)


def _keys_page(request: Request, session: Session, issued: str | None = None) -> Response:
    service = service_of(request)
    with service.writes.company(session.company_id) as conn:
        found = keys.with_use(conn)
    sandbox = _sandbox_of(service, session.company_id)
    tests: list[keys.KeyUse] = []
    if sandbox is not None:
        with service.writes.company(sandbox) as conn:
            tests = keys.with_use(conn)
    may_issue = _may_have_keys(service, session.company_id)
    return page(request, "keys.html", session=session, keys=found, tests=tests, issued=issued, may_issue=may_issue)


def _sandbox_of(service: Service, company_id: UUID) -> UUID | None:
    with service.writes.system() as conn:
        return sandboxes.of(conn, company_id)


def _may_have_keys(service: Service, company_id: UUID) -> bool:
    with service.writes.company(company_id) as conn:
        found = companies.of(conn, company_id)
        return found is not None and companies.allows_keys(conn, found[1])


@keys_router.post("/test")
async def post_test_key(request: Request, session: Administrator) -> Response:
    """Make a test key, and the sandbox where there is none; the page shows the key once."""
    form = await read_form(request, session)
    return await run_in_threadpool(_issue_test, request, session, form.get("name", ""))


def _issue_test(request: Request, session: Session, sent: str) -> Response:
    service, name = service_of(request), texts.plain(sent).strip()[:_LONGEST_NAME]
    if not name:
        raise PageRefused(400, "keys.test.name.missing")
    if not _may_have_keys(service, session.company_id):
        raise PageRefused(403, "keys.test.plan")
    actor, key, scopes = _actor(request, session), keys.new_key(is_test=True), list(VOCABULARIES["scope"])
    with owner_transaction(service.database.owner_url) as owner:
        sandbox = make(owner, actor)
    with service.writes.company(sandbox) as conn:
        managing.issue_key(conn, replace(actor, company_id=sandbox), uuid4(), key=key, name=name, scopes=scopes)
    return _keys_page(request, session, issued=key)


@keys_router.post("/{id}/revoke")
async def post_revoke(request: Request, session: Administrator) -> Response:
    """End a key, of the company or of its sandbox: its next request is refused."""
    await read_form(request, session)
    await run_in_threadpool(_revoke, request, session)
    return redirect(link(request, "/keys"))


def _revoke(request: Request, session: Session) -> None:
    service, client_id, actor = service_of(request), path_id(request), _actor(request, session)
    for company_id in (session.company_id, _sandbox_of(service, session.company_id)):
        if company_id is not None:
            with service.writes.company(company_id) as conn:
                if managing.revoke_key(conn, replace(actor, company_id=company_id), client_id):
                    return
    raise NotThere
