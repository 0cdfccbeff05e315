"""Pages of webhooks for administrators: adding, how sending goes, trying, pausing, filter, another secret, removing.

A secret is shown once, on the page that answers the form.
"""

from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID, uuid4

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.audit.words import action_in_words
from api.http.requests import fingerprint
from api.http.service import service_of
from api.pages.forms import Form, SentForm, offset_of, path_id, write_of
from api.pages.render import language_of, link, page, redirect, said, text
from api.pages.sessions import Administrator, Session
from pipelines.changes import Outcome, Sender
from schemas.actors import Actor
from schemas.changes import CHANGE_TYPES, WebhookInput, WebhookPatch, WebhookSecretInput
from schemas.issues import Issue
from schemas.refusals import Refused, require
from schemas.skus.inputs import parse_body
from services import changes
from services.changes import Written
from warehouse.changes import webhooks
from warehouse.operate.sessions import Connection

router = APIRouter(prefix="/webhooks")

PAGE_SIZE: Final = 50
_STATES: Final = {"pause": "paused", "activate": "active"}
"""The buttons that change the state."""


@router.get("")
def get_webhooks(request: Request, session: Administrator) -> Response:
    """List the company's webhooks, and the form for another one."""
    return _list_page(request, session)


@router.post("")
def post_webhook(request: Request, session: Administrator, form: SentForm) -> Response:
    """Add a webhook, and show it with its secret."""
    lang, description = language_of(request), form.get("description", "").strip() or None
    body = {"url": form.get("url", "").strip(), "description": description, "types": _ticked(form)}

    def add(conn: Connection, actor: Actor, sender: Sender) -> Written:
        return changes.add(conn, actor, sender, parse_body(WebhookInput, body))

    try:
        hook_id, secret = _write(request, session, form, add)
    except Refused as refused:
        return _list_page(request, session, faults=[_fault(issue, lang) for issue in refused.issues], form=form)
    return _page(request, session, hook_id, secret=secret)


@router.get("/{id}")
def get_webhook(request: Request, session: Administrator) -> Response:
    """Show how sending to a webhook goes, and what was sent."""
    return _page(request, session, path_id(request))


@router.post("/{id}")
async def post_change(request: Request, session: Administrator, form: SentForm) -> Response:
    """Try a webhook, pause it, take it up, change its filter, give it another secret, or remove it, by its `step`."""
    webhook_id, step = path_id(request), form.get("step", "")
    if step == "try":
        service = service_of(request)
        sender = Sender.from_settings(service.settings)
        tried = await changes.send_test(service.writes, session.company_id, webhook_id, sender, service.clock.now())
        return await run_in_threadpool(_page, request, session, webhook_id, tried=tried)
    return await run_in_threadpool(_change, request, session, webhook_id, form)


def _change(request: Request, session: Session, webhook_id: UUID, form: Form) -> Response:
    """Do the step of a form, and show the webhook; with its secret where it has another one."""
    step = form.get("step", "")

    def change(conn: Connection, actor: Actor, sender: Sender) -> Written:
        if step == "remove":
            return changes.remove(conn, actor, webhook_id)
        if step == "roll":
            return changes.roll_secret(conn, actor, sender, webhook_id, WebhookSecretInput())
        sent = {"types": _ticked(form)} if step == "types" else {"state": _STATES[step]}
        return changes.change(conn, actor, sender, webhook_id, parse_body(WebhookPatch, sent))

    if step not in (*_STATES, "types", "roll", "remove"):
        return _page(request, session, webhook_id)
    _, secret = _write(request, session, form, change)
    if step == "roll":
        return _page(request, session, webhook_id, secret=secret)
    return redirect(link(request, "/webhooks" if step == "remove" else f"/webhooks/{webhook_id}"))


def _write(
    request: Request, session: Session, form: Form, operation: Callable[[Connection, Actor, Sender], Written]
) -> tuple[UUID, str | None]:
    """Return the id of the webhook that the operation wrote, and its new secret; no secret for a form sent twice."""
    secret: str | None = None
    write = write_of(request, session, form.get("once"))
    sender = Sender.from_settings(write.service.settings)

    def write_once(conn: Connection) -> UUID:
        nonlocal secret
        written = operation(conn, write.actor, sender)
        secret = written.secret
        return written.id

    hook_id = write.made_once(fingerprint([*form.multi_items()]), write_once)
    return hook_id, secret


def _list_page(
    request: Request, session: Session, *, faults: Sequence[tuple[str, str]] = (), form: Form | None = None
) -> Response:
    offset = offset_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        listed = webhooks.page(PAGE_SIZE, offset).read(conn)
    return page(
        request,
        "webhooks.html",
        session=session,
        faults=faults,
        given=form,
        once=str(uuid4()),
        found=listed["data"],
        most=webhooks.MOST,
        types=_named_types(language_of(request)),
        total=listed["pagination"]["total"],
        offset=offset,
        size=PAGE_SIZE,
    )


def _page(
    request: Request, session: Session, webhook_id: UUID, *, secret: str | None = None, tried: Outcome | None = None
) -> Response:
    """Return the page of a webhook, with a new secret, or with what came of a message that tried it."""
    offset = offset_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        hook = require(webhooks.detail(conn, webhook_id))
        sent = webhooks.page_of_deliveries(webhook_id, PAGE_SIZE, offset).read(conn)
    return page(
        request,
        "webhook.html",
        session=session,
        given=Form([("types", name) for name in hook["types"] or ()]),
        types=_named_types(language_of(request)),
        secret=secret,
        tried=tried,
        once=str(uuid4()),
        hook=hook,
        at=f"/webhooks/{webhook_id}",
        sent=sent["data"],
        total=sent["pagination"]["total"],
        offset=offset,
        size=PAGE_SIZE,
    )


def _ticked(form: Form) -> list[str] | None:
    """Return the types that were ticked; none of them is every type."""
    return form.getlist("types") or None


def _named_types(lang: str) -> dict[str, str]:
    """Return the words for each type of a change."""
    return {name: action_in_words(name, lang) for name in CHANGE_TYPES}


def _fault(issue: Issue, lang: str) -> tuple[str, str]:
    """Return the input that a refusal is about, and its sentence; the limit of webhooks is about no input."""
    field, sentence = (issue.field or "").partition("[")[0], said(issue.message, lang)
    return field, f"{text(f'webhooks.{field}', lang)}: {sentence}" if field else sentence
