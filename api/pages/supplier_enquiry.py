"""The page of an enquiry for its supplier: the items asked about, the state of each, and the link to its form.

The token of the path is the whole authentication, as for the form (`api.pages.supplier`). The links of the items are
made from it; they are stored nowhere.
"""

from datetime import timedelta
from functools import partial

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.pages.refusals import PageRefused
from api.pages.render import page
from api.service import service_of
from services.supplier_requests import Item
from warehouse.review import enquiries
from warehouse.review.supplier_requests import Found

router = APIRouter(prefix="/supplier-enquiries")


@router.get("/{token}")
async def get_enquiry(request: Request) -> Response:
    """Show what is asked; a token that is unknown, withdrawn or expired gets the same refusal."""
    service, token = service_of(request), request.path_params["token"]
    found = await service.reading(partial(enquiries.find, token=token, at=service.clock.now()))
    if found is None:
        raise PageRefused(404, "supplier.gone")
    return await run_in_threadpool(_page, request, token, found)


def _page(request: Request, token: str, found: Found) -> Response:
    service = service_of(request)
    with service.writes.company(found.company_id) as conn:
        enquiry = enquiries.of(conn, found.request_id)
        items = enquiries.items_of(conn, found.request_id)
    if enquiry is None:
        raise PageRefused(404, "supplier.gone")
    links = Item(enquiry.id, token, enquiry.expires_at)
    listed = [(item, links.token_of(item.id) if item.state not in ("accepted", "closed") else None) for item in items]
    return page(
        request,
        "supplier_enquiry.html",
        enquiry=enquiry,
        listed=listed,
        last_day=(enquiry.expires_at - timedelta(days=1)).date(),
        overdue=enquiry.due_on is not None and enquiry.due_on < service.clock.now().date(),
    )
