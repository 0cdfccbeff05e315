"""Lists whom the company has asked for data and what came of it, by supplier and request by request."""

import json
from typing import Annotated, Any, Final  # Any: filters of every type
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import AfterValidator, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import in_language, json_of, json_text
from api.http.auth import Presented, read
from api.http.parameters import DryRun, Limit, Offset, RecordId, SupplierName, one_of
from api.http.requests import fingerprint
from api.http.service import service_of
from api.http.writing import JsonWrite, Write, with_reason
from api.openapi.document import READ_ERRORS, V1, WRITE_ERRORS, body_of, operation
from schemas.json_values import Json, JsonObject
from schemas.refusals import NotThere
from schemas.skus.inputs import ReasonInput, parse_body, validator
from schemas.suppliers import (
    SupplierEnquiryInput,
    SupplierEnquiryListResponse,
    SupplierEnquiryResponse,
    SupplierEnquiryResult,
    SupplierListResponse,
    SupplierRequestListResponse,
)
from services.suppliers import enquiries as enquiries_suppliers
from warehouse.operate.sessions import Connection
from warehouse.suppliers import enquiries, overview
from warehouse.suppliers.enquiries import EnquiryLinks

router = APIRouter(prefix=V1, tags=["Suppliers"])

State = Annotated[
    str | None,
    AfterValidator(validator(one_of, overview.STATES)),
    WithJsonSchema({"type": "string", "enum": list(overview.STATES)}),
    Query(description="Only requests in this state."),
]


@router.get(
    "/suppliers", **operation("List suppliers", answers={200: SupplierListResponse}, errors=READ_ERRORS, preview=True)
)
async def list_suppliers(request: Request, presented: Presented, limit: Limit = 50, offset: Offset = 0) -> Response:
    """Whom the company has asked, by name: how many requests are in which state, and when it was last asked."""
    (page,) = await read(request, presented, overview.page(limit, offset), _asked(request))
    return json_text(page)


@router.get(
    "/supplier-requests",
    **operation(
        "List requests to suppliers",
        answers={200: SupplierRequestListResponse},
        errors=READ_ERRORS,
        preview=True,
    ),
)
async def list_supplier_requests(
    request: Request,
    presented: Presented,
    *,
    supplier_name: SupplierName = None,
    state: State = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """A page of requests, newest first, each about one SKU; those of an enquiry name it."""
    asked = _asked(request, supplier_name=supplier_name, state=state)
    (page,) = await read(request, presented, overview.requests_page(limit, offset), asked)
    return json_text(page)


def _asked(request: Request, **more: Any) -> dict[str, object]:
    now = service_of(request).clock.now()
    return overview.filters(now=now, today=now.date(), **more)


enquiries_router = APIRouter(prefix=f"{V1}/supplier-enquiries", tags=["Suppliers"])

_ERRORS: Final = tuple(code for code in WRITE_ERRORS if code != "plan_limit_reached")


@enquiries_router.get(
    "",
    **operation(
        "List enquiries to suppliers",
        answers={200: SupplierEnquiryListResponse},
        errors=READ_ERRORS,
        preview=True,
    ),
)
async def list_supplier_enquiries(
    request: Request,
    presented: Presented,
    *,
    supplier_name: SupplierName = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """A page of enquiries, newest first: what was asked, answered, is open or overdue."""
    asked = {**_days(request), "supplier_name": supplier_name}
    (page,) = await read(request, presented, enquiries.page(limit, offset), asked)
    return json_text(page)


@enquiries_router.get(
    "/{id}",
    **operation(
        "Read an enquiry to a supplier",
        answers={200: SupplierEnquiryResponse},
        errors=(*READ_ERRORS, "not_found"),
        preview=True,
    ),
)
async def get_supplier_enquiry(request: Request, presented: Presented, enquiry_id: RecordId) -> Response:
    """The enquiry with the state of each item, and what the supplier was told of a rejected answer."""
    (found,) = await read(request, presented, enquiries.DETAIL, {"id": enquiry_id, **_days(request)})
    if found is None:
        raise NotThere
    return json_text(f'{{"data":{found}}}')


@enquiries_router.post(
    "",
    **operation(
        "Ask a supplier about many SKUs",
        body=body_of(SupplierEnquiryInput),
        answers={200: SupplierEnquiryResult, 201: SupplierEnquiryResult},
        errors=_ERRORS,
        preview=True,
    ),
)
def post_supplier_enquiry(received: JsonWrite, dry_run: DryRun) -> Response:
    """Makes one link whose page lists the SKUs, each with its own form; the supplier answers each of them.

    Answers wait for review like those to any request. The link works until the end of `expires_on` (UTC) or until the
    enquiry is withdrawn; the form of an item ends earlier, with the acceptance of its answer.
    """
    write, body = received.admitted()
    sent: JsonObject = {}

    def work(conn: Connection) -> JsonObject:
        made = create_enquiry(conn, write, body, dry_run=dry_run)
        data = None
        if made is not None:
            data = load_detail(conn, write, made)
            sent.update(load_mail(conn, write, made, "asked"))
        return {"outcome": "created", "dry_run": dry_run, "data": data, "url": None, "mail": None}

    response = write.answer(fingerprint(body), work, lambda shown: _created(shown, dry_run=dry_run), dry_run=dry_run)
    return _with_link(write, response, sent)


@enquiries_router.post(
    "/{id}/remind",
    **operation(
        "Remind a supplier of an enquiry",
        body=body_of(ReasonInput),
        answers={200: SupplierEnquiryResult},
        errors=(*_ERRORS, "not_found"),
        preview=True,
    ),
)
def post_remind_supplier(received: JsonWrite, enquiry_id: RecordId, dry_run: DryRun) -> Response:
    """Mails the open items to the supplier, at most once in 24 hours, and returns the same text for a person to send.

    `outcome` is `updated` where it is mailed. It is `unchanged` where the service does not mail or has no address of
    the supplier, where nothing is open, and within 24 hours of the last mail.
    """
    write, body = received.admitted()
    write = with_reason(write, body)
    sent: JsonObject = {}

    def work(conn: Connection) -> JsonObject:
        is_mailed = remind_supplier(conn, write, enquiry_id, dry_run=dry_run)
        sent.update(load_mail(conn, write, enquiry_id, "reminder"))
        outcome = "updated" if is_mailed else "unchanged"
        data = load_detail(conn, write, enquiry_id)
        return {"outcome": outcome, "dry_run": dry_run, "data": data, "url": None, "mail": None}

    return _with_link(write, write.answer(fingerprint(body), work, json_of, dry_run=dry_run), sent)


@enquiries_router.post(
    "/{id}/withdraw",
    **operation(
        "Withdraw an enquiry to a supplier",
        body=body_of(ReasonInput),
        answers={200: SupplierEnquiryResult},
        errors=(*_ERRORS, "not_found"),
        preview=True,
    ),
)
def post_withdraw_enquiry(received: JsonWrite, enquiry_id: RecordId, dry_run: DryRun) -> Response:
    """Ends the enquiry's link and those of its items at once; answers that wait for review can still be decided."""
    write, body = received.admitted()
    write = with_reason(write, body)

    def work(conn: Connection) -> JsonObject:
        before = enquiries.of(conn, enquiry_id)
        enquiries_suppliers.withdraw(conn, write.actor, enquiry_id, dry_run=dry_run)
        outcome = "updated" if before and before.withdrawn_at is None else "unchanged"
        return {
            "outcome": outcome,
            "dry_run": dry_run,
            "data": load_detail(conn, write, enquiry_id),
            "url": None,
            "mail": None,
        }

    return write.answer(fingerprint(body), work, json_of, dry_run=dry_run)


def create_enquiry(conn: Connection, write: Write, body: Json, *, dry_run: bool) -> UUID | None:
    """Make the enquiry of a body; return its id, None for a dry run. Raise `Refused`."""
    return enquiries_suppliers.create(
        conn,
        write.actor,
        parse_body(SupplierEnquiryInput, body),
        links=EnquiryLinks(write.service.settings),
        mailing=write.service.settings.smtp_url is not None,
        dry_run=dry_run,
    )


def remind_supplier(conn: Connection, write: Write, enquiry_id: UUID, *, dry_run: bool = False) -> bool:
    """Have a reminder mailed; return whether it is. Raise `NotThere`."""
    return enquiries_suppliers.remind(
        conn,
        write.actor,
        enquiry_id,
        mailing=write.service.settings.smtp_url is not None,
        dry_run=dry_run,
    )


def load_mail(conn: Connection, write: Write, enquiry_id: UUID, kind: str) -> JsonObject:
    """Return the link of an enquiry and the mail of a kind with it, to copy; nothing where it has no use any more."""
    links = EnquiryLinks(write.service.settings)
    text = enquiries_suppliers.text_of(conn, enquiry_id, links, kind, write.actor.now)
    return {} if text is None else {"url": links.address_of(conn, enquiry_id), "mail": text._asdict()}


def load_detail(conn: Connection, write: Write, enquiry_id: UUID) -> Json:
    """Return an enquiry with its items in its published form."""
    asked = {"id": enquiry_id, "now": write.actor.now, "today": write.actor.now.date()}
    return json.loads(enquiries.detail(conn, asked))


def _with_link(write: Write, response: Response, sent: JsonObject) -> Response:
    """Return the answer with its link, which is in what is sent and not in what is stored for a repeat."""
    if not sent or "Idempotent-Replayed" in response.headers:
        return response
    shown = json.loads(bytes(response.body)) | sent
    return in_language(json_of(shown, response.status_code), write.actor.lang)


def _created(shown: JsonObject, *, dry_run: bool) -> Response:
    return json_of(shown, 200 if dry_run else 201)


def _days(request: Request) -> JsonObject:
    now = service_of(request).clock.now()
    return {"now": now, "today": now.date()}
