"""Pages of accounts: one's own with its password, and for administrators the company's people and API keys.

`pcds key` makes the keys that reach the company's data; a page makes test keys, which reach its sandbox alone.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import UUID, uuid4

import structlog
from fastapi import APIRouter
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.accounts.sign_in import (
    Credentials,
    actor_of_system,
    actor_of_visitor,
    check_person,
    ticket_of,
    ticket_of_session,
)
from api.http.requests import client_network
from api.http.service import Service, service_of
from api.pages import sessions
from api.pages.concurrency import run_limited
from api.pages.forms import Form, SentForm, VisitorForm, path_id, visitor_page, write_of
from api.pages.refusals import PageRefused
from api.pages.render import language_of, link, page, redirect, text
from api.pages.sessions import Administrator, Session, Viewer
from pipelines.suppliers import MailServer, NotSent, message
from schemas import texts
from schemas.accounts import ROLES, Role
from schemas.messages import LANGUAGES
from schemas.refusals import NotThere, Refused
from schemas.vocabularies import VOCABULARIES
from services import accounts as managing
from services.companies import make
from services.run import run
from warehouse.accounts import keys, people, sign_in
from warehouse.accounts.people import Ticket
from warehouse.companies import queries as companies
from warehouse.companies import sandboxes
from warehouse.operate.sessions import Connection, owner_transaction

router = APIRouter()
log = structlog.get_logger(__name__)


@router.get("/account")
def get_account(request: Request, session: Viewer) -> Response:
    """Show the person's role and sessions."""
    return _page(request, session)


@router.post("/account/sessions")
def post_sessions(request: Request, session: Viewer, form: SentForm) -> Response:
    """End one session of the person, or all of them, this one too."""
    chosen: UUID | None = None
    if form.get("session") != "all":
        try:
            chosen = UUID(form.get("session", ""))
        except ValueError:
            raise NotThere from None
    write = write_of(request, session)
    end = partial(managing.end_sessions, actor=write.actor, user_id=session.user_id, session_id=chosen)
    if not write.do(end):
        raise NotThere
    return redirect(link(request, "/account"))


@router.post("/account/mails")
def post_mails(request: Request, session: Viewer, form: SentForm) -> Response:
    """Choose whether the person is mailed what is due, and in which language."""
    chosen = form.get("due_mails", "")

    def choose(conn: Connection) -> None:
        people.choose_due_mails(conn, session.user_id, chosen if chosen in LANGUAGES else None)

    write_of(request, session).do(choose)
    return redirect(link(request, "/account", saved="yes") + "#mails")


@router.post("/account/leave")
def post_leave(request: Request, session: Viewer, form: SentForm) -> Response:
    """End the person's own account, with its sessions and connections."""
    if form.get("sure") != "yes":
        return _page(request, session, "account.sure.needed")
    write = write_of(request, session)
    leave = partial(managing.disable, actor=write.actor, user_id=session.user_id)
    try:
        write.do(leave)
    except Refused:
        return _page(request, session, "people.last")
    return _to_sign_in(request)


def _page(request: Request, session: Session, fault: str | None = None) -> Response:
    service = service_of(request)
    with service.writes.company(session.company_id) as conn:
        listed = people.sessions(conn, session.user_id, service.clock.now())
        own = people.session_id(conn, sessions.token_of(request) or "")
        due_mails = people.due_mail_language(conn, session.user_id)
    lang = language_of(request)
    return page(
        request,
        "account.html",
        session=session,
        sessions=listed,
        own=own,
        faults=[("sure", text(fault, lang))] if fault else [],
        given={"due_mails": due_mails or ""},
        mail_languages=[(code, text(f"lang.{code}", lang)) for code in LANGUAGES],
        mailed=service.settings.smtp_url is not None,
        saved=request.query_params.get("saved") == "yes",
    )


@router.get("/password")
async def get_password(request: Request, session: Viewer) -> Response:
    """Show the form of a signed-in person."""
    return _form(request, session.email, session=session)


@router.post("/password")
async def post_password(request: Request, session: Viewer, form: SentForm) -> Response:
    """Set the new password of a person who knows the old one."""
    if fault := _fault_of(form):
        return _form(request, session.email, ("new", fault), session=session)
    if not await check_person(request, Credentials(session.email, form.get("old", ""))):
        return _form(request, session.email, ("old", "password.old_wrong"), session=session)
    return await run_limited(request, "password", _set_password, request, ticket_of_session(session), form["new"])


@router.get("/password/forgotten")
def get_forgotten(request: Request) -> Response:
    """Ask for the address to mail a link to."""
    return _forgotten_page(request)


@router.post("/password/forgotten")
async def post_forgotten(request: Request, form: VisitorForm) -> Response:
    """Mail a link to the person with the address; the answer is the same where there is none."""
    email = people.known_as(form.get("email", ""))
    if not people.is_address(email):
        return _forgotten_page(request, form, ("email", "people.no_address"))
    person = await run_in_threadpool(_count_request, request, email)
    answer = _forgotten_page(request, is_sent=True)
    server = MailServer.from_settings(service_of(request).settings)
    if person.user_id is not None and server is not None:
        answer.background = BackgroundTask(_mail_link, request, server, ticket_of(person, email))
    return answer


def _forgotten_page(
    request: Request, form: Form | None = None, *faults: tuple[str, str], is_sent: bool = False
) -> Response:
    lang = language_of(request)
    return visitor_page(
        request,
        "forgotten.html",
        mails=service_of(request).settings.smtp_url is not None,
        is_sent=is_sent,
        given=form,
        faults=[(name, text(key, lang)) for name, key in faults],
    )


def _count_request(request: Request, email: str) -> people.Attempt:
    """Return the account of an address; asking counts like a wrong password. Raise `PageRefused` over a limit."""
    service = service_of(request)
    with service.writes.system() as connection:
        person = people.attempt(connection, email, client_network(request), service.clock.now())
    if person.retry_after:
        raise PageRefused(429, "sign_in.wait", headers={"Retry-After": str(person.retry_after)})
    return person


def _mail_link(request: Request, server: MailServer, person: Ticket) -> None:
    """Make a link and mail it, after the answer: how long it takes tells nobody that there is an account."""
    lang, actor = language_of(request), actor_of_system(request, person)
    make = partial(managing.forgotten, actor=actor, user_id=person.user_id)
    try:
        token = run(service_of(request).writes, actor, make, lambda made: made)
        if token is not None:
            url = _url(request, f"{token}?{urlencode({'lang': lang})}")
            mail = message(
                server.sender,
                person.email,
                text("forgotten.mail.subject", lang),
                text("forgotten.mail.text", lang, url=url),
                mail_id=str(uuid4()),
                reply_to=None,
            )
            server.send(mail)
    except NotThere:  # the account ended meanwhile
        return
    except NotSent as fault:
        log.warning("password.link_not_mailed", fault=fault.fault)


@router.get("/password/{token}")
def get_link(request: Request) -> Response:
    """Show the form behind a link."""
    return _form(request, _person_of_link(request).email)


@router.post("/password/{token}")
async def post_link(request: Request, form: VisitorForm) -> Response:
    """Set the new password, once."""
    person = await run_in_threadpool(_person_of_link, request)
    if fault := _fault_of(form):
        return _form(request, person.email, ("new", fault))
    token = request.path_params["token"]
    return await run_limited(request, "password", _set_password, request, person, form["new"], token)


def _form(request: Request, email: str, *faults: tuple[str, str], session: Session | None = None) -> Response:
    """Show the form, of the signed-in person or behind a link; `faults` are an input's name and a text's key."""
    render: Callable[..., Response] = visitor_page
    if session is not None:
        render = partial(page, session=session, csrf=session.csrf)
    lang, shortest = language_of(request), sign_in.SHORTEST
    return render(
        request,
        "password.html",
        email=email,
        shortest=shortest,
        faults=[(name, text(key, lang, shortest=shortest)) for name, key in faults],
    )


def _person_of_link(request: Request) -> Ticket:
    """Return whose password the link sets. Raise `PageRefused` for one that is unknown, used or expired."""
    service = service_of(request)
    with service.writes.system() as connection:
        person = people.person_of_link(connection, request.path_params["token"], service.clock.now())
    if person is None:
        raise PageRefused(404, "password.over")
    return person


def _fault_of(form: Form) -> str | None:
    """Return the text of the new password's fault."""
    if sign_in.normalised(form.get("new", "")) != sign_in.normalised(form.get("again", "")):
        return "password.differ"
    fault = sign_in.fault(form.get("new", ""))
    return f"password.{fault}" if fault else None


def _set_password(request: Request, person: Ticket, password: str, token: str | None = None) -> Response:
    """Set the password and lead to the sign-in; a link's `token` is used up.

    Raise `PageRefused` where the account has ended, or the link is over.
    """
    actor, password_hash = actor_of_visitor(request, person), sign_in.hash_password(password)
    change = partial(
        managing.set_password, actor=actor, user_id=person.user_id, password_hash=password_hash, token=token
    )
    try:
        return run(service_of(request).writes, actor, change, lambda _: _to_sign_in(request))
    except NotThere:
        raise PageRefused(404, "password.over") from None


def _to_sign_in(request: Request) -> Response:
    answer = redirect(link(request, "/sign-in"))
    sessions.forget(request, answer)
    return answer


class _NewLink(NamedTuple):
    """A link that is shown once, and for whom it is."""

    email: str
    url: str


@router.get("/people")
def get_people(request: Request, session: Administrator) -> Response:
    """List the people of the company."""
    return _people_page(request, session)


@router.post("/people")
def post_person(request: Request, session: Administrator, form: SentForm) -> Response:
    """Invite a person; the link is shown once, on the page that answers."""
    email, role = people.known_as(form.get("email", "")), _role(form)
    if not people.is_address(email):
        return _people_page(request, session, form=form, fault=("email", "people.no_address"))
    if role is None:
        return _people_page(request, session, form=form, fault=("role", "people.no_role"))
    write = write_of(request, session)
    invite = partial(managing.invite, actor=write.actor, email=email, role=role)
    try:
        _, token = write.do(invite)
    except Refused:
        return _people_page(request, session, form=form, fault=("email", "people.taken"))
    return _people_page(request, session, new_link=_NewLink(email, _url(request, token)))


def _role(form: Form) -> Role | None:
    sent = form.get("role", "")
    return next((role for role in ROLES if role == sent), None)


@router.post("/people/{id}")
def post_change(request: Request, session: Administrator, form: SentForm) -> Response:
    """Give another role, make a link, disable, or let back: what the pressed button says."""
    user_id, actor = path_id(request), write_of(request, session).actor

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
        listed = people.every(conn, service.clock.now())
    return page(
        request,
        "people.html",
        session=session,
        people=listed,
        roles=[(role, text(f"role.{role}", lang)) for role in ROLES],
        new_link=new_link,
        given=form,
        faults=[(fault[0], text(fault[1], lang))] if fault else (),
    )


_LONGEST_NAME = 100


@router.get("/keys")
def get_keys(request: Request, session: Administrator) -> Response:
    """List the company's keys, those that count first, and then those of its sandbox."""
    return _keys_page(request, session)


def _keys_page(request: Request, session: Session, issued: str | None = None) -> Response:
    service = service_of(request)
    with service.writes.company(session.company_id) as conn:
        own = keys.with_use(conn)
    tests: list[keys.KeyUse] = []
    if (sandbox := _sandbox_of(service, session.company_id)) is not None:
        with service.writes.company(sandbox) as conn:
            tests = keys.with_use(conn)
    may_issue = _may_have_keys(service, session.company_id)
    return page(request, "keys.html", session=session, keys=own, tests=tests, issued=issued, may_issue=may_issue)


def _sandbox_of(service: Service, company_id: UUID) -> UUID | None:
    with service.writes.system() as conn:
        return sandboxes.find_sandbox(conn, company_id)


def _may_have_keys(service: Service, company_id: UUID) -> bool:
    with service.writes.company(company_id) as conn:
        company = companies.find_company(conn, company_id)
        return company is not None and companies.allows_keys(conn, company[1])


@router.post("/keys/test")
def post_test_key(request: Request, session: Administrator, form: SentForm) -> Response:
    """Make a test key, and the sandbox where there is none; the page shows the key once."""
    service, name = service_of(request), texts.plain(form.get("name", "")).strip()[:_LONGEST_NAME]
    if not name:
        raise PageRefused(400, "keys.test.name.missing")
    if not _may_have_keys(service, session.company_id):
        raise PageRefused(403, "keys.test.plan")
    actor, key, scopes = write_of(request, session).actor, keys.new_key(is_test=True), list(VOCABULARIES["scope"])
    with owner_transaction(service.database.owner_url) as owner:
        actor = replace(actor, company_id=make(owner, actor))
    issue = partial(managing.issue_key, actor=actor, client_id=uuid4(), key=key, name=name, scopes=scopes)
    run(service.writes, actor, issue, lambda done: done)
    return _keys_page(request, session, issued=key)


@router.post("/keys/{id}/revoke")
def post_revoke(request: Request, session: Administrator, _: SentForm) -> Response:
    """End a key, of the company or of its sandbox: its next request is refused."""
    service, client_id = service_of(request), path_id(request)
    for company_id in (session.company_id, _sandbox_of(service, session.company_id)):
        if company_id is not None:
            actor = replace(write_of(request, session).actor, company_id=company_id)
            if run(service.writes, actor, partial(managing.revoke_key, actor=actor, client_id=client_id), bool):
                return redirect(link(request, "/keys"))
    raise NotThere
