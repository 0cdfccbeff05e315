"""GET /openapi.json: serves the OpenAPI document as bytes made once."""

from typing import Final

import orjson
from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import cacheable, json_kept
from api.http.service import service_of
from api.openapi.document import V1, operation
from schemas import suppliers
from schemas.operate import JsonSchemaDocument, OpenApiDocument

router = APIRouter(prefix=V1, tags=["Service"])

_KEPT_SECONDS: Final = 300


@router.get("/openapi.json", **operation("This document", answers={200: OpenApiDocument}, kept=True))
def openapi_json(request: Request) -> Response:
    """OpenAPI 3.1, generated from the models that the handlers validate with."""
    return cacheable(request, _bytes(request.app), "application/json", seconds=_KEPT_SECONDS)


def _bytes(app: FastAPI) -> bytes:
    if not hasattr(app.state, "openapi_bytes"):
        app.state.openapi_bytes = orjson.dumps(app.openapi())
    document: bytes = app.state.openapi_bytes
    return document


schemas_router = APIRouter(prefix=f"{V1}/schemas", tags=["Service"])

_SCHEMA_KEPT_SECONDS: Final = 3600


@schemas_router.get(
    "/supplier-data-response",
    **operation(
        "Schema of a supplier's response", answers={200: JsonSchemaDocument}, errors=("internal_error",), kept=True
    ),
)
async def supplier_data_response(request: Request) -> Response:
    """JSON Schema 2020-12 of the `response` object of POST /api/supplier-data/{token}, versioned and dated.

    Every field is optional, and no other is accepted. No credential is needed.
    """
    address = service_of(request).settings.base_url + schemas_router.url_path_for("supplier_data_response")
    return json_kept(request, suppliers.published(address), seconds=_SCHEMA_KEPT_SECONDS)
