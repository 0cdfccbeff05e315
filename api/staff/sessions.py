"""Identifies signed-in staff by a cookie and a session separate from those of companies' people.

A person's session (`api.pages.sessions`) does not count as a staff session, nor the reverse: the cookies differ and are
looked up in different tables.
"""

from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import quote, urlencode
from uuid import UUID

from anyio import to_thread
from fastapi import APIRouter
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from api.accounts.sign_in import Credentials, compare, credentials_of, local_path, sign_in_form
from api.http.service import Service, service_of
from api.pages import sessions
from api.pages.forms import read_form_with_token, read_visitor_form
from api.pages.render import language_of, page, redirect, text
from api.pages.sessions import csrf_of, end
from pipelines.engine import tags
from warehouse.operate import staff
from warehouse.operate.dagster_home import PREFIX
from warehouse.operate.staff import Role

_COOKIE: Final = "pcds_staff"


@dataclass(frozen=True, slots=True)
class Member:
    """A signed-in member of staff; `csrf` is the token in this session's forms."""

    id: UUID
    email: str
    role: Role
    csrf: str


async def member_of(connection: HTTPConnection) -> Member | None:
    """Return the member of staff of a request or a web socket, None where nobody is signed in."""
    token = token_of(connection)
    if not token:
        return None
    service = service_of(connection)
    member = await service.reads.run(partial(staff.find, token=token, at=service.clock.now()))
    return None if member is None else Member(member.id, member.email, member.role, csrf_of(token))


def token_of(connection: HTTPConnection) -> str | None:
    """Return the token of the session cookie, valid or not."""
    return connection.cookies.get(sessions.cookie_name(connection, _COOKIE))


def remember(request: Request, answer: Response, token: str) -> None:
    """Set the session cookie."""
    sessions.set_cookie(request, answer, _COOKIE, token)


def forget(request: Request, answer: Response) -> None:
    """Remove the session cookie."""
    sessions.drop_cookie(request, answer, _COOKIE)


router = APIRouter(include_in_schema=False)

HOME: Final = "/staff"
SIGN_IN: Final = "/staff/sign-in"
RUNS: Final = "/staff/runs"


def address_of_import_runs(import_id: UUID) -> str:
    """Return the address of an import's runs: Dagster's Runs page, filtered by tag."""
    return f"{PREFIX}/runs?{urlencode({'q[0]': f'tag:{tags.IMPORT}={import_id}'}, safe='[]:/=')}"


def to_sign_in(back: str) -> Response:
    """Redirect to the sign-in page, which leads back to a path under /dagster."""
    return redirect(f"{SIGN_IN}?next={quote(back, safe='')}")


@router.get(HOME)
async def get_home(request: Request) -> Response:
    """Show the signed-in member, the link to Dagster, and the sign-out form."""
    member = await member_of(request)
    return to_sign_in(HOME) if member is None else _home(request, member)


@router.get(RUNS)
async def get_runs(request: Request) -> Response:
    """Redirect to the runs of the import with the given id, as its company quotes it."""
    member, import_id = await member_of(request), request.query_params.get("import", "").strip()
    if member is None:
        return to_sign_in(HOME)
    try:
        return redirect(address_of_import_runs(UUID(import_id)))
    except ValueError:
        return _home(request, member, unknown_import=import_id)


@router.get(SIGN_IN)
async def get_sign_in(request: Request) -> Response:
    """Show the form; a signed-in member is redirected."""
    back = _target(request.query_params.get("next", ""))
    if await member_of(request) is not None:
        return redirect(back)
    return sign_in_form(request, "staff_sign_in.html", SIGN_IN, back)


@router.post(SIGN_IN)
async def post_sign_in(request: Request) -> Response:
    """Exchange email and password for a session, and redirect to the requested page."""
    form = await read_visitor_form(request)
    sent, back = credentials_of(form), _target(form.get("next", ""))
    account, is_right = await compare(request, staff.attempt, sent) if sent else (None, False)
    if not (account and is_right):
        return sign_in_form(request, "staff_sign_in.html", SIGN_IN, back, refused=sent or Credentials("", ""))
    token = await to_thread.run_sync(_begin_session, service_of(request), account)
    await _end_session(request)
    answer = redirect(back)
    remember(request, answer, token)
    return answer


@router.post("/staff/sign-out")
async def post_sign_out(request: Request) -> Response:
    """End the session in the browser and in the database."""
    member = await member_of(request)
    if member is not None:
        await read_form_with_token(request, member.csrf)
        await _end_session(request)
    answer = redirect(SIGN_IN)
    forget(request, answer)
    return answer


def _home(request: Request, member: Member, *, unknown_import: str | None = None) -> Response:
    """Show the page; `unknown_import` is a text sent as the id of an import that is none."""
    faults = [] if unknown_import is None else [("import", text("staff.no_import", language_of(request)))]
    return page(
        request,
        "staff.html",
        status=422 if faults else 200,
        member=member,
        dagster=PREFIX,
        runs=RUNS,
        faults=faults,
        given={"import": unknown_import or ""},
    )


def _target(sent: str) -> str:
    """Return the path to show after the sign-in; Dagster's first page for any that is not for staff."""
    path = local_path(sent)
    return path if path and (path in (HOME, PREFIX) or path.startswith(f"{PREFIX}/")) else PREFIX


def _begin_session(service: Service, account: staff.Attempt) -> str:
    """Return the token of a new session."""
    assert account.staff_id is not None
    with service.writes.system() as connection:
        return staff.begin(connection, account.staff_id, service.clock.now())


async def _end_session(request: Request) -> None:
    """End the session of the request's cookie, where it has one."""
    if token := token_of(request):
        await end(request, staff.end, token)
