"""Pages of suppliers: everyone whom the company has asked, and one of them with each request."""

import orjson
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.pages.render import page
from api.pages.request_values import offset_of
from api.pages.sessions import Session, Viewer
from api.service import service_of
from schemas import texts
from warehouse.review import suppliers

router = APIRouter(prefix="/suppliers")

PAGE_SIZE = 100
_LONGEST = 500


@router.get("")
async def get_suppliers(request: Request, session: Viewer) -> Response:
    """List the suppliers; with `?name=` the requests to one of them, with `&state=` those in one state."""
    return await run_in_threadpool(_page, request, session)


def _page(request: Request, session: Session) -> Response:
    name = texts.shown(request.query_params.get("name", ""))[:_LONGEST]
    state = request.query_params.get("state", "")
    state = state if state in suppliers.STATES else ""
    offset, now = offset_of(request), service_of(request).clock.now()
    asked = suppliers.filters(now=now, today=now.date(), supplier_name=name or None, state=state or None)
    query = suppliers.requests_page if name else suppliers.page
    with service_of(request).writes.company(session.company_id) as conn:
        (listed,) = conn.execute(query(PAGE_SIZE, offset), asked).fetchone() or ("{}",)
    return page(
        request,
        "supplier_page.html" if name else "suppliers.html",
        session=session,
        name=name,
        state=state,
        states=suppliers.STATES,
        found=orjson.loads(listed),
        offset=offset,
        size=PAGE_SIZE,
    )
