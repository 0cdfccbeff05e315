"""Signs people in and out, with a second factor where one is on. A sign-in always begins a new session.

Guesses from everywhere slow an account down and never lock it.
"""

import io
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar
from urllib.parse import urlsplit

import anyio
import orjson
import qrcode
from anyio import to_thread
from fastapi import APIRouter, FastAPI
from markupsafe import Markup
from qrcode.image.svg import SvgPathImage
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response

from api.http.errors import TooLarge
from api.http.requests import client_address, client_network, form_with_file, origin_of_actor
from api.http.service import service_of
from api.pages import sessions
from api.pages.concurrency import run_limited
from api.pages.forms import (
    CSRF_FIELD,
    MAX_BYTES,
    Form,
    SentForm,
    VisitorForm,
    read_form_with_token,
    refuse_other_page,
    visitor_page,
    write_of,
)
from api.pages.refusals import PageRefused
from api.pages.render import language_of, link, page, redirect, shown_path, text
from api.pages.sessions import Session, SignInFirst, Viewer, csrf_of, session_of
from schemas.actors import Actor
from schemas.addresses import coarse_network_of
from schemas.refusals import Refused
from services import accounts as managing
from services.accounts import seal_of
from services.run import run
from warehouse.accounts import people, sign_in
from warehouse.accounts.people import Attempt as PeopleAttempt
from warehouse.accounts.people import Ticket
from warehouse.operate.keys import Seal
from warehouse.operate.sessions import Connection

router = APIRouter()


class Credentials(NamedTuple):
    """The email and the password that were sent."""

    email: str
    password: str


class Attempt(Protocol):
    """The account that a sign-in is compared with: no hash where there is none, and the seconds to wait."""

    @property
    def password_hash(self) -> str | None:
        """Return the hash of the account's password."""

    @property
    def retry_after(self) -> int:
        """Return the seconds to wait; 0 below the limits."""


FoundAttempt = TypeVar("FoundAttempt", bound=Attempt)
CountAttempt: TypeAlias = Callable[[Connection, str, str, datetime], FoundAttempt]
"""Looks up the account of an email and counts the attempt from a network, as `people.attempt` does."""


def credentials_of(form: Form) -> Credentials | None:
    """Return the credentials of a sign-in form; None for texts that no account can have."""
    email, password = form.get("email", ""), form.get("password", "")
    if len(email) > sign_in.LONGEST or sign_in.is_too_long(password) or "\x00" in email:
        return None
    return Credentials(email, password)


async def compare(
    request: Request, count_attempt: CountAttempt[FoundAttempt], sent: Credentials
) -> tuple[FoundAttempt, bool]:
    """Return the account with the email, and whether the password is right. Raise `PageRefused` over a limit."""
    service, network = service_of(request), client_network(request)

    def check() -> tuple[FoundAttempt, bool]:
        with service.writes.system() as connection:
            account = count_attempt(connection, sent.email, network, service.clock.now())
            if account.retry_after:
                raise PageRefused(429, "sign_in.wait", headers={"Retry-After": str(account.retry_after)})
            is_right = sign_in.is_right(sent.password, account.password_hash)
            if is_right:
                people.undo_attempt(connection)
            return account, is_right

    return await run_limited(request, "password", check)


_WAIT_SECONDS: Final = 60
"""How long an account takes no codes after too many wrong ones, from all networks together."""
ISSUER: Final = "Packaging compliance"
"""What an authenticator app shows beside the managing."""


@router.get("/account/second-factor")
def get_second_factor(request: Request, session: Viewer) -> Response:
    """Show a new secret to set up, or how to switch it off."""
    return _page(request, session)


@router.post("/account/second-factor")
def post_second_factor(request: Request, session: Viewer, form: SentForm) -> Response:
    """Switch the second factor on with a first code, or off with one."""
    write, seal = write_of(request, session), _seal(request)
    if form.get("step") == "off":
        if not check_code(request, ticket_of_session(session), form.get("code", "")):
            return _page(request, session, is_wrong=True)
        switch_off = partial(managing.second_factor_off, actor=write.actor, user_id=session.user_id)
        return run(write.service.writes, write.actor, switch_off, lambda _: redirect(link(request, "/account")))
    try:
        secret = seal.unseal(urlsafe_b64decode(form.get("secret", "")), b"new" + session.user_id.bytes)
    except ValueError:
        secret = None
    step = None if secret is None else managing.step_of(secret, form.get("code", ""), write.actor.now)
    if secret is None or step is None:
        return _page(request, session, secret=secret, is_wrong=True)
    switch_on = partial(
        managing.second_factor_on, actor=write.actor, seal=seal, user_id=session.user_id, secret=secret, step=step
    )
    codes = run(write.service.writes, write.actor, switch_on, lambda codes: codes)
    if not codes:
        raise PageRefused(409, "second_factor.is_on")
    return page(request, "recovery_codes.html", session=session, codes=codes)


def ticket_of(person: PeopleAttempt, email: str) -> Ticket:
    """Return the ticket of somebody whose password was right."""
    assert person.company_id is not None
    assert person.user_id is not None
    return Ticket(person.user_id, person.company_id, people.known_as(email))


def ticket_of_session(session: Session) -> Ticket:
    """Return who is signed in."""
    return Ticket(session.user_id, session.company_id, session.email)


def has_second_factor(request: Request, person: Ticket) -> bool:
    """Return whether a person is asked for a code."""
    with service_of(request).writes.company(person.company_id) as conn:
        return sign_in.sealed_secret(conn, person.user_id) is not None


def code_form(request: Request, person: Ticket, back: str, kept: str, *, is_wrong: bool = False) -> Response:
    """Return the page that asks for the code."""
    ticket = managing.ticket(_seal(request), person, service_of(request).clock.now())
    faults = [("code", text("second_factor.wrong", language_of(request)))] if is_wrong else []
    return visitor_page(
        request,
        "sign_in_code.html",
        status=403 if is_wrong else 200,
        action=link(request, "/sign-in/code"),
        next=back,
        ticket=ticket,
        kept=kept,
        faults=faults,
    )


def check_code(request: Request, person: Ticket, code: str) -> bool:
    """Return whether a code is right, and use it up; a wrong one counts as a wrong password does.

    Raise `PageRefused` over the limit, and `Refused` where the key is not here.
    """
    service, actor = service_of(request), actor_of_visitor(request, person)
    with service.writes.system() as counting:
        attempt = people.attempt(counting, person.email, client_network(request), actor.now)
        # A password may be guessed at from everywhere, slowly; six digits may not (RFC 4226, section 7.3).
        if wait := attempt.retry_after or _WAIT_SECONDS * attempt.is_slow:
            raise PageRefused(429, "sign_in.wait", headers={"Retry-After": str(wait)})
        take = partial(managing.is_right, actor=actor, seal=_seal(request), user_id=person.user_id, code=code)
        is_right = run(service.writes, actor, take, bool)
        if is_right:
            people.undo_attempt(counting)
    return is_right


def actor_of_visitor(request: Request, person: Ticket) -> Actor:
    """Return a person who is not signed in yet, as the actor of what the password or a link allows."""
    origin = origin_of_actor(request, "user", str(person.user_id), person.email)
    return Actor(person.company_id, origin, service_of(request).clock.now())


def actor_of_system(request: Request, person: Ticket) -> Actor:
    """Return the service as the actor of what is entered about a person whom nobody has proved to be."""
    origin = replace(origin_of_actor(request, "system", "", None), actor_id=None)
    return Actor(person.company_id, origin, service_of(request).clock.now())


def _seal(request: Request) -> Seal:
    return seal_of(service_of(request).settings)


def _page(request: Request, session: Session, *, secret: bytes | None = None, is_wrong: bool = False) -> Response:
    seal = _seal(request)
    with service_of(request).writes.company(session.company_id) as conn:
        seal.check(conn)
        is_on = sign_in.sealed_secret(conn, session.user_id) is not None
        left = sign_in.recovery_codes_left(conn, session.user_id)
    secret = secret or managing.new_secret()
    sealed = seal.seal(secret, b"new" + session.user_id.bytes)
    return page(
        request,
        "second_factor.html",
        session=session,
        is_on=is_on,
        left=left,
        secret=managing.grouped(secret),
        sealed=urlsafe_b64encode(sealed).decode(),
        picture=None if is_on else draw_code(managing.address(secret, session.email, ISSUER)),
        faults=[("code", text("second_factor.wrong", language_of(request)))] if is_wrong else [],
    )


def draw_code(content: str) -> Markup:
    """Return the content as a picture that an app reads: an SVG of our own making, without anything from outside."""
    drawn = io.BytesIO()
    qrcode.make(content, image_factory=SvgPathImage).save(drawn)
    return Markup(drawn.getvalue().decode().partition("?>")[2])  # noqa: S704  (a QR code's path has no text in it)


_TYPED_SECRETS: Final = ("/password", "/account", "/people", "/keys", "/sign-")
"""Where the paths of forms begin that are never kept: what was typed may be a secret, or nothing was."""
_MULTIPART: Final = "multipart/form-data"
_MOST_KEPT_FIELDS: Final = 20_000


class KeptForm(NamedTuple):
    """A form that was sent after its session had ended: its fields without the session's own, to be sent again."""

    fields: list[tuple[str, str]]
    is_multipart: bool

    @classmethod
    def unpacked(cls, text: str) -> "KeptForm | None":
        """Return the form that `packed` packed; None for any other text."""
        try:
            unpacker = zlib.decompressobj()
            fields, is_multipart = orjson.loads(unpacker.decompress(urlsafe_b64decode(text), MAX_BYTES))
            return cls([(str(name), str(value)) for name, value in fields], bool(is_multipart))
        except (ValueError, TypeError, zlib.error):
            return None

    def packed(self) -> str:
        """Return the form as the text of a hidden field, short enough for the form that it is hidden in."""
        return urlsafe_b64encode(zlib.compress(orjson.dumps([self.fields, self.is_multipart]))).decode()


def install(app: FastAPI) -> None:
    """Register who answers a page's request where nobody is signed in."""
    app.add_exception_handler(SignInFirst, _ask_to_sign_in)


async def _ask_to_sign_in(request: Request, error: Exception) -> Response:
    """Lead to the sign-in; where a form was sent that its session's own page holds, show it with what was typed."""
    assert isinstance(error, SignInFirst)
    if request.method == "GET":
        return redirect(link(request, _SIGN_IN, next=error.back))
    kept = await _form_of_ended_session(request)
    if kept is None:
        return redirect(link(request, _SIGN_IN, next=shown_path(request)))
    return sign_in_form(request, "sign_in.html", link(request, _SIGN_IN), error.back, kept=kept.packed())


async def _form_of_ended_session(request: Request) -> KeptForm | None:
    """Return the form that was sent; None where it is not of this browser's page, is a file's, or may hold secrets."""
    token = sessions.token_of(request)
    if token is None or request.url.path.startswith(_TYPED_SECRETS):
        return None
    is_multipart = request.headers.get("content-type", "").startswith(_MULTIPART)
    try:
        if is_multipart:
            fields, file = await form_with_file(request, None, pasted_bytes=MAX_BYTES)
            if file is not None and file.data:
                return None  # a browser gives a file only to whom a person chooses it for
            form = Form(fields)
            refuse_other_page(request, form, csrf_of(token))
        else:
            form = await read_form_with_token(request, csrf_of(token), most_fields=_MOST_KEPT_FIELDS)
    except (PageRefused, Refused, TooLarge):
        return None
    kept = KeptForm([field for field in form.multi_items() if field[0] not in (CSRF_FIELD, "file")], is_multipart)
    return kept if len(kept.packed()) <= MAX_BYTES // 2 else None


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
async def post_sign_in(request: Request, form: VisitorForm) -> Response:
    """Exchange email and password for a session, and redirect to the requested page."""
    back = local_path(form.get("next", "")) or link(request, HOME)
    sent = credentials_of(form)
    person = await check_person(request, sent) if sent else None
    if person is None or sent is None:
        credentials, kept = sent or Credentials("", ""), form.get("kept", "")
        answer = sign_in_form(request, "sign_in.html", link(request, _SIGN_IN), back, refused=credentials, kept=kept)
        if (failed := getattr(request.state, "failed_sign_in", None)) is not None:
            answer.background = BackgroundTask(_note_failure, request, failed)
        return answer
    ticket = ticket_of(person, sent.email)
    if await to_thread.run_sync(has_second_factor, request, ticket):
        return code_form(request, ticket, back, form.get("kept", ""))
    return await _signed_in(request, ticket, back, form.get("kept", ""))


@router.post(f"{_SIGN_IN}/code")
async def post_code(request: Request, form: VisitorForm) -> Response:
    """Exchange a one-time or recovery code, after the right password, for a session."""
    back = local_path(form.get("next", "")) or link(request, HOME)
    ticket = managing.read_ticket(_seal(request), form.get("ticket", ""), service_of(request).clock.now())
    if ticket is None:
        return redirect(link(request, _SIGN_IN, next=back))
    if not await run_limited(request, "password", check_code, request, ticket, form.get("code", "")):
        answer = code_form(request, ticket, back, form.get("kept", ""), is_wrong=True)
        answer.background = BackgroundTask(_note_failure, request, ticket)
        return answer
    return await _signed_in(request, ticket, back, form.get("kept", ""))


async def _signed_in(request: Request, person: Ticket, back: str, packed: str) -> Response:
    """Begin a session in place of the browser's own, and redirect to the requested page.

    A form that was kept is offered to be sent: nothing is written because somebody signed in.
    """
    actor, network = actor_of_visitor(request, person), coarse_network_of(client_address(request) or "")
    begin = partial(managing.begin_session, actor=actor, user_id=person.user_id, network=network)
    token = await to_thread.run_sync(run, service_of(request).writes, actor, begin, str)
    await _end_session(request)
    kept = KeptForm.unpacked(packed) if packed else None
    if kept is None:
        answer = redirect(back)
    else:
        answer = page(request, "kept_form.html", action=back, kept=kept, csrf=csrf_of(token))
    sessions.remember(request, answer, token)
    return answer


@router.post("/sign-out")
async def post_sign_out(request: Request, _session: Viewer, _: SentForm) -> Response:
    """End the session in the browser and in the database."""
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
    request: Request,
    template: str,
    action: str,
    back: str,
    *,
    refused: Credentials | None = None,
    kept: str = "",
) -> Response:
    """Show the form of people or of staff; with `refused` the email that was sent, and that it is wrong.

    `kept` is a form to go on with after the sign-in, as `KeptForm.packed` packs it.
    """
    faults = [("email", text("sign_in.wrong", language_of(request)))] if refused else []
    return visitor_page(
        request,
        template,
        status=403 if refused else 200,
        action=action,
        next=back,
        kept=kept,
        faults=faults,
        given={"email": refused.email} if refused else {},
    )


async def check_person(request: Request, sent: Credentials) -> PeopleAttempt | None:
    """Return the person with these credentials, None where there is none; a wrong password is counted.

    Raise `PageRefused` over a limit. Where many networks guess at the account, the answer takes longer, also for the
    right password: a faster answer would reveal that it is right.
    """
    attempt, is_right = await compare(request, people.attempt, sent)
    if attempt.is_slow:
        await anyio.sleep(people.SLOW_SECONDS)
    if not is_right and attempt.user_id is not None:
        request.state.failed_sign_in = attempt
    return attempt if is_right else None


def _note_failure(request: Request, person: PeopleAttempt | Ticket) -> None:
    """Enter a wrong password or code in the ledger, after the answer, which so takes as long for every account."""
    assert person.company_id is not None
    assert person.user_id is not None
    actor = actor_of_system(request, ticket_of(person, "") if isinstance(person, PeopleAttempt) else person)
    note = partial(managing.note_failure, actor=actor, user_id=person.user_id)
    run(service_of(request).writes, actor, note, lambda done: done)


async def _end_session(request: Request) -> None:
    """End the session of the request's cookie, where it has one."""
    if token := sessions.token_of(request):
        await sessions.end(request, people.end, token)
