"""GET /openapi.json: serves the OpenAPI document as bytes made once."""

from typing import Final

import orjson
from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from api.answers import cacheable
from api.document import V1, operation
from schemas.responses import OpenApiDocument

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
