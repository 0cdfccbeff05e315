"""Liveness and readiness endpoints for supervisors and load balancers, without a credential."""

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
    """503 until the data directory takes a file, the database commits, and catalogue and worker are there.

    `failing` names the checks that fail. The status is `degraded`, with 200, where only the object store does: all but
    files works on. `clock_offset_seconds` stands here where a test clock is set.
    """
    service = service_of(request)
    failing = await request.app.state.readiness.failing(service)
    offset = service.settings.test_clock_offset
    away = request.app.state.store.failing()
    status = "starting" if failing else "degraded" if away else "ok"
    body: JsonObject = {"status": status, **({"failing": [*failing, *away]} if failing or away else {})}
    return json_of(body | ({"clock_offset_seconds": offset} if offset else {}), 503 if failing else 200)
