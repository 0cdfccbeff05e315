"""Signs people in and out. A sign-in always begins a new session, whatever cookie the browser sent.

`api.pages.credentials` compares the password. Guesses from everywhere slow an account down and never lock it.
"""

from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

import anyio
from anyio import to_thread
from fastapi import APIRouter
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response

from api.origin import client_address, origin_of_actor
from api.pages import sessions
from api.pages.concurrency import run_limited
from api.pages.credentials import Credentials, compare, credentials_of
from api.pages.forms import read_form, read_visitor_form, visitor_page
from api.pages.render import language_of, link, redirect
from api.pages.second_factor import check_code, code_form, has_second_factor, ticket_in, ticket_of
from api.pages.sessions import Viewer, session_of
from api.pages.texts import text
from api.service import service_of
from schemas.addresses import coarse_network_of
from services.second_factor import Ticket
from warehouse.accounts import users
from warehouse.accounts.users import Attempt
from warehouse.audit import ledger

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
    if person is None or sent is None:
        shown = sent or Credentials("", "")
        answer = sign_in_form(request, "sign_in.html", link(request, _SIGN_IN), back, refused=shown)
        if (failed := getattr(request.state, "failed_sign_in", None)) is not None:
            answer.background = BackgroundTask(_note_failure, request, failed)
        return answer
    ticket = ticket_of(person, sent.email)
    if await to_thread.run_sync(has_second_factor, request, ticket):
        return code_form(request, ticket, back)
    return await _signed_in(request, ticket, back)


@router.post(f"{_SIGN_IN}/code")
async def post_code(request: Request) -> Response:
    """Exchange a one-time or recovery code, after the right password, for a session."""
    form = await read_visitor_form(request)
    back = local_path(form.get("next", "")) or link(request, HOME)
    ticket = ticket_in(request, form.get("ticket", ""))
    if ticket is None:
        return redirect(link(request, _SIGN_IN, next=back))
    if not await run_limited(request, "password", check_code, request, ticket, form.get("code", "")):
        answer = code_form(request, ticket, back, is_wrong=True)
        answer.background = BackgroundTask(_note_failure, request, ticket)
        return answer
    return await _signed_in(request, ticket, back)


async def _signed_in(request: Request, person: Ticket, back: str) -> Response:
    """Begin a session in place of the browser's own, and redirect to the requested page."""
    token = await to_thread.run_sync(_begin_session, request, person)
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
    if not is_right and found.user_id is not None:
        request.state.failed_sign_in = found
    return found if is_right else None


def _begin_session(request: Request, person: Ticket) -> str:
    """Return the token of a new session, with the entry of the sign-in."""
    service, at = service_of(request), service_of(request).clock.now()
    origin = origin_of_actor(request, "user", str(person.user_id), person.email)
    network = coarse_network_of(client_address(request) or "")
    with service.writes.company(person.company_id) as connection:
        token = users.begin(connection, person.company_id, person.user_id, at, network=network, agent=origin.user_agent)
        ledger.enter(
            connection,
            person.company_id,
            "user.signed_in",
            person.user_id,
            origin=origin,
            now=at,
            before=None,
            after=None,
        )
    return token


def _note_failure(request: Request, person: Attempt | Ticket) -> None:
    """Enter a wrong password or code in the ledger, after the answer, which so takes as long for every account."""
    assert person.company_id is not None
    assert person.user_id is not None
    service, at = service_of(request), service_of(request).clock.now()
    origin = replace(origin_of_actor(request, "system", "", None), actor_id=None)
    with service.writes.company(person.company_id) as connection:
        if users.note_failure(connection, person.user_id, at):
            action = "user.sign_in_failed"
            ledger.enter(
                connection, person.company_id, action, person.user_id, origin=origin, now=at, before=None, after=None
            )


async def _end_session(request: Request) -> None:
    """End the session of the request's cookie, where it has one."""
    if token := sessions.token_of(request):
        await sessions.end(request, users.end, token)
