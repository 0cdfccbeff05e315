"""Shared components, sites, brands and suppliers over REST, and the pages on which people change what SKUs refer to.

Both are here so that a process loads one file less. An operator adds records by `api.library.commands`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple  # Any: models, made of the field tables
from uuid import UUID

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import as_json, json_of, revalidated
from api.http.auth import Presented, answer_page, read_record
from api.http.parameters import DryRun, Limit, NameLike, Offset, RecordId
from api.http.requests import fingerprint
from api.http.service import service_of
from api.http.writing import JsonWrite
from api.openapi.document import CHANGE_ERRORS, READ_ERRORS, V1, body_of, operation
from api.pages.forms import Form, SentForm, faults_with, market_code, offset_of, path_id, texts_of, write_of
from api.pages.render import language_of, link, page, redirect, said, text
from api.pages.sessions import Editor, Session, Viewer
from schemas.json_values import Json, JsonObject
from schemas.library import (
    INPUTS,
    BrandInput,
    BrandListResponse,
    BrandPatch,
    BrandResponse,
    BrandResult,
    LibraryComponentInput,
    LibraryComponentListResponse,
    LibraryComponentPatch,
    LibraryComponentResponse,
    LibraryComponentResult,
    MergeInput,
    SiteInput,
    SiteListResponse,
    SitePatch,
    SiteResponse,
    SiteResult,
    SupplierInput,
    SupplierListResponse,
    SupplierPatch,
    SupplierResponse,
    SupplierResult,
)
from schemas.normalise import Unfit
from schemas.refusals import NotThere, Refused, require
from schemas.skus.inputs import parse_body
from schemas.vocabularies import VOCABULARIES
from services import library as library_services
from services.library import NOT_ITSELF, change, merge, record_named
from warehouse import library
from warehouse.operate.sessions import Connection, savepoint

router = APIRouter(prefix=V1, tags=["Library"])


class _Kind(NamedTuple):
    """A kind of shared record: its names, and the models of what is sent and answered."""

    kind: str
    path: str
    name: str
    sorted_by: str
    resolves: str
    listed: type[Any]
    one: type[Any]
    result: type[Any]
    sent: type[Any]
    patch: type[Any]


_KINDS: Final = (
    _Kind(
        *("library_component", "component", "shared component", "code", "`component_id` of component lines"),
        *(LibraryComponentListResponse, LibraryComponentResponse, LibraryComponentResult),
        *(LibraryComponentInput, LibraryComponentPatch),
    ),
    _Kind(
        *("site", "site", "site", "name", "`manufacturing_site_id` and `packing_site_id`"),
        *(SiteListResponse, SiteResponse, SiteResult, SiteInput, SitePatch),
    ),
    _Kind(
        *("brand", "brand", "brand", "name", "`brand_id`"),
        *(BrandListResponse, BrandResponse, BrandResult, BrandInput, BrandPatch),
    ),
    _Kind(
        *("supplier", "supplier", "supplier", "name", "`supplier_id` of component lines"),
        *(SupplierListResponse, SupplierResponse, SupplierResult, SupplierInput, SupplierPatch),
    ),
)


def _serve(of: _Kind) -> None:
    """Add the operations of a kind of shared record."""
    path, taken = f"/{of.path}s", f"{of.sorted_by}_taken"

    async def list_records(
        request: Request, presented: Presented, *, q: NameLike = None, limit: Limit = 50, offset: Offset = 0
    ) -> Response:
        listing = library.page(of.kind, limit, offset, q)
        return revalidated(request, await answer_page(request, presented, listing))

    async def get_record(request: Request, presented: Presented, record_id: RecordId) -> Response:
        return json_of(
            {"data": require(await read_record(request, presented, library.one(of.kind), {"id": record_id}))}
        )

    def post_record(received: JsonWrite, dry_run: DryRun) -> Response:
        return _written(received, of, None, dry_run=dry_run)

    def patch_record(received: JsonWrite, record_id: RecordId, dry_run: DryRun) -> Response:
        return _written(received, of, record_id, dry_run=dry_run)

    listed = operation(f"List {of.name}s", answers={200: of.listed}, errors=READ_ERRORS, revalidated=True)
    about = f"A page of {of.name}s, sorted by {of.sorted_by} (by code point). They resolve {of.resolves}."
    router.get(path, name=f"list_{of.path}s", description=about, **listed)(list_records)
    read = operation(f"One {of.name}", answers={200: of.one}, errors=(*READ_ERRORS, "not_found"))
    about = f"The {of.name}; of one that was merged into another the one that stays."
    router.get(f"{path}/{{id}}", name=f"get_{of.path}", description=about, **read)(get_record)
    answers = {200: of.result, 201: of.result}
    errors = CHANGE_ERRORS if of.sorted_by == "code" else (*CHANGE_ERRORS, taken)
    added = operation(f"Add or change a {of.name}", body=body_of(of.sent), answers=answers, errors=errors)
    about = f"Upserts by `{of.sorted_by}`: 201 when it is new, 200 when it is known or with `dry_run`."
    about += " A field that is left out stays, null clears it."
    if of.sorted_by == "name":
        about += f" A new name that differs from another one's in case, accents or punctuation alone is 409 `{taken}`."
    router.post(path, name=f"post_{of.path}", description=about, **added)(post_record)
    errors = (*CHANGE_ERRORS, "not_found", taken)
    changed = operation(f"Change a {of.name}", body=body_of(of.patch), answers={200: of.result}, errors=errors)
    about = "A merge patch (RFC 7396). Read-only members of a GET's `data` may stand in it as they are stored."
    about += f" A {of.sorted_by} that another one has is 409 `{taken}`."
    if of.kind == "library_component":
        about += " No SKU changes: `skus_differing` says how many have other values by now."
    router.patch(f"{path}/{{id}}", name=f"patch_{of.path}", description=about, **changed)(patch_record)


def _written(received: JsonWrite, of: _Kind, record_id: UUID | None, *, dry_run: bool) -> Response:
    """Answer the upsert of a record, or the change of the one of an id."""
    write, body = received.admitted()

    def put(conn: Connection) -> JsonObject:
        with savepoint(conn) as part:
            part.keep = not dry_run
            return put_record(conn)

    def put_record(conn: Connection) -> JsonObject:
        sent = body if record_id is None else _as_sent(conn, of, record_id, body)
        values = parse_body(of.sent if record_id is None else of.patch, sent).model_dump(exclude_unset=True)
        if record_id is None:
            done = library_services.add(conn, write.actor, of.kind, values, dry_run=dry_run, upsert=True)
        else:
            done = change(conn, write.actor, of.kind, record_id, values)
        differing = library.differing(conn, done.record["id"]) if of.kind == "library_component" else None
        more = {} if differing is None else {"skus_differing": differing}
        return {"outcome": done.outcome, "dry_run": dry_run, "data": done.record, **more}

    def render(answer: JsonObject) -> Response:
        return json_of(answer, 201 if answer["outcome"] == "created" and not dry_run else 200)

    return write.answer(fingerprint(body), put, render, dry_run=dry_run)


_READ_ONLY: Final = frozenset({"id", "created_at", "updated_at"})


def _as_sent(conn: Connection, of: _Kind, record_id: UUID, body: Json) -> Json:
    """Return a body without the read-only members that are as stored: it was read before. The others are refused."""
    if not isinstance(body, Mapping) or _READ_ONLY.isdisjoint(body):
        return body
    shown = orjson.loads(as_json(require(library.find(conn, of.kind, record_id))))
    return {name: value for name, value in body.items() if name not in _READ_ONLY or value != shown[name]}


for _kind_of in _KINDS:
    _serve(_kind_of)


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
        library_services.add(conn, write.actor, kind, _values(form, kind))

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
