"""GET /schemas/…: serves JSON Schemas for other readers than callers of the API, made from the models that validate."""

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_kept
from api.document import V1, operation
from api.service import service_of
from schemas import supplier
from schemas.responses import JsonSchemaDocument

router = APIRouter(prefix=f"{V1}/schemas", tags=["Service"])

_KEPT_SECONDS: Final = 3600


@router.get(
    "/supplier-data-response",
    **operation(
        "Schema of a supplier's response", answers={200: JsonSchemaDocument}, errors=("internal_error",), kept=True
    ),
)
async def supplier_data_response(request: Request) -> Response:
    """JSON Schema 2020-12 of the `response` object of POST /api/supplier-data/{token}, versioned and dated.

    Every field is optional, and no other is accepted. No credential is needed.
    """
    address = service_of(request).settings.base_url + router.url_path_for("supplier_data_response")
    return json_kept(request, supplier.published(address), seconds=_KEPT_SECONDS)
