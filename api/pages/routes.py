"""Routes of all pages, and the one style sheet; none is in the OpenAPI document."""

from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.answers import cacheable
from api.pages import (
    account,
    archive,
    audit,
    connections,
    consent,
    corrections,
    declarations,
    documents,
    drafts,
    edit,
    enquiries,
    figures,
    imports,
    issuing,
    item,
    item_documents,
    items,
    items_export,
    keys,
    market,
    password,
    people,
    portfolio,
    review,
    second_factor,
    sign_in,
    supplier,
    supplier_enquiry,
    supplier_requests,
    suppliers,
    undo,
    upload,
    webhooks,
    words,
)
from api.pages.render import STYLE

router = APIRouter(include_in_schema=False)
for pages in (
    sign_in,
    password,
    connections,
    consent,
    supplier,
    supplier_enquiry,
    drafts,
    issuing,
    review,
    documents,
    item_documents,
    suppliers,
    supplier_requests,
    enquiries,
    portfolio,
    items,
    items_export,
    archive,
    edit,
    item,
    market,
    figures,
    declarations,
    upload,
    corrections,
    imports,
    undo,
    words,
    account,
    second_factor,
    people,
    keys,
    webhooks,
    audit,
):
    router.include_router(pages.router)

_SHEET: Final = (files("api.pages") / "style.css").read_bytes()
_KEPT_SECONDS: Final = 300


@router.get(STYLE)
async def get_style(request: Request) -> Response:
    """Return the style sheet of all pages."""
    return cacheable(request, _SHEET, "text/css", seconds=_KEPT_SECONDS, headers={"X-Content-Type-Options": "nosniff"})
