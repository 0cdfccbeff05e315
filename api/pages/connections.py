"""Connected applications page: which ones a person has authorised, since when, the last use, and how to revoke one."""

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.pages.forms import read_form
from api.pages.render import link, page, redirect
from api.pages.request_values import origin_of, path_id
from api.pages.sessions import Viewer
from api.service import service_of
from schemas.refusals import NotThere
from services.connections import revoke
from warehouse.accounts import connections

router = APIRouter()


@router.get("/connections")
def get_connections(request: Request, session: Viewer) -> Response:
    """List the person's own connections, the newest first."""
    service = service_of(request)
    with service.writes.company(session.company_id) as connection:
        found = connections.of_person(connection, session.user_id)
    return page(request, "connections.html", session=session, connections=found, base=service.settings.base_url)


@router.post("/connections/{connection_id}/revoke")
async def post_revoke(request: Request, session: Viewer) -> Response:
    """Revoke an application's access: its next request is refused."""
    await read_form(request, session)
    service, connection_id, origin = service_of(request), path_id(request, "connection_id"), origin_of(request, session)

    def work() -> bool:
        with service.writes.company(session.company_id) as connection:
            return revoke(
                connection,
                session.company_id,
                connection_id,
                origin=origin,
                now=service.clock.now(),
                user_id=session.user_id,
            )

    if not await run_in_threadpool(work):
        raise NotThere
    return redirect(link(request, "/connections"))
