"""The routes of staff: their sign-in, and everything under /dagster. No part of the published document."""

from fastapi import APIRouter, FastAPI
from starlette.routing import Route, WebSocketRoute

from api.staff import sign_in
from api.staff.door import GRAPHQL, METHODS, at_door
from api.staff.live import at_socket
from warehouse.dagster_home import PREFIX

router = APIRouter(include_in_schema=False)
router.include_router(sign_in.router)


def install(app: FastAPI) -> None:
    """Serve them."""
    app.include_router(router)
    for path in (PREFIX, f"{PREFIX}/{{path:path}}"):
        app.router.routes.append(Route(path, at_door, methods=METHODS, include_in_schema=False))
    app.router.routes.append(WebSocketRoute(GRAPHQL, at_socket))
