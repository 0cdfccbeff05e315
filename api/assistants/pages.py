"""GET and POST /oauth/authorize: shows a person which application asks for which access, and stores the decision.

The request is checked before the page is shown and again after the decision, because the form contains it.
`connector.oauth.authorization` checks the request and decides who is informed of a fault.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final
from urllib.parse import parse_qsl

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.service import service_of
from api.pages.forms import CSRF_FIELD, path_id, read_form, write_of
from api.pages.refusals import PageRefused
from api.pages.render import link, page, redirect
from api.pages.sessions import Session, Viewer, session_of, signed_in
from connector.oauth import authorization, clients
from connector.oauth.authorization import answer_address, redirect_of, wish
from connector.oauth.clients import is_document
from connector.oauth.endpoints import AUTHORIZE, OAuthRefused, Parameters, parameters
from schemas.refusals import NotThere
from services import assistants as assistants_services
from warehouse import assistants
from warehouse.assistants import AuthorizationRequest, Client

router = APIRouter()

_DECISION: Final = "decision"
_ALLOW: Final = "allow"
_OWN_FIELDS: Final = (CSRF_FIELD, _DECISION)
"""Form fields beside the request's own parameters."""


class _ReportedToApplication(Exception):  # noqa: N818  (an answer)
    """A fault that is reported to the application at its redirect address; `sentence` describes it."""

    code = "reported"

    def __init__(self, address: str, sentence: str) -> None:
        super().__init__("The application is informed.")
        self.address, self.sentence = address, sentence


@router.get(AUTHORIZE)
async def get_authorize(request: Request) -> Response:
    """Show the page on which the person decides; the sign-in page where nobody is signed in."""
    pairs = [pair for pair in parse_qsl(request.url.query, keep_blank_values=True) if pair[0] not in _OWN_FIELDS]
    try:
        wanted, _ = await _check_request(request, pairs)
    except _ReportedToApplication as fault:
        if (
            await session_of(request) is None
        ):  # applications register themselves: a stranger's link could redirect to any address
            raise PageRefused(400, "consent.faulty", fault=fault.sentence) from None
        return _redirect(fault.address)
    session = await signed_in(request)
    return page(
        request,
        "consent.html",
        session=session,
        form_action=f"'self' {authorization.source(wanted.redirect_uri)}",
        client=wanted.client,
        scopes=wanted.scopes,
        sent=pairs,
        redirect_host=authorization.host(wanted.redirect_uri),
        leads_to=_leads_to(wanted.redirect_uri),
        scheme=authorization.scheme(wanted.redirect_uri),
        published_by=authorization.host(wanted.client.id) if is_document(wanted.client.id) else None,
    )


@router.post(AUTHORIZE)
async def post_authorize(request: Request, session: Viewer) -> Response:
    """Redirect back to the application with a code, or with the person's refusal."""
    form = await read_form(request, session)
    try:
        wanted, sent = await _check_request(
            request, [pair for pair in form.multi_items() if pair[0] not in _OWN_FIELDS]
        )
    except _ReportedToApplication as fault:
        return _redirect(fault.address)
    if form.get(_DECISION) != _ALLOW:
        answer = {"error": "access_denied", "error_description": "The person did not allow it."}
    else:
        answer = {"code": await run_in_threadpool(_authorise, request, session, wanted)}
    return _redirect(answer_address(wanted.redirect_uri, sent, service_of(request).settings.base_url, answer))


async def _check_request(request: Request, pairs: Iterable[tuple[str, str]]) -> tuple[AuthorizationRequest, Parameters]:
    """Return the authorisation that the application asks for, and its parameters.

    Raise `PageRefused`, `SignInFirst` or `_ReportedToApplication`.
    """
    base, values = service_of(request).settings.base_url, dict[str, str]()
    for name, value in pairs:
        if name in ("client_id", "redirect_uri") and values.setdefault(name, value) != value:
            raise PageRefused(400, "consent.unknown_client")  # with two redirect addresses, neither can be informed
    client = await _client(request, values.get("client_id", ""))
    redirect_uri = redirect_of(client, values.get("redirect_uri") or None)
    if redirect_uri is None:
        raise PageRefused(400, "consent.redirect_mismatch")
    sent = Parameters({name: value for name, value in pairs if name == "state"}, [])
    try:
        sent = parameters(pairs)
        return wish(client, redirect_uri, sent, base), sent
    except OAuthRefused as refused:
        answer = {"error": refused.code, "error_description": str(refused)}
        raise _ReportedToApplication(answer_address(redirect_uri, sent, base, answer), str(refused)) from None


async def _client(request: Request, client_id: str) -> Client:
    """Return the application of an id. One that only a document describes is fetched for a signed-in person only."""
    service = service_of(request)
    client = await run_in_threadpool(clients.find_client, service, client_id)
    if client is not None and clients.is_fresh(service, client):
        return client
    if not is_document(client_id):
        raise PageRefused(400, "consent.unknown_client")
    await signed_in(request)
    client = await clients.client_of_document(service, client_id)
    if client is None:
        raise PageRefused(400, "consent.document")
    await run_in_threadpool(clients.hold, service, client)
    return client


def _authorise(request: Request, session: Session, wanted: AuthorizationRequest) -> str:
    write = write_of(request, session)
    authorise = partial(assistants_services.authorise, actor=write.actor, user_id=session.user_id, request=wanted)
    return write.do(authorise)


def _leads_to(address: str) -> str:
    """Return the text that says what the answer goes to."""
    if authorization.is_private(address):
        return "consent.private"
    return "consent.loopback" if authorization.is_loopback(address) else "consent.unchecked"


def _redirect(address: str) -> Response:
    """Return a redirect that sends no form along (RFC 9700, section 4.12) and is not cached."""
    return redirect(address, {"Referrer-Policy": "no-referrer"})


@router.get("/connections")
def get_connections(request: Request, session: Viewer) -> Response:
    """List the person's own connections, the newest first."""
    service = service_of(request)
    with service.writes.company(session.company_id) as connection:
        connections = assistants.of_person(connection, session.user_id)
    return page(request, "connections.html", session=session, connections=connections, base=service.settings.base_url)


@router.post("/connections/{connection_id}/revoke")
async def post_revoke(request: Request, session: Viewer) -> Response:
    """Revoke an application's access: its next request is refused."""
    await read_form(request, session)
    connection_id = path_id(request, "connection_id")

    def revoke() -> bool:
        write = write_of(request, session)
        end = partial(assistants_services.revoke, actor=write.actor, connection_id=connection_id)
        return write.do(partial(end, user_id=session.user_id))

    if not await run_in_threadpool(revoke):
        raise NotThere
    return redirect(link(request, "/connections"))
