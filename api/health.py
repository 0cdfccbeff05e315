"""Liveness and readiness endpoints for supervisors and load balancers, without a credential."""

from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of
from api.document import operation
from api.service import service_of
from schemas.json_values import JsonObject
from schemas.responses import Health

router = APIRouter(tags=["Service"])


@router.get("/healthz", **operation("Requests are served", answers={200: Health}))
async def healthz() -> Response:
    """200 as soon as the process answers."""
    return json_of({"status": "ok"})


@router.get("/readyz", **operation("Imports and the catalogue are ready", answers={200: Health, 503: Health}))
async def readyz(request: Request) -> Response:
    """503 until catalogue and worker were there once, and while requests would fail; else 200, also with a part away.

    `degraded` names in `failing` which part is away. `clock_offset_seconds` stands here where a test clock is set.
    """
    service = service_of(request)
    standing = await request.app.state.readiness.standing(service)
    offset = service.settings.test_clock_offset
    body: JsonObject = {"status": standing.status} | ({"failing": standing.failing} if standing.failing else {})
    if offset:
        body["clock_offset_seconds"] = offset
    answer = json_of(body, 503 if standing.status == "starting" else 200)
    if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        answer.headers["Retry-After"] = "1"
    return answer
