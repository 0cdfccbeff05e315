"""GET /openapi.json: the document, as bytes made once."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of
from api.document import V1, operation
from schemas.responses import OpenApiDocument

router = APIRouter(prefix=V1, tags=["Service"])


@router.get("/openapi.json", **operation("This document", answers={200: OpenApiDocument}))
async def openapi_json(request: Request) -> Response:
    """OpenAPI 3.1, generated from the models that the handlers validate with."""
    return json_of(request.app.openapi())
