"""Signs people in and out. A sign-in always begins a new session, whatever cookie the browser sent.

An unknown account, a disabled one and a wrong password get the same words after the same work. Wrong passwords are
counted for the network that they come from, and for the account from there (`warehouse.accounts.users`); right ones are
not. Guesses from everywhere slow an account down and never lock it.
"""

import secrets
from typing import Final
from urllib.parse import urlsplit

import anyio
from anyio import to_thread
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api.origin import client_network
from api.pages import sessions
from api.pages.forms import posted, posted_by_visitor
from api.pages.refusals import PageRefused
from api.pages.render import link, page
from api.pages.sessions import SignedIn, session_of
from api.pages.turns import in_turn
from api.service import Service, service_of
from warehouse.accounts import passwords, users
from warehouse.accounts.users import Attempt

router = APIRouter()

HOME: Final = "/portfolio"
"""The page after a sign-in without another target."""


@router.get("/sign-in")
async def get_sign_in(request: Request) -> Response:
    """Show the form; a signed-in person is redirected."""
    back = local(request.query_params.get("next", "")) or link(request, HOME)
    if await session_of(request) is not None:
        return RedirectResponse(back, 303)
    return _form(request, back)


@router.post("/sign-in")
async def post_sign_in(request: Request) -> Response:
    """Exchange email and password for a session, and redirect to the requested page."""
    form = await posted_by_visitor(request)
    email, password = form.get("email", ""), form.get("password", "")
    back = local(form.get("next", "")) or link(request, HOME)
    if len(email) > passwords.LONGEST or len(password) > passwords.LONGEST or "\x00" in email:
        return _form(request, back, status=403, fault="sign_in.wrong")
    found = await attempted(request, email, password, client_network(request))
    if found is None:
        return _form(request, back, status=403, fault="sign_in.wrong", email=email)
    token = await to_thread.run_sync(_begun, service_of(request), found)
    before = sessions.token_of(request)
    if before:
        await _end(request, before)
    answer = RedirectResponse(back, 303, {"Cache-Control": "no-store"})
    sessions.remember(request, answer, token)
    return answer


@router.post("/sign-out")
async def post_sign_out(request: Request, session: SignedIn) -> Response:
    """End the session in the browser and in the database."""
    await posted(request, session)
    await _end(request, sessions.token_of(request) or "")
    answer = RedirectResponse(link(request, "/sign-in"), 303, {"Cache-Control": "no-store"})
    sessions.forget(request, answer)
    return answer


def local(back: str) -> str | None:
    """Return a path of this service to go back to, None for anything that could lead elsewhere."""
    try:
        parts = urlsplit(back)
    except ValueError:
        return None
    leads_away = parts.scheme or parts.netloc or not back.startswith("/") or back.startswith("//")
    return None if leads_away or "\\" in back or not back.isprintable() else back


def _form(request: Request, back: str, *, status: int = 200, fault: str | None = None, email: str = "") -> Response:
    visit = sessions.visit_of(request) or secrets.token_urlsafe(32)
    answer = page(
        request, "sign_in.html", status=status, csrf=sessions.csrf_of(visit), next=back, fault=fault, email=email
    )
    sessions.remember_visit(request, answer, visit)
    return answer


async def attempted(request: Request, email: str, password: str, network: str) -> Attempt | None:
    """Return the person with this name and password, None where there is none; a wrong password is counted.

    Raise `PageRefused` over a limit. Where many networks guess at the account, the answer takes longer, also for the
    right password: a faster answer would reveal that it is right.
    """
    found, is_right = await in_turn(request, "password", _compared, service_of(request), email, password, network)
    if found.is_slow:
        await anyio.sleep(users.SLOW_SECONDS)
    return found if is_right else None


def _compared(service: Service, email: str, password: str, network: str) -> tuple[Attempt, bool]:
    with service.writes.system() as connection:
        found = users.attempt(connection, email, network, service.clock.now())
        if found.retry_after:
            raise PageRefused(429, "sign_in.wait", headers={"Retry-After": str(found.retry_after)})
        is_right = passwords.is_right(password, found.password_hash) and found.user_id is not None
        if is_right:
            users.undo_attempt(connection)
        return found, is_right


def _begun(service: Service, found: Attempt) -> str:
    """Return the token of a new session."""
    assert found.company_id is not None
    assert found.user_id is not None
    with service.writes.company(found.company_id) as connection:
        return users.begin(connection, found.company_id, found.user_id, service.clock.now())


async def _end(request: Request, token: str) -> None:
    def ended() -> None:
        with service_of(request).writes.system() as connection:
            users.end(connection, token)

    await to_thread.run_sync(ended)
