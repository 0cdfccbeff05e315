"""Routes of staff: their sign-in, and everything under /dagster. They are not in the OpenAPI document."""

from fastapi import APIRouter, FastAPI
from starlette.routing import WebSocketRoute

from api.correlation import LoggedRoute
from api.staff import sign_in
from api.staff.access import GRAPHQL, METHODS, handle
from api.staff.live import bridge_socket
from warehouse.dagster_home import PREFIX

router = APIRouter(include_in_schema=False)
router.include_router(sign_in.router)


def install(app: FastAPI) -> None:
    """Register the routes."""
    app.include_router(router)
    for path in (PREFIX, f"{PREFIX}/{{path:path}}"):
        app.router.routes.append(LoggedRoute(path, handle, methods=METHODS, include_in_schema=False))
    app.router.routes.append(WebSocketRoute(GRAPHQL, bridge_socket))
