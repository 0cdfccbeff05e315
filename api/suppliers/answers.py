"""POST /api/supplier-data/{token}: stores a supplier's answer to a request, authenticated by the token in the path.

An unknown token and a token whose request already has its answer get the same answer after the same statement.
`api.suppliers.supplier_pages` is what the supplier sees in a browser; both call `file_answer`.
"""

from functools import partial
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Path
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import json_of
from api.http.errors import RateLimited
from api.http.parameters import refuse_unknown_parameters
from api.http.requests import client_network, fingerprint, json_body
from api.http.service import service_of
from api.http.writing import Write
from api.openapi.document import body_of, operation
from schemas.refusals import NotThere
from schemas.skus.types import SupplierResponse
from schemas.suppliers import SupplierSubmission, SupplierSubmissionAccepted, parse_submission
from services.suppliers import requests
from warehouse.operate.sessions import Connection
from warehouse.review import entries
from warehouse.suppliers import requests as queries

router = APIRouter(prefix="/api/supplier-data", tags=["Suppliers"])

_ERRORS: Final = (
    "invalid_body",
    "not_found",
    "idempotency_key_reuse",
    "payload_too_large",
    "rate_limited",
    "internal_error",
)
Token = Annotated[str, Path(description="The token of the link that the supplier was sent.")]


@router.post(
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
    company_id, request_id = await admit_supplier(request, token)
    refuse_unknown_parameters(request)
    body = await json_body(request)
    response = parse_submission(body)
    write = Write.by(request, company_id, "supplier", str(request_id))
    work = partial(_filed, write, request_id, response)
    return await run_in_threadpool(write.answer, fingerprint(body), work, _accepted)


def _accepted(entry: entries.Entry) -> Response:
    return json_of({"status": "awaiting_review", "submission_id": entry.id}, 202)


async def admit_supplier(request: Request, token: str) -> tuple[UUID, UUID]:
    """Return company and request of the token, and count the call. Raise `RateLimited`, then `NotThere`."""
    service = service_of(request)
    address, now = client_network(request), service.clock.now()
    found = await service.reading(partial(queries.admit, token=token, address=address, at=now))
    if found.retry_after:
        raise RateLimited(found.retry_after)
    if found.request_id is None or found.company_id is None:
        raise NotThere
    request.state.company_id = found.company_id
    return found.company_id, found.request_id


def file_answer(request: Request, company_id: UUID, request_id: UUID, response: SupplierResponse) -> entries.Entry:
    """File an answer for review and return its entry; `response` is parsed. Raise `NotThere` and `Refused`."""
    write = Write.by(request, company_id, "supplier", str(request_id))
    return write.service.writes.run(company_id, partial(_filed, write, request_id, response))


def _filed(write: Write, request_id: UUID, response: SupplierResponse, conn: Connection) -> entries.Entry:
    return requests.submit(
        conn,
        write.actor,
        request_id,
        response,
        rulesets=write.service.rulesets,
    )
