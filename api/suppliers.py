"""Lists whom the company has asked for data and what came of it, by supplier and request by request."""

from typing import Annotated, Any  # Any: filters of every type

from fastapi import APIRouter, Query
from pydantic import AfterValidator, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_text
from api.auth import Presented
from api.document import READ_ERRORS, V1, operation
from api.parameters import Limit, Offset, SupplierName, one_of
from api.reading import read
from api.service import service_of
from schemas.models import validator
from schemas.responses import SupplierListResponse, SupplierRequestListResponse
from warehouse.review import suppliers

router = APIRouter(prefix=V1, tags=["Suppliers"])

State = Annotated[
    str | None,
    AfterValidator(validator(one_of, suppliers.STATES)),
    WithJsonSchema({"type": "string", "enum": list(suppliers.STATES)}),
    Query(description="Only requests in this state."),
]


@router.get(
    "/suppliers", **operation("List suppliers", answers={200: SupplierListResponse}, errors=READ_ERRORS, preview=True)
)
async def list_suppliers(request: Request, presented: Presented, limit: Limit = 50, offset: Offset = 0) -> Response:
    """Whom the company has asked, by name: how many requests are in which state, and when it was last asked."""
    (page,) = await read(request, presented, suppliers.page(limit, offset), _asked(request))
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
    (page,) = await read(request, presented, suppliers.requests_page(limit, offset), asked)
    return json_text(page)


def _asked(request: Request, **more: Any) -> dict[str, object]:
    now = service_of(request).clock.now()
    return suppliers.filters(now=now, today=now.date(), **more)
