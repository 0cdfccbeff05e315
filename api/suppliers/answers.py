"""POST /api/supplier-data/{token}: stores a supplier's answer to a request, authenticated by the token in the path.

An unknown token and a token whose request already has its answer get the same answer after the same statement.
`api.suppliers.supplier_pages` is what the supplier sees in a browser; both call `file_answer`.
"""

from functools import partial
from typing import Annotated, Final

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
from services import suppliers as operations
from warehouse import suppliers
from warehouse.operate.sessions import Connection
from warehouse.review import Entry
from warehouse.suppliers import Linked

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
    link = await admit_supplier(request, token)
    refuse_unknown_parameters(request)
    body = await json_body(request)
    response, write = parse_submission(body), write_of_supplier(request, link)

    def accepted(entry: Entry) -> Response:
        return json_of({"status": "awaiting_review", "submission_id": entry.id}, 202)

    return await run_in_threadpool(
        write.answer, fingerprint(body), partial(file_answer, write, link, response), accepted
    )


async def admit_supplier(request: Request, token: str) -> Linked:
    """Return the request of the token, and count the call. Raise `RateLimited`, then `NotThere`."""
    service = service_of(request)
    address, now = client_network(request), service.clock.now()
    admitted = await service.reads.run(partial(suppliers.admit, token=token, address=address, at=now))
    if admitted.retry_after:
        raise RateLimited(admitted.retry_after)
    if admitted.request_id is None or admitted.company_id is None:
        raise NotThere
    request.state.company_id = admitted.company_id
    return Linked(admitted.request_id, admitted.company_id)


def write_of_supplier(request: Request, link: Linked) -> Write:
    """Return a write by the supplier whom a request asks."""
    return Write.by(request, link.company_id, "supplier", str(link.id))


def file_answer(write: Write, link: Linked, response: SupplierResponse, conn: Connection) -> Entry:
    """File an answer for review and return its entry; `response` is parsed. Raise `NotThere` and `Refused`."""
    return operations.submit(conn, write.actor, link.id, response, rulesets=write.service.rulesets)
