"""Pages of webhooks for administrators: adding, how sending goes, trying, pausing, filter, another secret, removing.

What they do are the operations of `api.changes.webhooks`. A secret is shown once, on the page that answers the form.
"""

from typing import Any, Final  # Any: what REST answers, as the page shows it
from uuid import UUID, uuid4

import orjson
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.audit.pages import action_in_words
from api.changes.webhooks import add_webhook, change_webhook, remove_webhook, roll_secret, try_webhook
from api.http.errors import http_refusal
from api.http.service import service_of
from api.http.writing import Write
from api.pages.forms import Form, offset_of, path_id, read_form, write_of
from api.pages.render import language_of, link, page, redirect, said, text
from api.pages.sessions import Administrator, Session
from pipelines.changes import Outcome
from schemas.changes import CHANGE_TYPES
from schemas.json_values import JsonObject
from schemas.refusals import NotThere, Refused
from warehouse.changes import webhooks
from warehouse.operate.sessions import Connection

router = APIRouter(prefix="/webhooks")

PAGE_SIZE: Final = 50
_STATES: Final = {"pause": "paused", "activate": "active"}
"""The buttons that change the state."""


@router.get("")
async def get_webhooks(request: Request, session: Administrator) -> Response:
    """List the company's webhooks, and the form for another one."""
    return await run_in_threadpool(_list_page, request, session)


@router.post("")
async def post_webhook(request: Request, session: Administrator) -> Response:
    """Add a webhook, and show it with its secret."""
    form = await read_form(request, session)
    description = form.get("description", "").strip() or None
    body = {"url": form.get("url", "").strip(), "description": description, "types": _ticked(form)}
    return await run_in_threadpool(_add, request, session, form, body)


@router.get("/{id}")
async def get_webhook(request: Request, session: Administrator) -> Response:
    """Show how sending to a webhook goes, and what was sent."""
    return await run_in_threadpool(_page, request, session, path_id(request))


@router.post("/{id}")
async def post_change(request: Request, session: Administrator) -> Response:
    """Try a webhook, pause it, take it up, change its filter, give it another secret, or remove it, by its `step`."""
    form = await read_form(request, session)
    webhook_id, step = path_id(request), form.get("step", "")
    if step == "try":
        tried = await try_webhook(service_of(request), session.company_id, webhook_id)
        return await run_in_threadpool(_page, request, session, webhook_id, tried=tried)
    return await run_in_threadpool(_change, request, session, webhook_id, form)


def _add(request: Request, session: Session, form: Form, body: JsonObject) -> Response:
    lang = language_of(request)
    try:
        made = _read(add_webhook(write_of(request, session, form.get("once")), body))
    except Refused as refused:
        faults = [_fault(issue, lang) for issue in http_refusal(refused).details or () if "message" in issue]
        return _list_page(request, session, faults=faults, form=form)
    return _page(request, session, UUID(made["data"]["id"]), secret=made["secret"])


def _change(request: Request, session: Session, webhook_id: UUID, form: Form) -> Response:
    write: Write = write_of(request, session, form.get("once"))
    match form.get("step"):
        case "pause" | "activate" as step:
            change_webhook(write, webhook_id, {"state": _STATES[step]})
        case "types":
            change_webhook(write, webhook_id, {"types": _ticked(form)})
        case "roll":
            rolled = _read(roll_secret(write, webhook_id, {}))
            return _page(request, session, webhook_id, secret=rolled["secret"])
        case "remove":
            remove_webhook(write, webhook_id)
            return redirect(link(request, "/webhooks"))
        case _:
            return _page(request, session, webhook_id)
    return redirect(link(request, f"/webhooks/{webhook_id}"))


def _list_page(
    request: Request, session: Session, *, faults: list[tuple[str, str]] | None = None, form: Form | None = None
) -> Response:
    offset = offset_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        found = _listed(conn, webhooks.page(PAGE_SIZE, offset))
    return page(
        request,
        "webhooks.html",
        session=session,
        status=400 if faults else 200,
        faults=faults or (),
        given=form or Form(),
        once=str(uuid4()),
        found=found["data"],
        most=webhooks.MOST,
        types=_named_types(language_of(request)),
        total=found["pagination"]["total"],
        offset=offset,
        size=PAGE_SIZE,
    )


def _page(
    request: Request, session: Session, webhook_id: UUID, *, secret: str | None = None, tried: Outcome | None = None
) -> Response:
    """Return the page of a webhook, with a new secret, or with what came of a message that tried it."""
    offset = offset_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        found = webhooks.detail(conn, webhook_id)
        if found is None:
            raise NotThere
        sent = _listed(conn, webhooks.page_of_deliveries(PAGE_SIZE, offset), id=webhook_id)
    hook = orjson.loads(found)
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


def _listed(conn: Connection, query: str, **values: object) -> Any:  # a page as the interface answers it
    row = conn.execute(query, values).fetchone()
    assert row is not None, "a page is one row"
    return orjson.loads(row[0])


def _read(answer: Response) -> Any:  # the interface's own answer
    return orjson.loads(bytes(answer.body))


def _fault(issue: Any, lang: str) -> tuple[str, str]:
    """Return the input that a refusal is about, and its sentence; the limit of webhooks is about no input."""
    field, sentence = (issue.get("field") or "").partition("[")[0], said(issue["message"], lang)
    return field, f"{text(f'webhooks.{field}', lang)}: {sentence}" if field else sentence
