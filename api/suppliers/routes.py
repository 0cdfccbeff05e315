"""Lists whom the company has asked and what came of it, asks many items at once, and takes a supplier's answer.

An answer is authenticated by the token in its path. An unknown token and a token whose request already has its answer
get the same answer after the same statement. `api.suppliers.supplier_pages` is what the supplier sees in a browser;
both call `file_answer`.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import AfterValidator, WithJsonSchema
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import JsonAnswer, json_of
from api.http.auth import Presented, Reader, answer_page
from api.http.errors import RateLimited
from api.http.parameters import DryRun, Limit, Offset, RecordId, SupplierName, one_of, refuse_parameters
from api.http.requests import client_network, fingerprint, json_body
from api.http.service import service_of
from api.http.writing import JsonWrite, Write, with_reason
from api.openapi.document import CHANGE_ERRORS, READ_ERRORS, V1, body_of, operation
from schemas.json_values import Json, JsonObject
from schemas.refusals import NotThere
from schemas.skus.inputs import ReasonInput, parse_body, validator
from schemas.skus.types import SupplierResponse
from schemas.suppliers import (
    SupplierEnquiryInput,
    SupplierEnquiryListResponse,
    SupplierEnquiryResponse,
    SupplierEnquiryResult,
    SupplierRequest,
    SupplierRequestInput,
    SupplierRequestListResponse,
    SupplierRequestResult,
    SupplierRequestWithdrawal,
    SupplierSubmission,
    SupplierSubmissionAccepted,
    parse_submission,
)
from schemas.texts import code
from services import suppliers as operations
from services.suppliers import Asked
from warehouse import suppliers
from warehouse.operate.sessions import Connection, savepoint
from warehouse.review import Entry
from warehouse.suppliers import EnquiryLinks, Linked

router = APIRouter(prefix=V1, tags=["Suppliers"])

State = Annotated[
    str | None,
    AfterValidator(validator(one_of, suppliers.STATES)),
    WithJsonSchema({"type": "string", "enum": list(suppliers.STATES)}),
    Query(description="Only requests in this state."),
]


@router.get("/asked-suppliers", include_in_schema=False)
async def list_asked_suppliers(
    request: Request, presented: Presented, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """Whom the company has asked, by name: how many requests are in which state, and when it was last asked."""
    now = service_of(request).clock.now()
    return await answer_page(request, presented, suppliers.suppliers_page(now, limit, offset))


@router.get(
    "/supplier-requests",
    **operation(
        "List requests to suppliers", answers={200: SupplierRequestListResponse}, errors=READ_ERRORS, preview=True
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
    now = service_of(request).clock.now()
    listing = suppliers.requests_page(now, limit, offset, supplier_name=supplier_name, state=state)
    return await answer_page(request, presented, listing)


@router.post(
    "/supplier-requests",
    **operation(
        "Ask a supplier about one SKU",
        body=body_of(SupplierRequestInput),
        answers={200: SupplierRequestResult, 201: SupplierRequestResult},
        errors=CHANGE_ERRORS,
    ),
)
def post_supplier_request(received: JsonWrite, dry_run: DryRun) -> Response:
    """Makes a link whose `token` is answered once: `POST /api/supplier-data/{token}` takes a program's answer.

    Without `component_ids` all components are asked about. Nobody is mailed; an answer waits for review. `url` is a
    page with a form for a person.
    """
    write, body = received.admitted()

    def ask(conn: Connection) -> JsonObject:
        sent = parse_body(SupplierRequestInput, body)
        ids = [UUID(component_id) for component_id in sent.component_ids or ()]
        with savepoint(conn) as part:
            part.keep = not dry_run
            made, token = operations.create_request(
                conn, write.actor, sku_code=code(sent.sku_code), component_ids=ids, supplier_name=sent.supplier_name
            )
        answer = {
            "outcome": "created",
            "dry_run": dry_run,
            "id": None,
            "component_ids": made.component_ids,
            "token": None,
            "url": None,
        }
        url = f"{write.service.settings.base_url}/supplier-data/{token}"
        return answer if dry_run else answer | {"id": made.id, "token": token, "url": url}

    def render(answer: JsonObject) -> JsonAnswer:
        return json_of(answer, 200 if dry_run else 201)

    return write.answer_with_secret(fingerprint(body), ask, render, ["token", "url"], dry_run=dry_run)


@router.post(
    "/supplier-requests/{id}/withdraw",
    **operation(
        "Withdraw a request to a supplier",
        body=body_of(ReasonInput),
        answers={200: SupplierRequestWithdrawal},
        errors=(*CHANGE_ERRORS, "not_found"),
        preview=True,
    ),
)
def post_withdraw_request(received: JsonWrite, request_id: RecordId, dry_run: DryRun) -> Response:
    """Ends the link of one request, also of an item of an enquiry, whose other items are still asked about.

    An answer that waits for review can still be decided.
    """
    write, body = received.admitted()
    write = with_reason(write, body)
    withdraw = partial(operations.withdraw_request, actor=write.actor, request_id=request_id, dry_run=dry_run)

    def render(done: tuple[str, SupplierRequest]) -> JsonAnswer:
        return json_of({"outcome": done[0], "dry_run": dry_run, "data": done[1]})

    return write.answer(fingerprint(body), withdraw, render, dry_run=dry_run)


enquiries_router = APIRouter(prefix=f"{V1}/supplier-enquiries", tags=["Suppliers"])


@enquiries_router.get(
    "",
    **operation(
        "List enquiries to suppliers", answers={200: SupplierEnquiryListResponse}, errors=READ_ERRORS, preview=True
    ),
)
async def list_supplier_enquiries(
    request: Request, presented: Presented, *, supplier_name: SupplierName = None, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """A page of enquiries, newest first: what was asked, answered, is open or overdue."""
    now = service_of(request).clock.now()
    listing = suppliers.enquiries_page(now, limit, offset, supplier_name=supplier_name)
    return await answer_page(request, presented, listing)


@enquiries_router.get(
    "/{id}",
    **operation(
        "Read an enquiry to a supplier",
        answers={200: SupplierEnquiryResponse},
        errors=(*READ_ERRORS, "not_found"),
        preview=True,
    ),
)
def get_supplier_enquiry(request: Request, key: Reader, enquiry_id: RecordId) -> Response:
    """The enquiry with the state of each item, and what the supplier was told of a rejected answer."""
    service = service_of(request)
    with service.writes.company(key.company_id) as conn:
        return json_of({"data": operations.load_enquiry(conn, enquiry_id, service.clock.now())})


@enquiries_router.post(
    "",
    **operation(
        "Ask a supplier about many SKUs",
        body=body_of(SupplierEnquiryInput),
        answers={200: SupplierEnquiryResult, 201: SupplierEnquiryResult},
        errors=CHANGE_ERRORS,
        preview=True,
    ),
)
def post_supplier_enquiry(received: JsonWrite, dry_run: DryRun) -> Response:
    """Makes one link whose page lists the SKUs, each with its own form; the supplier answers each of them.

    Answers wait for review like those to any request. The link works until the end of `expires_on` (UTC) or until the
    enquiry is withdrawn; the form of an item ends earlier, with the acceptance of its answer.
    """
    write, body = received.admitted()

    def ask(conn: Connection) -> Asked:
        sent = parse_body(SupplierEnquiryInput, body)
        return operations.create_enquiry(conn, write.actor, sent, EnquiryLinks(write.service.settings), dry_run=dry_run)

    return _answered(write, body, ask, dry_run=dry_run)


@enquiries_router.post(
    "/{id}/remind",
    **operation(
        "Remind a supplier of an enquiry",
        body=body_of(ReasonInput),
        answers={200: SupplierEnquiryResult},
        errors=(*CHANGE_ERRORS, "not_found"),
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
    links = EnquiryLinks(write.service.settings)
    remind = partial(operations.remind, actor=write.actor, enquiry_id=enquiry_id, links=links, dry_run=dry_run)
    return _answered(write, body, remind, dry_run=dry_run)


@enquiries_router.post(
    "/{id}/withdraw",
    **operation(
        "Withdraw an enquiry to a supplier",
        body=body_of(ReasonInput),
        answers={200: SupplierEnquiryResult},
        errors=(*CHANGE_ERRORS, "not_found"),
        preview=True,
    ),
)
def post_withdraw_enquiry(received: JsonWrite, enquiry_id: RecordId, dry_run: DryRun) -> Response:
    """Ends the enquiry's link and those of its items at once; answers that wait for review can still be decided."""
    write, body = received.admitted()
    write = with_reason(write, body)
    withdraw = partial(operations.withdraw, actor=write.actor, enquiry_id=enquiry_id, dry_run=dry_run)
    return _answered(write, body, withdraw, dry_run=dry_run)


def _answered(write: Write, body: Json, operation: Callable[[Connection], Asked], *, dry_run: bool) -> Response:
    """Answer a write with the enquiry, and once with its link and mail."""

    def render(done: Asked) -> JsonAnswer:
        result = {"outcome": done.outcome, "dry_run": dry_run, "data": done.enquiry, "url": None, "mail": None}
        status = 201 if done.outcome == "created" and not dry_run else 200
        return json_of(result | (done.link or {}), status)

    return write.answer_with_secret(fingerprint(body), operation, render, ["url", "mail"], dry_run=dry_run)


answers_router = APIRouter(prefix="/api/supplier-data", tags=["Suppliers"])

_ERRORS: Final = (
    "invalid_body",
    "not_found",
    "idempotency_key_reuse",
    "payload_too_large",
    "rate_limited",
    "internal_error",
)
Token = Annotated[str, Path(description="The token of the link that the supplier was sent.")]


@answers_router.post(
    "/{token}",
    **operation(
        "Answer a request as a supplier",
        body=body_of(SupplierSubmission),
        answers={202: SupplierSubmissionAccepted},
        errors=_ERRORS,
    ),
)
async def post_supplier_data(request: Request, token: Token) -> Response:
    """An answer for the components that the request asks about; a person at the company accepts or rejects it.

    A newer answer takes the place of one that waits for review. Once the company has accepted an answer the token is
    unknown; after a rejection it takes another. Ten a minute for a token, and ten for an address.
    """
    link = await admit_supplier(request, token)
    refuse_parameters(request)
    body = await json_body(request)
    response, write = parse_submission(body), write_of_supplier(request, link)

    def accepted(entry: Entry) -> Response:
        return json_of({"status": "awaiting_review", "submission_id": entry.id}, 202)

    return await run_in_threadpool(
        write.answer, fingerprint(body), partial(file_answer, write, link, response), accepted
    )


async def admit_supplier(request: Request, token: str, kind: Literal["supplier", "enquiry"] = "supplier") -> Linked:
    """Return the request or enquiry of the token, and count the call. Raise `RateLimited`, then `NotThere`."""
    service = service_of(request)
    address, now = client_network(request), service.clock.now()
    admitted = await service.reads.run(partial(suppliers.admit, kind=kind, token=token, address=address, at=now))
    if admitted.retry_after:
        raise RateLimited(admitted.retry_after)
    if admitted.id is None or admitted.company_id is None:
        raise NotThere
    request.state.company_id = admitted.company_id
    return Linked(admitted.id, admitted.company_id)


def write_of_supplier(request: Request, link: Linked) -> Write:
    """Return a write by the supplier whom a request asks."""
    return Write.by(request, link.company_id, "supplier", str(link.id))


def file_answer(write: Write, link: Linked, response: SupplierResponse, conn: Connection) -> Entry:
    """File an answer for review and return its entry; `response` is parsed. Raise `NotThere` and `Refused`."""
    return operations.submit(conn, write.actor, link.id, response, rulesets=write.service.rulesets)
