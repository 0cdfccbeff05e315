"""Signs people in and out. A sign-in always begins a new session, whatever cookie the browser sent.

`api.pages.credentials` compares the password. Guesses from everywhere slow an account down and never lock it.
"""

from typing import Final
from urllib.parse import urlsplit

import anyio
from anyio import to_thread
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.pages import sessions
from api.pages.credentials import Credentials, compare, credentials_of
from api.pages.forms import read_form, read_visitor_form, visitor_page
from api.pages.render import language_of, link, redirect
from api.pages.sessions import Viewer, session_of
from api.pages.texts import text
from api.service import Service, service_of
from warehouse.accounts import users
from warehouse.accounts.users import Attempt

router = APIRouter()

HOME: Final = "/portfolio"
"""The page after a sign-in without another target."""
_SIGN_IN: Final = "/sign-in"


@router.get(_SIGN_IN)
async def get_sign_in(request: Request) -> Response:
    """Show the form; a signed-in person is redirected."""
    back = local_path(request.query_params.get("next", "")) or link(request, HOME)
    if await session_of(request) is not None:
        return redirect(back)
    return sign_in_form(request, "sign_in.html", link(request, _SIGN_IN), back)


@router.post(_SIGN_IN)
async def post_sign_in(request: Request) -> Response:
    """Exchange email and password for a session, and redirect to the requested page."""
    form = await read_visitor_form(request)
    back = local_path(form.get("next", "")) or link(request, HOME)
    sent = credentials_of(form)
    person = await check_person(request, sent) if sent else None
    if person is None:
        return sign_in_form(request, "sign_in.html", link(request, _SIGN_IN), back, refused=sent or Credentials("", ""))
    token = await to_thread.run_sync(_begin_session, service_of(request), person)
    await _end_session(request)
    answer = redirect(back)
    sessions.remember(request, answer, token)
    return answer


@router.post("/sign-out")
async def post_sign_out(request: Request, session: Viewer) -> Response:
    """End the session in the browser and in the database."""
    await read_form(request, session)
    await _end_session(request)
    answer = redirect(link(request, _SIGN_IN))
    sessions.forget(request, answer)
    return answer


def local_path(address: str) -> str | None:
    """Return a path of this service to go back to, None for anything that could lead elsewhere."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    leads_away = parts.scheme or parts.netloc or not address.startswith("/") or address.startswith("//")
    return None if leads_away or "\\" in address or not address.isprintable() else address


def sign_in_form(
    request: Request, template: str, action: str, back: str, *, refused: Credentials | None = None
) -> Response:
    """Show the form of people or of staff; with `refused` the email that was sent, and that it is wrong."""
    faults = [("email", text("sign_in.wrong", language_of(request)))] if refused else []
    return visitor_page(
        request,
        template,
        status=403 if refused else 200,
        action=action,
        next=back,
        faults=faults,
        given={"email": refused.email} if refused else {},
    )


async def check_person(request: Request, sent: Credentials) -> Attempt | None:
    """Return the person with these credentials, None where there is none; a wrong password is counted.

    Raise `PageRefused` over a limit. Where many networks guess at the account, the answer takes longer, also for the
    right password: a faster answer would reveal that it is right.
    """
    found, is_right = await compare(request, users.attempt, sent)
    if found.is_slow:
        await anyio.sleep(users.SLOW_SECONDS)
    return found if is_right else None


def _begin_session(service: Service, person: Attempt) -> str:
    """Return the token of a new session."""
    assert person.company_id is not None
    assert person.user_id is not None
    with service.writes.company(person.company_id) as connection:
        return users.begin(connection, person.company_id, person.user_id, service.clock.now())


async def _end_session(request: Request) -> None:
    """End the session of the request's cookie, where it has one."""
    if token := sessions.token_of(request):
        await sessions.end(request, users.end, token)
