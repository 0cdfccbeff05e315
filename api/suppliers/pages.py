"""Pages of suppliers: everyone whom the company has asked, each request and enquiry, and the forms that ask."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.audit.words import part_in_words
from api.conformity.pages import languages
from api.http.errors import http_refusal
from api.http.service import service_of
from api.pages.forms import Form, SentForm, offset_of, path_id, write_of
from api.pages.refusals import PageRefused
from api.pages.render import language_of, link, page, redirect, said, text
from api.pages.sessions import Editor, Session, Viewer
from schemas import texts
from schemas.actors import Actor
from schemas.json_values import JsonObject
from schemas.messages import header, supplier_languages
from schemas.refusals import Refused, require
from schemas.skus.inputs import parse_body
from schemas.skus.types import Component
from schemas.suppliers import (
    MAX_ITEMS,
    EnquiryLink,
    SupplierEnquiryDetail,
    SupplierEnquiryInput,
    SupplierEnquiryItem,
    SupplierRequest,
)
from schemas.vocabularies import SUBSTANCES
from services import suppliers as operations
from services.suppliers import Asked
from warehouse import enquiries, suppliers
from warehouse.operate.sessions import Connection
from warehouse.suppliers import EnquiryLinks

router = APIRouter()

PAGE_SIZE = 100
_LONGEST: Final = 500
"""Longest code or name in a form, in characters."""


@router.get("/suppliers")
def get_suppliers(request: Request, session: Viewer) -> Response:
    """List the suppliers; with `?name=` the requests to one of them, with `&state=` those in one state."""
    name = texts.from_form(request.query_params.get("name", ""))[:_LONGEST]
    state = request.query_params.get("state", "")
    state = state if state in suppliers.STATES else ""
    offset, now = offset_of(request), service_of(request).clock.now()
    values: JsonObject = {"name": name, "state": state, "states": suppliers.STATES, "offset": offset, "size": PAGE_SIZE}
    with service_of(request).writes.company(session.company_id) as conn:
        if name:
            listing = suppliers.requests_page(now, PAGE_SIZE, offset, supplier_name=name, state=state or None)
            lapsed = enquiries.lapsed_enquiries(conn, now)
            stale = {each.id for each in lapsed if each.old}
            values["stages"] = enquiries.stages(conn, now, stale, supplier_name=name)
            values["changed"] = {each.id for each in lapsed if each.changed}
            values |= {"found": listing.read(conn), "gone_in_words": partial(_gone, lang=language_of(request))}
            return page(request, "supplier_page.html", session=session, **values)
        suppliers_page = suppliers.suppliers_page(now, PAGE_SIZE, offset).read(conn)
    return page(request, "suppliers.html", session=session, found=suppliers_page, **values)


@router.get("/suppliers/worth")
def get_worth(request: Request, session: Viewer) -> Response:
    """Show whom it is worth asking, by the tonnes that hang on it, and whose answers hold no longer."""
    with service_of(request).writes.company(session.company_id) as conn:
        worth = enquiries.worth_asking(conn)
        lapsed = enquiries.lapsed_enquiries(conn, service_of(request).clock.now())
    return page(request, "supplier_worth.html", session=session, worth=worth, lapsed=lapsed)


_SHOWN: Final = 200
"""Requests on the page, the newest; `pcds supplier-request list` shows all."""


@router.get("/supplier-requests")
def get_requests(request: Request, session: Viewer) -> Response:
    """List the requests, and show the form; with `?sku=CODE` the components of that SKU to choose from."""
    return _requests_page(request, session, sku_code=request.query_params.get("sku", ""))


@router.post("/supplier-requests")
def post_request(request: Request, session: Editor, form: SentForm) -> Response:
    """Make a request; its link is shown on the answering page only."""
    write, sku_code = write_of(request, session), form.get("sku", "")[:_LONGEST]
    supplier_name = texts.from_form(form.get("supplier_name", ""))[:_LONGEST] or None
    try:
        chosen = [UUID(component) for component in form.getlist("component")]
    except ValueError:
        raise PageRefused(400, "refused.unreadable") from None
    if not chosen:
        fault = text("requests.none_chosen", language_of(request))
        return _requests_page(request, session, sku_code=sku_code, form=form, faults=[("component", fault)])

    make = partial(
        operations.create_request,
        actor=write.actor,
        sku_code=sku_code,
        component_ids=chosen,
        supplier_name=supplier_name,
    )
    try:
        _, token = write.do(make)
    except Refused as refused:
        fault = said(refused.issues[0].message, language_of(request))
        return _requests_page(request, session, sku_code=sku_code, form=form, faults=[("sku", fault)])
    return _requests_page(request, session, new_link=f"{write.service.settings.base_url}/supplier-data/{token}")


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
        requests = suppliers.requests_page(service_of(request).clock.now(), _SHOWN, 0).read(conn)["data"]
        if sku_code.strip():
            try:
                lines = operations.load_lines(conn, texts.code(texts.from_form(sku_code)))
            except Refused as refused:
                faults = faults or [("sku", said(refused.issues[0].message, lang))]
    return page(
        request,
        "supplier_requests.html",
        session=session,
        requests=requests,
        gone_in_words=partial(_gone, lang=lang),
        components=[(line["id"], part_in_words(line, lang)) for line in lines],
        given=form or Form([("sku", sku_code), *(("component", line["id"]) for line in lines)]),
        faults=faults,
        new_link=new_link,
    )


@router.post("/supplier-requests/{id}/withdraw")
def post_withdraw_request(request: Request, session: Editor, form: SentForm) -> Response:
    """End the link of one request, and go back to the page of its enquiry, or to the list."""
    write = write_of(request, session)
    _, withdrawn = write.do(partial(operations.withdraw_request, actor=write.actor, request_id=path_id(request)))
    of_enquiry = form.get("from") == "enquiry" and withdrawn["enquiry_id"]
    return redirect(link(request, f"/enquiries/{of_enquiry}" if of_enquiry else "/supplier-requests"))


ENQUIRIES_PAGE_SIZE: Final = 50
_OPTIONAL: Final = ("supplier_email", "language", "message", "due_on", "expires_on")
_SEPARATORS: Final = re.compile(r"[\r\n;,\t]+")


@router.get("/enquiries")
def get_enquiries(request: Request, session: Viewer) -> Response:
    """List the enquiries, and the form of a new one; `sku` of the address names items for it."""
    return _list_page(request, session)


@router.post("/enquiries")
def post_enquiry(request: Request, session: Editor, form: SentForm) -> Response:
    """Ask a supplier; the link is shown once, on the page that answers."""
    if form.get("do") == "preview":
        return _list_page(request, session, form=form)
    codes = _codes(form)
    body: JsonObject = {"supplier_name": form.get("supplier_name", ""), "sku_codes": list(dict.fromkeys(codes))}
    body |= {name: form[name] for name in _OPTIONAL if form.get(name, "").strip()}
    if days := form.get("reminder_days", "").strip():
        body["reminder_days"] = [_whole(day.strip()) for day in days.split(",")]
    if months := form.get("valid_months", "").strip():
        body["valid_months"] = _whole(months)

    def ask(conn: Connection, actor: Actor, links: EnquiryLinks) -> Asked:
        if not codes:  # all of the supplier's parts that lack a fact
            body["sku_codes"] = enquiries.codes_worth_asking(conn, texts.from_form(str(body["supplier_name"])))
        sent, asks_again = parse_body(SupplierEnquiryInput, body), form.get("asks_again") == "yes"
        return operations.create_enquiry(conn, actor, sent, links, asks_again=asks_again)

    try:
        return _show_mail(request, session, ask)
    except Refused as refused:
        return _list_page(request, session, form=form, faults=_faults(refused, language_of(request)))


@router.get("/enquiries/{id}")
def get_enquiry(request: Request, session: Viewer) -> Response:
    """Show one enquiry with the state of each item."""
    with service_of(request).writes.company(session.company_id) as conn:
        now, offset = service_of(request).clock.now(), offset_of(request)
        enquiry = suppliers.find_enquiry(conn, path_id(request), now, limit=PAGE_SIZE, offset=offset)
    return _enquiry_page(request, session, require(enquiry))


@router.post("/enquiries/{id}/remind")
def post_remind(request: Request, session: Editor, _: SentForm) -> Response:
    """Have a reminder mailed, and show its text to copy."""

    def remind(conn: Connection, actor: Actor, links: EnquiryLinks) -> Asked:
        return operations.remind(conn, actor, path_id(request), links)

    return _show_mail(request, session, remind)


@router.post("/enquiries/{id}/again")
def post_again(request: Request, session: Editor, _: SentForm) -> Response:
    """Ask once more about the same items; the new enquiry is shown with its link.

    Where one of them cannot be asked about any more, the form of a new enquiry is shown with all of it.
    """

    def ask(conn: Connection, actor: Actor, links: EnquiryLinks) -> Asked:
        return operations.ask_again(conn, actor, path_id(request), links)

    try:
        return _show_mail(request, session, ask)
    except Refused as refused:
        with service_of(request).writes.company(session.company_id) as conn:
            before = operations.load_enquiry(conn, path_id(request), service_of(request).clock.now())
        told = ((name, before[name] or "") for name in ("supplier_name", "supplier_email", "language", "message"))
        codes = "\n".join(item["sku_code"] for item in before["items"])
        form = Form([*told, ("sku_codes", codes)])
        return _list_page(request, session, form=form, faults=_faults(refused, language_of(request)))


@router.post("/enquiries/{id}/withdraw")
def post_withdraw(request: Request, session: Editor, _: SentForm) -> Response:
    """End the links of an enquiry."""
    write, enquiry_id = write_of(request, session), path_id(request)
    withdraw = partial(operations.withdraw, actor=write.actor, enquiry_id=enquiry_id)
    write.do(withdraw)
    return redirect(link(request, f"/enquiries/{enquiry_id}"))


def _codes(form: Form) -> list[str]:
    return [code for part in _SEPARATORS.split(form.get("sku_codes", "")) if (code := part.strip())]


def _whole(typed: str) -> int | str:
    """Return a whole number that was typed, with any minus; what is none stays, and is refused."""
    sign, digits = ("-", typed[1:]) if typed[:1] in ("-", "−", "–") else ("", typed)
    return int(sign + digits) if digits.isascii() and digits.isdecimal() and len(digits) < 6 else typed


def _show_mail(
    request: Request, session: Session, operation: Callable[[Connection, Actor, EnquiryLinks], Asked]
) -> Response:
    """Ask or remind, and show the enquiry with the mail to copy."""
    write = write_of(request, session)
    links = EnquiryLinks(write.service.settings)
    outcome = write.do(lambda conn: operation(conn, write.actor, links))
    assert outcome.enquiry is not None, "only a dry run makes none"
    return _enquiry_page(request, session, outcome.enquiry, outcome.link)


def _faults(refused: Refused, lang: str) -> list[tuple[str, str]]:
    """Return the faults at the inputs of the form; those of one code stand at the list of codes."""
    return [
        (name, f"{text(f'enquiries.{name}', lang)}: {said(issue['message'], lang)}")
        for issue in http_refusal(refused).details or ()
        if "message" in issue
        for name in [str(issue.get("field") or "sku_codes").partition("[")[0]]
    ]


def _list_page(
    request: Request, session: Session, *, form: Form | None = None, faults: Sequence[tuple[str, str]] = ()
) -> Response:
    offset, now = offset_of(request), service_of(request).clock.now()
    form = form or _asked_for(request)
    name = texts.from_form(form.get("supplier_name", "")).strip()[:_LONGEST]
    with service_of(request).writes.company(session.company_id) as conn:
        enquiries_page = suppliers.enquiries_page(now, ENQUIRIES_PAGE_SIZE, offset).read(conn)
        preview = None
        if name:
            codes = _codes(form)[:MAX_ITEMS]
            preview = operations.preview(conn, name, codes, rulesets=service_of(request).rulesets)
    return page(
        request,
        "enquiries.html",
        session=session,
        found=enquiries_page,
        offset=offset,
        size=ENQUIRIES_PAGE_SIZE,
        mailing=service_of(request).settings.smtp_url is not None,
        languages_of_mails=languages(language_of(request), supplier_languages()),
        given=form,
        faults=faults,
        preview=preview,
        deciding=[(_in_words(field, language_of(request)), counted) for field, counted in preview.fields]
        if preview
        else (),
    )


def _in_words(field: str, lang: str) -> str:
    return text(f"substance.{field}", lang) if field in SUBSTANCES else header("component", field, lang)


def _asked_for(request: Request) -> Form:
    """Return the form of a new enquiry with what its address names."""
    named = [(name, request.query_params.get(name, "")[:_LONGEST]) for name in ("supplier_name", "supplier_email")]
    return Form([("sku_codes", "\n".join(request.query_params.getlist("sku"))), *named])


def _gone(item: SupplierEnquiryItem | SupplierRequest, lang: str) -> str:
    """Return the parts in words that were asked about and that the item has no longer."""
    parts = (part["was"] for part in item["gone_parts"])
    return "; ".join(part_in_words(part, lang) if part else text("item.part", lang) for part in parts)


def _enquiry_page(
    request: Request, session: Session, enquiry: SupplierEnquiryDetail, mail: EnquiryLink | None = None
) -> Response:
    """Return the page of an enquiry, with a mail to copy where one was asked for."""
    now, offset, lang = service_of(request).clock.now(), offset_of(request), language_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        enquiry_id = UUID(str(enquiry["id"]))
        lapsed = enquiries.lapsed(conn, now, enquiry_id)
        stale = {enquiry_id} if any(item.is_old for item in lapsed) else ()
        [stage] = enquiries.stages(conn, now, stale, enquiry_id=enquiry_id)
    is_mailed = any(mail_row["state"] == "waiting" and mail_row["due_at"] <= now for mail_row in enquiry["mails"])
    return page(
        request,
        "enquiry.html",
        session=session,
        found=enquiry,
        listed=enquiry["items"][:PAGE_SIZE],
        gone_in_words=partial(_gone, lang=lang),
        own_path=f"/enquiries/{enquiry['id']}",
        offset=offset,
        size=PAGE_SIZE,
        stage=stage,
        changed=[
            (item.sku_code, [header("component", field, lang) for field in sorted({*chain(*item.changed.values())})])
            for item in lapsed
            if item.changed
        ],
        shown=mail,
        is_mailed=is_mailed,
    )
