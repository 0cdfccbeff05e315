"""Signs staff in and out, protected against guessing and forged forms as people's sign-in is (`api.pages.sign_in`).

An unknown account, a disabled one and a wrong password get the same words after the same work.
"""

import secrets
from typing import Final
from urllib.parse import quote
from uuid import UUID

from anyio import to_thread
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api.origin import client_network
from api.pages import sessions as visits
from api.pages.forms import posted_by_visitor, posted_with
from api.pages.refusals import PageRefused
from api.pages.render import page
from api.pages.sign_in import local
from api.pages.turns import in_turn
from api.service import Service, service_of
from api.staff import sessions
from api.staff.runs import of_import
from api.staff.sessions import Member
from warehouse.accounts import passwords, users
from warehouse.dagster_home import PREFIX
from warehouse.staff import queries as staff

router = APIRouter(include_in_schema=False)

HOME: Final = "/staff"
SIGN_IN: Final = "/staff/sign-in"
RUNS: Final = "/staff/runs"
_NOT_KEPT: Final = {"Cache-Control": "no-store"}


def to_sign_in(back: str) -> Response:
    """Redirect to the sign-in page, which leads back to a path under /dagster."""
    return RedirectResponse(f"{SIGN_IN}?next={quote(back, safe='')}", 303, _NOT_KEPT)


@router.get(HOME)
async def get_home(request: Request) -> Response:
    """Show the signed-in member, the link to Dagster, and the sign-out form."""
    member = await sessions.member_of(request)
    return to_sign_in(HOME) if member is None else _home(request, member)


@router.get(RUNS)
async def get_runs(request: Request) -> Response:
    """Redirect to the runs of the import with the given id, as its company quotes it."""
    member, given = await sessions.member_of(request), request.query_params.get("import", "").strip()
    if member is None:
        return to_sign_in(HOME)
    try:
        return RedirectResponse(of_import(UUID(given)), 303, _NOT_KEPT)
    except ValueError:
        return _home(request, member, status=422, given=given)


@router.get(SIGN_IN)
async def get_sign_in(request: Request) -> Response:
    """Show the form; a signed-in member is redirected."""
    back = _way_back(request.query_params.get("next", ""))
    if await sessions.member_of(request) is not None:
        return RedirectResponse(back, 303, _NOT_KEPT)
    return _form(request, back)


@router.post(SIGN_IN)
async def post_sign_in(request: Request) -> Response:
    """Exchange email and password for a session, and redirect to the requested page."""
    form = await posted_by_visitor(request)
    email, password, back = form.get("email", ""), form.get("password", ""), _way_back(form.get("next", ""))
    if len(email) > passwords.LONGEST or len(password) > passwords.LONGEST or "\x00" in email:
        return _form(request, back, status=403, fault="sign_in.wrong")
    token = await in_turn(request, "password", _begun, service_of(request), email, password, client_network(request))
    if token is None:
        return _form(request, back, status=403, fault="sign_in.wrong", email=email)
    await _end(request)
    answer = RedirectResponse(back, 303, _NOT_KEPT)
    sessions.remember(request, answer, token)
    return answer


@router.post("/staff/sign-out")
async def post_sign_out(request: Request) -> Response:
    """End the session in the browser and in the database."""
    member = await sessions.member_of(request)
    if member is not None:
        await posted_with(request, member.csrf)
        await _end(request)
    answer = RedirectResponse(SIGN_IN, 303, _NOT_KEPT)
    sessions.forget(request, answer)
    return answer


def _home(request: Request, member: Member, *, status: int = 200, given: str | None = None) -> Response:
    """Show the page; `given` is a text sent as the id of an import that is none."""
    return page(request, "staff.html", status=status, member=member, dagster=PREFIX, runs=RUNS, given=given)


def _way_back(given: str) -> str:
    back = local(given)
    return back if back and (back in (HOME, PREFIX) or back.startswith(f"{PREFIX}/")) else PREFIX


def _form(request: Request, back: str, *, status: int = 200, fault: str | None = None, email: str = "") -> Response:
    visit = visits.visit_of(request) or secrets.token_urlsafe(32)
    answer = page(
        request,
        "staff_sign_in.html",
        status=status,
        csrf=visits.csrf_of(visit),
        next=back,
        fault=fault,
        email=email,
        action=SIGN_IN,
    )
    visits.remember_visit(request, answer, visit)
    return answer


def _begun(service: Service, email: str, password: str, network: str) -> str | None:
    """Return the token of a new session, None for a wrong name or password. Raise `PageRefused` over a limit."""
    now = service.clock.now()
    with service.writes.system() as connection:
        found = staff.attempt(connection, email, network, now)
        if found.retry_after:
            raise PageRefused(429, "sign_in.wait", headers={"Retry-After": str(found.retry_after)})
        if not passwords.is_right(password, found.password_hash) or found.staff_id is None:
            return None
        users.undo_attempt(connection)
        return staff.begin(connection, found.staff_id, now)


async def _end(request: Request) -> None:
    token = sessions.token_of(request)
    if not token:
        return

    def ended() -> None:
        with service_of(request).writes.system() as connection:
            staff.end(connection, token)

    await to_thread.run_sync(ended)
