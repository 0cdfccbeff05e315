"""API keys page for administrators: which ones there are, their last use, and ending one. `pcds key` makes them."""

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.pages.forms import read_form
from api.pages.refusals import PageRefused
from api.pages.render import link, page, redirect
from api.pages.request_values import origin_of, path_id
from api.pages.sessions import Administrator, Session
from api.service import service_of
from warehouse.access import keys
from warehouse.audit import ledger

router = APIRouter(prefix="/keys")


@router.get("")
def get_keys(request: Request, session: Administrator) -> Response:
    """List the company's keys, those that count first."""
    with service_of(request).writes.company(session.company_id) as conn:
        found = keys.with_use(conn)
    return page(request, "keys.html", session=session, keys=found)


@router.post("/{id}/revoke")
async def post_revoke(request: Request, session: Administrator) -> Response:
    """End a key: its next request is refused."""
    await read_form(request, session)
    await run_in_threadpool(_revoke, request, session)
    return redirect(link(request, "/keys"))


def _revoke(request: Request, session: Session) -> None:
    service, client_id = service_of(request), path_id(request)
    now = service.clock.now()
    with service.writes.company(session.company_id) as conn:
        if not keys.revoke(conn, client_id, now):
            raise PageRefused(404, "refused.gone")
        ledger.enter(
            conn,
            session.company_id,
            "api_key.revoked",
            client_id,
            origin=origin_of(request, session),
            now=now,
            before={"revoked_at": None},
            after={"revoked_at": now.isoformat()},
        )
