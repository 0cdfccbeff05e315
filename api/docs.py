"""GET /docs: lists the metadata of Declarations of Conformity. An operator adds one by `api.commands.doc`."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_text, revalidated
from api.auth import Presented
from api.document import READ_ERRORS, V1, operation
from api.parameters import Limit, Offset
from api.reading import read
from api.service import service_of
from schemas.responses import DocListResponse
from warehouse.declarations import docs

router = APIRouter(prefix=f"{V1}/docs", tags=["Declarations"])


@router.get("", **operation("List DoCs", answers={200: DocListResponse}, errors=READ_ERRORS, revalidated=True))
async def list_docs(request: Request, presented: Presented, limit: Limit = 50, offset: Offset = 0) -> Response:
    """A page of Declarations of Conformity, newest first: metadata only, no contents and no addresses of files.

    `status` is of the UTC day of the request: a valid DoC whose `expires_on` has passed reads as expired.
    """
    query = docs.page(limit, offset)
    (page,) = await read(request, presented, query, {"today": service_of(request).clock.today()})
    return revalidated(request, json_text(page))
