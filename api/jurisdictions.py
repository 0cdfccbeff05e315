"""GET /jurisdictions: the catalogue, for anyone. The depth of an entry is derived on the day that it is read."""

from fastapi import APIRouter
from psycopg.rows import dict_row
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of
from api.document import operation
from api.parameters import Limit, Offset
from api.service import service_of
from compliance import catalogue
from schemas.responses import JurisdictionListResponse
from warehouse.queries.jurisdictions import ALL, entry

router = APIRouter(prefix="/jurisdictions", tags=["Jurisdictions"])


@router.get("", **operation(
    "List jurisdictions",
    "The EPR catalogue by code, for anyone. `depth`: 1 signalled, 2 sourced, 3 guided (reviewed by a lawyer within 18 "
    "months). `coverage` counts the whole catalogue, not the page. Never a fee or a legal opinion.",
    answers={200: JurisdictionListResponse}, errors=("invalid_body", "internal_error")))  # fmt: skip
async def list_jurisdictions(request: Request, limit: Limit = 50, offset: Offset = 0) -> Response:  # noqa: D103
    service = service_of(request)
    async with service.reads.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
        rows = await (await cursor.execute(ALL)).fetchall()
    entries = catalogue.served([entry(row) for row in rows])
    today = service.clock.today()
    return json_of({
        "data": [shown.as_dict(today) for shown in entries[offset : offset + limit]],
        "coverage": catalogue.coverage(entries, today),
        "pagination": {"limit": limit, "offset": offset, "total": len(entries)},
    })  # fmt: skip
