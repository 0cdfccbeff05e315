"""Lists shared components, sites and brands. An operator adds them by `api.commands.library`."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_text
from api.auth import Presented
from api.document import READ_ERRORS, V1, operation
from api.parameters import LIMIT, OFFSET
from api.reading import read
from schemas.responses import BrandListResponse, LibraryComponentListResponse, SiteListResponse
from warehouse.library import queries as library

router = APIRouter(prefix=V1, tags=["Library"])


@router.get(
    "/components",
    **operation(
        "List shared library components",
        parameters=(LIMIT, OFFSET),
        answers={200: LibraryComponentListResponse},
        errors=READ_ERRORS,
    ),
)
async def list_components(request: Request, presented: Presented) -> Response:
    """A page of shared components, sorted by code (by code point). They resolve `component_id` of component lines."""
    return await _listed(request, presented, "library_component")


@router.get(
    "/sites",
    **operation(
        "List manufacturing and packing sites",
        parameters=(LIMIT, OFFSET),
        answers={200: SiteListResponse},
        errors=READ_ERRORS,
    ),
)
async def list_sites(request: Request, presented: Presented) -> Response:
    """A page of sites, sorted by name (by code point). They resolve `manufacturing_site_id` and `packing_site_id`."""
    return await _listed(request, presented, "site")


@router.get(
    "/brands",
    **operation("List brands", parameters=(LIMIT, OFFSET), answers={200: BrandListResponse}, errors=READ_ERRORS),
)
async def list_brands(request: Request, presented: Presented) -> Response:
    """A page of brands, sorted by name (by code point). They resolve `brand_id`."""
    return await _listed(request, presented, "brand")


async def _listed(request: Request, presented: Presented, resource: str) -> Response:
    query = library.page(resource, LIMIT.of(request), OFFSET.of(request))
    (page,) = await read(request, presented, query, {})
    return json_text(page)
