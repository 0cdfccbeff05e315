"""Adds brands, sites and shared components over REST: our own operations beside the contract's lists."""

from datetime import UTC, datetime
from functools import partial
from typing import Final

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from api.answers import json_of
from api.bodies import fingerprint
from api.document import V1, WRITE_ERRORS, body_of, operation
from api.parameters import DryRun
from api.writing import JsonWrite
from schemas.library_models import BrandInput, LibraryComponentInput, SiteInput
from schemas.models import parse_body
from schemas.responses import BrandResult, LibraryComponentResult, SiteResult
from services import library
from services.library import Added
from warehouse.sessions import Connection

router = APIRouter(prefix=V1, tags=["Library"])

_ERRORS: Final = tuple(code for code in WRITE_ERRORS if code != "plan_limit_reached")


@router.post(
    "/brands",
    **operation(
        "Add a brand",
        body=body_of(BrandInput),
        answers={200: BrandResult, 201: BrandResult},
        errors=_ERRORS,
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
        "Add a site", body=body_of(SiteInput), answers={200: SiteResult, 201: SiteResult}, errors=_ERRORS, preview=True
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
        errors=_ERRORS,
        preview=True,
    ),
)
def post_component(received: JsonWrite, dry_run: DryRun) -> Response:
    """Works like `POST /brands`, by `code`. A component line that names its id takes from it what the line omits."""
    return _added(received, "library_component", LibraryComponentInput, dry_run=dry_run)


def _added(received: JsonWrite, resource: str, model: type[BaseModel], *, dry_run: bool) -> Response:
    write, body = received.admitted()

    def work(conn: Connection) -> Added:
        values = parse_body(model, body).model_dump()
        return library.add(
            conn, write.company_id, resource, values, origin=write.origin, now=write.now, dry_run=dry_run
        )

    return write.answer(fingerprint(body), work, partial(_shown, dry_run=dry_run), dry_run=dry_run)


def _shown(added: Added, *, dry_run: bool) -> Response:
    data = {name: _instant(value) if isinstance(value, datetime) else value for name, value in added.record.items()}
    created = added.outcome == "created" and not dry_run
    return json_of({"outcome": added.outcome, "dry_run": dry_run, "data": data}, 201 if created else 200)


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
