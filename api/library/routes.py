"""Lists shared components, sites and brands over REST, and the pages on which people change what SKUs refer to.

Both are here so that a process loads one file less. An operator adds records by `api.library.commands`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final, TypeVar
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import json_of, revalidated
from api.http.auth import Credential, Presented, read_page
from api.http.parameters import DryRun, Limit, NameLike, Offset, RecordId
from api.http.requests import fingerprint
from api.http.service import service_of
from api.http.writing import JsonWrite
from api.openapi.document import CHANGE_ERRORS, READ_ERRORS, V1, body_of, operation
from api.pages.forms import Form, SentForm, faults_with, market_code, offset_of, path_id, texts_of, write_of
from api.pages.render import language_of, link, page, redirect, said, text
from api.pages.sessions import Editor, Session, Viewer
from schemas.json_values import JsonObject
from schemas.library import (
    INPUTS,
    BrandInput,
    BrandListResponse,
    BrandResult,
    LibraryComponentInput,
    LibraryComponentListResponse,
    LibraryComponentResult,
    MergeInput,
    SiteInput,
    SiteListResponse,
    SiteResult,
    SupplierInput,
)
from schemas.normalise import Unfit
from schemas.refusals import NotThere, Refused, require
from schemas.skus.inputs import parse_body
from schemas.vocabularies import VOCABULARIES
from services import library as library_services
from services.library import NOT_ITSELF, Added, change, merge, record_named, refuse_name
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


@router.post("/suppliers", include_in_schema=False)
def post_supplier(received: JsonWrite, dry_run: DryRun) -> Response:
    """Works like `POST /brands`: the company has one supplier of a name."""
    return _added(received, "supplier", SupplierInput, dry_run=dry_run)


@router.put("/brands/{id}", include_in_schema=False)
@router.put("/sites/{id}", include_in_schema=False)
@router.put("/suppliers/{id}", include_in_schema=False)
def put_record(received: JsonWrite, record_id: RecordId, request: Request) -> Response:
    """Change a record to these values; what is left out is emptied, and what uses it names it by its new name."""
    write, body = received.admitted()
    kind = _kind_of_path(request)

    def put(conn: Connection) -> JsonObject:
        return change(conn, write.actor, kind, record_id, parse_body(INPUTS[kind], body).model_dump())

    return write.answer(fingerprint(body), put, lambda record: json_of({"data": record}))


@router.post("/brands/{id}/merge", include_in_schema=False)
@router.post("/sites/{id}/merge", include_in_schema=False)
@router.post("/suppliers/{id}/merge", include_in_schema=False)
def post_merged(received: JsonWrite, record_id: RecordId, request: Request) -> Response:
    """Merge a record into the one `into`, which is answered: what names the one names the other from now on."""
    write, body = received.admitted()
    kind = _kind_of_path(request)

    def merge_into(conn: Connection) -> JsonObject:
        return merge(conn, write.actor, kind, record_id, UUID(parse_body(MergeInput, body).into))

    return write.answer(fingerprint(body), merge_into, lambda record: json_of({"data": record}))


def _kind_of_path(request: Request) -> str:
    return next(kind for kind in INPUTS if f"/{kind}s/" in request.url.path)


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


pages_router = APIRouter(prefix="/library")

PAGE_SIZE: Final = 100
_MOST_NAMES: Final = 500
"""The most records that a field offers; each can be typed."""


@pages_router.get("")
def get_records(request: Request, session: Viewer) -> Response:
    """List the suppliers with their uses, or the kind of record that `kind` names."""
    kind = request.query_params.get("kind", "")
    return _records_page(request, session, kind if kind in INPUTS else next(iter(INPUTS)))


@pages_router.post("/{kind}")
def post_record(request: Request, session: Editor, form: SentForm) -> Response:
    """Add the record of the form; show it again where it is refused."""
    kind, write = _kind(request), write_of(request, session)

    def add(conn: Connection) -> None:
        values = _values(form, kind)
        if library.find_by_name(conn, kind, values["name"]) is None:
            refuse_name(conn, kind, values["name"])
        library_services.add(conn, write.actor, kind, values)

    try:
        write.do(add)
    except Refused as refused:
        return _records_page(request, session, kind, form=form, faults=_faults(refused, request))
    return redirect(link(request, "/library", kind=kind))


@pages_router.get("/{kind}/{id}")
def get_record(request: Request, session: Viewer) -> Response:
    """Show one record, which an editor can change; with `into` what merging it into another one would do."""
    return _record_page(request, session)


@pages_router.post("/{kind}/{id}")
def post_change(request: Request, session: Editor, form: SentForm) -> Response:
    """Change a record; show the form again where it is refused."""
    kind, write, record_id = _kind(request), write_of(request, session), path_id(request)
    try:
        write.do(lambda conn: change(conn, write.actor, kind, record_id, _values(form, kind)))
    except Refused as refused:
        return _record_page(request, session, form=form, faults=_faults(refused, request))
    return redirect(link(request, "/library", kind=kind))


@pages_router.post("/{kind}/{id}/merge")
def post_merge(request: Request, session: Editor, form: SentForm) -> Response:
    """Merge a record into the one that the form names; go to that one."""
    kind, write, record_id = _kind(request), write_of(request, session), path_id(request)
    try:
        body = parse_body(MergeInput, {"into": form.get("into", "")})
        kept = write.do(lambda conn: merge(conn, write.actor, kind, record_id, UUID(body.into)))
    except Refused as refused:
        return _record_page(request, session, faults=_faults(refused, request))
    return redirect(link(request, f"/library/{kind}/{kept['id']}"))


def _kind(request: Request) -> str:
    """Return the kind of record of the path. Raise `NotThere` where people change none of it."""
    if (kind := request.path_params["kind"]) not in INPUTS:
        raise NotThere
    return str(kind)


def _values(form: Form, kind: str) -> JsonObject:
    """Return what the form gives for every field of the kind, null where it is left empty. Raise `Refused`."""
    body: JsonObject = {name: form.get(name, "").strip() or None for name in INPUTS[kind].model_fields}
    body |= {"name": form.get("name", "")}
    body |= {"country": market_code(form.get("country", "").strip()) or None} if "country" in body else {}
    body |= {"roles": list(dict.fromkeys(form.getlist("roles")))} if "roles" in body else {}
    if issues := faults_with(body, partial(parse_body, INPUTS[kind])):
        raise Refused(issues)
    return parse_body(INPUTS[kind], body).model_dump()


def _faults(refused: Refused, request: Request) -> list[tuple[str, str]]:
    lang = language_of(request)
    return [(str(issue.field or "").partition("[")[0], said(issue.message, lang)) for issue in refused.issues]


def _records_page(
    request: Request, session: Session, kind: str, *, form: Form | None = None, faults: Sequence[tuple[str, str]] = ()
) -> Response:
    offset = offset_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        records, uses = library.page(kind, PAGE_SIZE, offset).read(conn), library.uses(conn, kind)
    return page(
        request,
        "library.html",
        session=session,
        kind=kind,
        kinds=tuple(INPUTS),
        records=records,
        uses=uses,
        offset=offset,
        size=PAGE_SIZE,
        given=form or Form(),
        faults=faults,
        **_choices(request),
    )


def _record_page(
    request: Request, session: Session, *, form: Form | None = None, faults: Sequence[tuple[str, str]] = ()
) -> Response:
    kind, wanted, lang = _kind(request), request.query_params.get("into", "").strip(), language_of(request)
    other, enquiries = None, None
    with service_of(request).writes.company(session.company_id) as conn:
        record = require(library.find(conn, kind, path_id(request)))
        uses, others = library.uses(conn, kind), library.first_names(conn, kind, _MOST_NAMES)
        if wanted and not faults:
            try:
                other = require(library.find(conn, kind, record_named(conn, kind, wanted)))
            except Unfit as unfit:
                faults = [("into", said(unfit.message, lang))]
        if other and kind == "supplier":
            enquiries = [library.enquiries(conn, str(of["name"])) for of in (record, other)]
    if other and other["id"] == record["id"]:
        other, faults = None, [("into", said(NOT_ITSELF, lang))]
    stored = [(name, part) for name in INPUTS[kind].model_fields for part in texts_of(record[name], lang)]
    return page(
        request,
        "library_record.html",
        session=session,
        kind=kind,
        record=record,
        uses=uses,
        other=other,
        others=[name for record_id, name in others if record_id != str(record["id"])],
        enquiries=enquiries,
        given=form or Form([*stored, ("into", wanted)]),
        faults=faults,
        **_choices(request),
    )


def _choices(request: Request) -> JsonObject:
    return {"roles": [(role, text(f"library.role.{role}", language_of(request))) for role in VOCABULARIES["site_role"]]}
