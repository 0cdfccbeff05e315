"""Pages of suppliers: everyone whom the company has asked, and one of them with each request."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import orjson
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.audit.pages import part_in_words
from api.conformity.pages import languages
from api.http.errors import http_refusal
from api.http.service import service_of
from api.pages.forms import Form, offset_of, origin_of, path_id, read_form, write_of
from api.pages.refusals import PageRefused
from api.pages.render import language_of, link, page, redirect, said, text
from api.pages.sessions import Editor, Session, Viewer
from api.suppliers.routes import create_enquiry, load_detail, load_mail, remind_supplier
from schemas import texts
from schemas.actors import Actor
from schemas.json_values import JsonObject
from schemas.refusals import NotThere, Refused
from schemas.skus.types import Component
from services.suppliers import enquiries as enquiries_suppliers
from services.suppliers import requests as requests_suppliers
from warehouse.operate.sessions import Connection
from warehouse.suppliers import enquiries, overview
from warehouse.suppliers import requests as queries

router = APIRouter(prefix="/suppliers")

PAGE_SIZE = 100
_LONGEST = 500


@router.get("")
async def get_suppliers(request: Request, session: Viewer) -> Response:
    """List the suppliers; with `?name=` the requests to one of them, with `&state=` those in one state."""
    return await run_in_threadpool(_page, request, session)


def _page(request: Request, session: Session) -> Response:
    name = texts.shown(request.query_params.get("name", ""))[:_LONGEST]
    state = request.query_params.get("state", "")
    state = state if state in overview.STATES else ""
    offset, now = offset_of(request), service_of(request).clock.now()
    asked = overview.filters(now=now, today=now.date(), supplier_name=name or None, state=state or None)
    query = overview.requests_page if name else overview.page
    with service_of(request).writes.company(session.company_id) as conn:
        (listed,) = conn.execute(query(PAGE_SIZE, offset), asked).fetchone() or ("{}",)
    return page(
        request,
        "supplier_page.html" if name else "suppliers.html",
        session=session,
        name=name,
        state=state,
        states=overview.STATES,
        found=orjson.loads(listed),
        offset=offset,
        size=PAGE_SIZE,
    )


supplier_requests_router = APIRouter(prefix="/supplier-requests")

_LONGEST_REQUEST: Final = 500
"""Longest code or name in a form, in characters."""
_SHOWN: Final = 200
"""Requests on the page, the newest; `pcds supplier-request list` shows all."""


@supplier_requests_router.get("")
async def get_requests(request: Request, session: Viewer) -> Response:
    """List the requests, and show the form; with `?sku=CODE` the components of that SKU to choose from."""
    return await run_in_threadpool(_requests_page, request, session, sku_code=request.query_params.get("sku", ""))


@supplier_requests_router.post("")
async def post_request(request: Request, session: Editor) -> Response:
    """Make a request; its link is shown on the answering page only."""
    form = await read_form(request, session)
    return await run_in_threadpool(_make, request, session, form)


def _make(request: Request, session: Session, form: Form) -> Response:
    service, sku_code = service_of(request), form.get("sku", "")[:_LONGEST_REQUEST]
    supplier_name = texts.shown(form.get("supplier_name", ""))[:_LONGEST_REQUEST] or None
    origin = origin_of(request, session)
    try:
        chosen = [UUID(each) for each in form.getlist("component")]
    except ValueError:
        raise PageRefused(400, "refused.unreadable") from None
    if not chosen:
        fault = text("requests.none_chosen", language_of(request))
        return _requests_page(request, session, sku_code=sku_code, form=form, faults=[("component", fault)])

    def work(conn: Connection) -> str:
        return requests_suppliers.create(
            conn,
            Actor(session.company_id, origin, service.clock.now()),
            sku_code=sku_code,
            component_ids=chosen,
            supplier_name=supplier_name,
        )[1]

    try:
        token = service.writes.run(session.company_id, work)
    except Refused as refused:
        fault = said(refused.issues[0].message, language_of(request))
        return _requests_page(request, session, sku_code=sku_code, form=form, faults=[("sku", fault)])
    return _requests_page(request, session, new_link=f"{service.settings.base_url}/supplier-data/{token}")


def _requests_page(
    request: Request,
    session: Session,
    *,
    sku_code: str = "",
    form: Form | None = None,
    faults: Sequence[tuple[str, str]] = (),
    new_link: str | None = None,
) -> Response:
    lang, lines = language_of(request), list[Component]()
    with service_of(request).writes.company(session.company_id) as conn:
        requests = queries.every(conn, limit=_SHOWN)
        if sku_code.strip():
            try:
                lines = requests_suppliers.load_lines(conn, texts.code(texts.shown(sku_code)))
            except Refused as refused:
                faults = faults or [("sku", said(refused.issues[0].message, lang))]
    return page(
        request,
        "supplier_requests.html",
        session=session,
        status=400 if faults else 200,
        requests=requests,
        components=[(line["id"], part_in_words(line, lang)) for line in lines],
        given=form or Form([("sku", sku_code), *(("component", line["id"]) for line in lines)]),
        faults=faults,
        new_link=new_link,
    )


enquiries_router = APIRouter(prefix="/enquiries")

ENQUIRIES_PAGE_SIZE: Final = 50
_OPTIONAL: Final = ("supplier_email", "language", "message", "due_on", "expires_on")
_SEPARATORS: Final = re.compile(r"[\r\n;,\t]+")


@enquiries_router.get("")
async def get_enquiries(request: Request, session: Viewer) -> Response:
    """List the enquiries, and the form of a new one; `sku` of the address names items for it."""
    return await run_in_threadpool(_list_page, request, session)


@enquiries_router.post("")
async def post_enquiry(request: Request, session: Editor) -> Response:
    """Ask a supplier; the link is shown once, on the page that answers."""
    form = await read_form(request, session)
    return await run_in_threadpool(_ask, request, session, form)


@enquiries_router.get("/{id}")
async def get_enquiry(request: Request, session: Viewer) -> Response:
    """Show one enquiry with the state of each item."""
    return await run_in_threadpool(_enquiries_page, request, session)


@enquiries_router.post("/{id}/remind")
async def post_remind(request: Request, session: Editor) -> Response:
    """Have a reminder mailed, and show its text to copy."""
    await read_form(request, session)
    return await run_in_threadpool(_remind, request, session)


@enquiries_router.post("/{id}/withdraw")
async def post_withdraw(request: Request, session: Editor) -> Response:
    """End the links of an enquiry."""
    await read_form(request, session)
    return await run_in_threadpool(_withdraw, request, session)


def _ask(request: Request, session: Session, form: Form) -> Response:
    lang, write = language_of(request), write_of(request, session)
    codes = [code for each in _SEPARATORS.split(form.get("sku_codes", "")) if (code := each.strip())]
    body: JsonObject = {"supplier_name": form.get("supplier_name", ""), "sku_codes": list(dict.fromkeys(codes))}
    body |= {name: form[name] for name in _OPTIONAL if form.get(name, "").strip()}

    def work(conn: Connection) -> UUID:
        made = create_enquiry(conn, write, body, dry_run=False)
        assert made is not None, "only a dry run makes none"
        return made

    try:
        enquiry_id = write.service.writes.run(session.company_id, work)
    except Refused as refused:
        return _list_page(request, session, form=form, faults=_faults(refused, lang))
    return _enquiries_page(request, session, enquiry_id, "asked")


def _faults(refused: Refused, lang: str) -> list[tuple[str, str]]:
    """Return the faults at the inputs of the form; those of one code stand at the list of codes."""
    return [
        (name, f"{text(f'enquiries.{name}', lang)}: {said(issue['message'], lang)}")
        for issue in http_refusal(refused).details or ()
        if "message" in issue
        for name in [str(issue.get("field") or "sku_codes").partition("[")[0]]
    ]


def _list_page(
    request: Request,
    session: Session,
    *,
    form: Form | None = None,
    faults: Sequence[tuple[str, str]] = (),
) -> Response:
    offset, now = offset_of(request), service_of(request).clock.now()
    with service_of(request).writes.company(session.company_id) as conn:
        asked = {"now": now, "today": now.date(), "supplier_name": None}
        (listed,) = conn.execute(enquiries.page(ENQUIRIES_PAGE_SIZE, offset), asked).fetchone() or ("{}",)
    named = "\n".join(request.query_params.getlist("sku"))
    return page(
        request,
        "enquiries.html",
        session=session,
        status=400 if faults else 200,
        found=orjson.loads(listed),
        offset=offset,
        size=ENQUIRIES_PAGE_SIZE,
        mailing=service_of(request).settings.smtp_url is not None,
        languages_of_mails=languages(language_of(request)),
        given=form or Form([("sku_codes", named)]),
        faults=faults,
    )


def _enquiries_page(
    request: Request, session: Session, enquiry_id: UUID | None = None, mail: str | None = None
) -> Response:
    """Return the page of an enquiry, with a mail to copy where one was asked for."""
    write, enquiry_id = write_of(request, session), enquiry_id or path_id(request)
    with write.service.writes.company(session.company_id) as conn:
        if enquiries.of(conn, enquiry_id) is None:
            raise NotThere
        found = load_detail(conn, write, enquiry_id)
        shown = load_mail(conn, write, enquiry_id, mail) if mail else {}
    is_mailed = any(
        each["state"] == "waiting" and datetime.fromisoformat(each["due_at"]) <= write.actor.now
        for each in found["mails"]
    )
    return page(request, "enquiry.html", session=session, found=found, shown=shown, is_mailed=is_mailed)


def _remind(request: Request, session: Session) -> Response:
    write, enquiry_id = write_of(request, session), path_id(request)

    write.service.writes.run(session.company_id, lambda conn: remind_supplier(conn, write, enquiry_id))
    return _enquiries_page(request, session, mail="reminder")


def _withdraw(request: Request, session: Session) -> Response:
    write, enquiry_id = write_of(request, session), path_id(request)
    with write.service.writes.company(session.company_id) as conn:
        enquiries_suppliers.withdraw(
            conn,
            Actor(session.company_id, write.actor.origin, write.actor.now),
            enquiry_id,
        )
    return redirect(link(request, f"/enquiries/{enquiry_id}"))
