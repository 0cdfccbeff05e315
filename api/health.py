"""Whether the service is there and whether it is ready: for supervisors and balancers, without a credential."""

from collections.abc import Sequence
from typing import Any

from psycopg import Error
from psycopg_pool import PoolTimeout
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of
from api.document import operation
from api.operations import resource
from api.service import Service, service_of
from pipelines.steps.imports.queue import LISTENING
from schemas.responses import Health
from warehouse.queries.jurisdictions import LOADED
from warehouse.sessions import AsyncConnection

router = resource(tags=["Service"])


@router.get("/healthz", **operation("Requests are served", answers={200: Health}))
async def healthz() -> Response:
    """200 as soon as the process answers."""
    return json_of({"status": "ok"})


@router.get("/readyz", **operation("Imports and the catalogue are ready", answers={200: Health, 503: Health}))
async def readyz(request: Request) -> Response:
    """503 with the same body until the database answers, the catalogue is loaded and a worker waits for imports.

    `clock_offset_seconds` stands here where a test clock is set.
    """
    service = service_of(request)
    asked = (LOADED, LISTENING) if service.settings.warm_workers else (LOADED,)
    ready = await _all_hold(service, asked)
    offset = service.settings.test_clock_offset
    body: dict[str, Any] = {"status": "ok" if ready else "starting"}
    return json_of(body | ({"clock_offset_seconds": offset} if offset else {}), 200 if ready else 503)


async def _all_hold(service: Service, queries: Sequence[str]) -> bool:
    async def asked(connection: AsyncConnection) -> bool:
        rows = [await (await connection.execute(query)).fetchone() for query in queries]
        return all(row is not None and row[0] for row in rows)

    try:
        return await service.reading(asked)
    except (Error, PoolTimeout):
        return False
