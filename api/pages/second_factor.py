"""The second factor in pages: asking for a code at the sign-in, and switching it on and off in one's own account."""

import io
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

import qrcode
from fastapi import APIRouter
from markupsafe import Markup
from qrcode.image.svg import SvgPathImage
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.origin import client_network, origin_of_actor
from api.pages.forms import Form, read_form, visitor_page
from api.pages.refusals import PageRefused
from api.pages.render import language_of, link, page, redirect
from api.pages.request_values import origin_of
from api.pages.sessions import Session, Viewer
from api.pages.texts import text
from api.service import service_of
from services import people as managing
from services import second_factor as codes
from services.people import Act
from services.second_factor import Ticket, seal_of
from warehouse.accounts import second_factor, users
from warehouse.accounts.users import Attempt
from warehouse.audit import ledger
from warehouse.sealing import Seal

router = APIRouter(prefix="/account/second-factor")

_WAIT_SECONDS: Final = 60
"""How long an account takes no codes after too many wrong ones, from all networks together."""
ISSUER: Final = "Packaging compliance"
"""What an authenticator app shows beside the codes."""


@router.get("")
async def get_second_factor(request: Request, session: Viewer) -> Response:
    """Show a new secret to set up, or how to switch it off."""
    return await run_in_threadpool(_page, request, session)


@router.post("")
async def post_second_factor(request: Request, session: Viewer) -> Response:
    """Switch the second factor on with a first code, or off with one."""
    form = await read_form(request, session)
    return await run_in_threadpool(_switch, request, session, form)


def ticket_of(person: Attempt, email: str) -> Ticket:
    """Return the ticket of somebody whose password was right."""
    assert person.company_id is not None
    assert person.user_id is not None
    return Ticket(person.user_id, person.company_id, users.known_as(email))


def ticket_in(request: Request, sent: str) -> Ticket | None:
    """Return the person of the ticket that a form brought; None where it is over."""
    return codes.read_ticket(_seal(request), sent, service_of(request).clock.now())


def has_second_factor(request: Request, person: Ticket) -> bool:
    """Return whether a person is asked for a code."""
    with service_of(request).writes.company(person.company_id) as conn:
        return second_factor.sealed_secret(conn, person.user_id) is not None


def code_form(request: Request, person: Ticket, back: str, *, is_wrong: bool = False) -> Response:
    """Return the page that asks for the code."""
    ticket = codes.ticket(_seal(request), person, service_of(request).clock.now())
    faults = [("code", text("second_factor.wrong", language_of(request)))] if is_wrong else []
    return visitor_page(
        request,
        "sign_in_code.html",
        status=403 if is_wrong else 200,
        action=link(request, "/sign-in/code"),
        next=back,
        ticket=ticket,
        faults=faults,
    )


def check_code(request: Request, person: Ticket, code: str) -> bool:
    """Return whether a code is right, and use it up; a wrong one counts as a wrong password does.

    Raise `PageRefused` over the limit, and `Refused` where the key is not here.
    """
    service, now = service_of(request), service_of(request).clock.now()
    with service.writes.system() as counting:
        found = users.attempt(counting, person.email, client_network(request), now)
        # A password may be guessed at from everywhere, slowly; six digits may not (RFC 4226, section 7.3).
        if wait := found.retry_after or _WAIT_SECONDS * found.is_slow:
            raise PageRefused(429, "sign_in.wait", headers={"Retry-After": str(wait)})
        with service.writes.company(person.company_id) as conn:
            kind = codes.is_right(conn, _seal(request), person.user_id, code, now)
            if kind == "recovery":
                origin = origin_of_actor(request, "user", str(person.user_id), person.email)
                action, left = "user.recovery_code_used", second_factor.recovery_codes_left(conn, person.user_id)
                ledger.enter(
                    conn,
                    person.company_id,
                    action,
                    person.user_id,
                    origin=origin,
                    now=now,
                    before=None,
                    after={"left": left},
                )
        if kind is not None:
            users.undo_attempt(counting)
    return kind is not None


def _seal(request: Request) -> Seal:
    return seal_of(service_of(request).settings)


def _switch(request: Request, session: Session, form: Form) -> Response:
    service, seal = service_of(request), _seal(request)
    now = service.clock.now()
    act = Act(session.company_id, origin_of(request, session), now)
    if form.get("step") == "off":
        person = Ticket(session.user_id, session.company_id, session.email)
        if not check_code(request, person, form.get("code", "")):
            return _page(request, session, is_wrong=True)
        with service.writes.company(session.company_id) as conn:
            managing.second_factor_off(conn, act, session.user_id)
        return redirect(link(request, "/account"))
    secret = _secret_in(seal, form.get("secret", ""), session)
    step = None if secret is None else codes.step_of(secret, form.get("code", ""), now)
    if secret is None or step is None:
        return _page(request, session, secret=secret, is_wrong=True)
    with service.writes.company(session.company_id) as conn:
        if second_factor.sealed_secret(conn, session.user_id) is not None:
            raise PageRefused(409, "second_factor.is_on")
        sealed = seal.seal_to_keep(conn, secret, session.user_id.bytes)
        shown = managing.second_factor_on(conn, act, session.user_id, sealed, step)
    return page(request, "recovery_codes.html", session=session, codes=shown)


def _secret_in(seal: Seal, sent: str, session: Session) -> bytes | None:
    try:
        return seal.unseal(urlsafe_b64decode(sent), b"new" + session.user_id.bytes)
    except ValueError:
        return None


def _page(request: Request, session: Session, *, secret: bytes | None = None, is_wrong: bool = False) -> Response:
    seal = _seal(request)
    with service_of(request).writes.company(session.company_id) as conn:
        seal.check(conn)
        is_on = second_factor.sealed_secret(conn, session.user_id) is not None
        left = second_factor.recovery_codes_left(conn, session.user_id)
    secret = secret or codes.new_secret()
    sealed = seal.seal(secret, b"new" + session.user_id.bytes)
    return page(
        request,
        "second_factor.html",
        session=session,
        status=400 if is_wrong else 200,
        is_on=is_on,
        left=left,
        secret=codes.shown(secret),
        sealed=urlsafe_b64encode(sealed).decode(),
        picture=None if is_on else _picture(codes.address(secret, session.email, ISSUER)),
        faults=[("code", text("second_factor.wrong", language_of(request)))] if is_wrong else [],
    )


def _picture(content: str) -> Markup:
    """Return the content as a picture that an app reads: an SVG of our own making, without anything from outside."""
    drawn = io.BytesIO()
    qrcode.make(content, image_factory=SvgPathImage).save(drawn)
    return Markup(drawn.getvalue().decode().partition("?>")[2])  # noqa: S704  (a QR code's path has no text in it)
