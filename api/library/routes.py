"""Lists shared components, sites and brands. An operator adds them by `api.library.commands`."""

from typing import TypeVar

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import json_of, revalidated
from api.http.auth import Credential, Presented, read_page
from api.http.parameters import DryRun, Limit, NameLike, Offset
from api.http.requests import fingerprint
from api.http.writing import JsonWrite
from api.openapi.document import CHANGE_ERRORS, READ_ERRORS, V1, body_of, operation
from schemas.library import (
    BrandInput,
    BrandListResponse,
    BrandResult,
    LibraryComponentInput,
    LibraryComponentListResponse,
    LibraryComponentResult,
    SiteInput,
    SiteListResponse,
    SiteResult,
)
from schemas.skus.inputs import parse_body
from services import library as library_services
from services.library import Added
from warehouse import library
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing

T = TypeVar("T")

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
    return await _listed(request, presented, library.page("library_component", limit, offset, q))


@router.get(
    "/sites",
    **operation(
        "List manufacturing and packing sites", answers={200: SiteListResponse}, errors=READ_ERRORS, revalidated=True
    ),
)
async def list_sites(
    request: Request, presented: Presented, *, q: NameLike = None, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """A page of sites, sorted by name (by code point). They resolve `manufacturing_site_id` and `packing_site_id`."""
    return await _listed(request, presented, library.page("site", limit, offset, q))


@router.get(
    "/brands", **operation("List brands", answers={200: BrandListResponse}, errors=READ_ERRORS, revalidated=True)
)
async def list_brands(
    request: Request, presented: Presented, *, q: NameLike = None, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """A page of brands, sorted by name (by code point). They resolve `brand_id`."""
    return await _listed(request, presented, library.page("brand", limit, offset, q))


async def _listed(request: Request, presented: Credential, listing: Listing[T]) -> Response:
    return revalidated(request, json_of(await read_page(request, presented, listing)))


@router.post(
    "/brands",
    **operation(
        "Add a brand",
        body=body_of(BrandInput),
        answers={200: BrandResult, 201: BrandResult},
        errors=CHANGE_ERRORS,
        preview=True,
    ),
)
def post_brand(received: JsonWrite, dry_run: DryRun) -> Response:
    """201 when it is new; 200 when the company has it with the same values, or with `dry_run`.

    A name that exists with other values is refused: nothing changes a brand that SKUs refer to.
    """
    return _added(received, "brand", BrandInput, dry_run=dry_run)


@router.post(
    "/sites",
    **operation(
        "Add a site",
        body=body_of(SiteInput),
        answers={200: SiteResult, 201: SiteResult},
        errors=CHANGE_ERRORS,
        preview=True,
    ),
)
def post_site(received: JsonWrite, dry_run: DryRun) -> Response:
    """Works like `POST /brands`: the company has one site of a name."""
    return _added(received, "site", SiteInput, dry_run=dry_run)


@router.post(
    "/components",
    **operation(
        "Add a shared component",
        body=body_of(LibraryComponentInput),
        answers={200: LibraryComponentResult, 201: LibraryComponentResult},
        errors=CHANGE_ERRORS,
        preview=True,
    ),
)
def post_component(received: JsonWrite, dry_run: DryRun) -> Response:
    """Works like `POST /brands`, by `code`. A component line that names its id takes from it what the line omits."""
    return _added(received, "library_component", LibraryComponentInput, dry_run=dry_run)


def _added(received: JsonWrite, resource: str, model: type[BaseModel], *, dry_run: bool) -> Response:
    write, body = received.admitted()

    def add(conn: Connection) -> Added:
        values = parse_body(model, body).model_dump()
        return library_services.add(conn, write.actor, resource, values, dry_run=dry_run)

    def render(added: Added) -> Response:
        created = added.outcome == "created" and not dry_run
        answer = {"outcome": added.outcome, "dry_run": dry_run, "data": added.record}
        return json_of(answer, 201 if created else 200)

    return write.answer(fingerprint(body), add, render, dry_run=dry_run)
