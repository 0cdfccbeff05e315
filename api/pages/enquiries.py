"""Pages of enquiries: asking a supplier about many items under one link, what came of it, reminding, withdrawing."""

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

from api.enquiries import create_enquiry, load_detail, load_mail, remind_supplier
from api.errors import http_refusal
from api.pages.advice import said
from api.pages.documents import languages
from api.pages.forms import Form, read_form
from api.pages.render import language_of, link, page, redirect
from api.pages.request_values import offset_of, path_id, write_of
from api.pages.sessions import Editor, Session, Viewer
from api.pages.texts import text
from api.service import service_of
from schemas.json_values import JsonObject
from schemas.refusals import NotThere, Refused
from services import supplier_enquiries
from warehouse.review import enquiries
from warehouse.sessions import Connection

router = APIRouter(prefix="/enquiries")

PAGE_SIZE: Final = 50
_OPTIONAL: Final = ("supplier_email", "language", "message", "due_on", "expires_on")
_SEPARATORS: Final = re.compile(r"[\r\n;,\t]+")


@router.get("")
async def get_enquiries(request: Request, session: Viewer) -> Response:
    """List the enquiries, and the form of a new one; `sku` of the address names items for it."""
    return await run_in_threadpool(_list_page, request, session)


@router.post("")
async def post_enquiry(request: Request, session: Editor) -> Response:
    """Ask a supplier; the link is shown once, on the page that answers."""
    form = await read_form(request, session)
    return await run_in_threadpool(_ask, request, session, form)


@router.get("/{id}")
async def get_enquiry(request: Request, session: Viewer) -> Response:
    """Show one enquiry with the state of each item."""
    return await run_in_threadpool(_page, request, session)


@router.post("/{id}/remind")
async def post_remind(request: Request, session: Editor) -> Response:
    """Have a reminder mailed, and show its text to copy."""
    await read_form(request, session)
    return await run_in_threadpool(_remind, request, session)


@router.post("/{id}/withdraw")
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
    return _page(request, session, enquiry_id, "asked")


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
        (listed,) = conn.execute(enquiries.page(PAGE_SIZE, offset), asked).fetchone() or ("{}",)
    named = "\n".join(request.query_params.getlist("sku"))
    return page(
        request,
        "enquiries.html",
        session=session,
        status=400 if faults else 200,
        found=orjson.loads(listed),
        offset=offset,
        size=PAGE_SIZE,
        mailing=service_of(request).settings.smtp_url is not None,
        languages_of_mails=languages(language_of(request)),
        given=form or Form([("sku_codes", named)]),
        faults=faults,
    )


def _page(request: Request, session: Session, enquiry_id: UUID | None = None, mail: str | None = None) -> Response:
    """Return the page of an enquiry, with a mail to copy where one was asked for."""
    write, enquiry_id = write_of(request, session), enquiry_id or path_id(request)
    with write.service.writes.company(session.company_id) as conn:
        if enquiries.of(conn, enquiry_id) is None:
            raise NotThere
        found = load_detail(conn, write, enquiry_id)
        shown = load_mail(conn, write, enquiry_id, mail) if mail else {}
    is_mailed = any(
        each["state"] == "waiting" and datetime.fromisoformat(each["due_at"]) <= write.now for each in found["mails"]
    )
    return page(request, "enquiry.html", session=session, found=found, shown=shown, is_mailed=is_mailed)


def _remind(request: Request, session: Session) -> Response:
    write, enquiry_id = write_of(request, session), path_id(request)

    write.service.writes.run(session.company_id, lambda conn: remind_supplier(conn, write, enquiry_id))
    return _page(request, session, mail="reminder")


def _withdraw(request: Request, session: Session) -> Response:
    write, enquiry_id = write_of(request, session), path_id(request)
    with write.service.writes.company(session.company_id) as conn:
        supplier_enquiries.withdraw(conn, session.company_id, enquiry_id, origin=write.origin, now=write.now)
    return redirect(link(request, f"/enquiries/{enquiry_id}"))
