"""GET /openapi.json: the document, as bytes made once."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of
from api.document import operation
from schemas.responses import OpenApiDocument

router = APIRouter(tags=["Service"])


@router.get("/openapi.json", **operation(
    "This document", "OpenAPI 3.1, generated from the models that the handlers validate with.",
    answers={200: OpenApiDocument}, errors=()))  # fmt: skip
async def openapi_json(request: Request) -> Response:  # noqa: D103  (the route says it)
    return json_of(request.app.openapi())
