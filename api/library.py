"""Lists shared components, sites and brands. An operator adds them by `api.commands.library`."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_text, revalidated
from api.auth import Credential, Presented
from api.document import READ_ERRORS, V1, operation
from api.parameters import Limit, NameLike, Offset
from api.reading import read
from schemas.responses import BrandListResponse, LibraryComponentListResponse, SiteListResponse
from warehouse.library import queries as library

router = APIRouter(prefix=V1, tags=["Library"])


@router.get(
    "/components",
    **operation(
        "List shared library components",
        answers={200: LibraryComponentListResponse},
        errors=READ_ERRORS,
        revalidated=True,
    ),
)
async def list_components(
    request: Request, presented: Presented, *, q: NameLike = None, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """A page of shared components, sorted by code (by code point). They resolve `component_id` of component lines."""
    return await _listed(request, presented, library.page("library_component", limit, offset, narrowed=bool(q)), q)


@router.get(
    "/sites",
    **operation(
        "List manufacturing and packing sites",
        answers={200: SiteListResponse},
        errors=READ_ERRORS,
        revalidated=True,
    ),
)
async def list_sites(
    request: Request, presented: Presented, *, q: NameLike = None, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """A page of sites, sorted by name (by code point). They resolve `manufacturing_site_id` and `packing_site_id`."""
    return await _listed(request, presented, library.page("site", limit, offset, narrowed=bool(q)), q)


@router.get(
    "/brands",
    **operation("List brands", answers={200: BrandListResponse}, errors=READ_ERRORS, revalidated=True),
)
async def list_brands(
    request: Request, presented: Presented, *, q: NameLike = None, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """A page of brands, sorted by name (by code point). They resolve `brand_id`."""
    return await _listed(request, presented, library.page("brand", limit, offset, narrowed=bool(q)), q)


async def _listed(request: Request, presented: Credential, query: str, q: str | None) -> Response:
    (page,) = await read(request, presented, query, {"q": q} if q else {})
    return revalidated(request, json_text(page))
