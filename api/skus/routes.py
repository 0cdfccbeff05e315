"""SKU endpoints: the list, the detail, the writes of one SKU, and its way to the archive and back.

`api.skus.writing` writes one, `api.skus.batch` many at once.
"""

from datetime import datetime
from functools import partial
from typing import cast
from uuid import UUID

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import accepted_language, in_language, json_of
from api.http.auth import Presented, admit, answer_page, read, read_page
from api.http.errors import WrongMethod
from api.http.parameters import DryRun, Limit, Offset, RecordId, SkuCodes, UpdatedSince
from api.http.requests import fingerprint
from api.http.service import service_of
from api.http.writing import (
    ETAG,
    CreateOnly,
    IfMatch,
    JsonWrite,
    Precondition,
    Received,
    Write,
    fingerprint_for,
    with_etag,
)
from api.openapi.document import CHANGE_ERRORS, READ_ERRORS, V1, WRITE_ERRORS, body_of, operation, rows_of
from api.skus.listing import (
    AskedCursor,
    FilterParameters,
    Include,
    asked_of,
    next_cursor,
    place_of,
    sort_of,
    with_parts,
)
from api.skus.writing import answer_archive, answer_free_code, answer_one, answer_post, answer_return, write_one
from schemas.json_values import Json, JsonObject
from schemas.refusals import NotThere, require
from schemas.skus.answers import (
    ArchivedSkuListResponse,
    FreedCodeResult,
    SkuDetailResponse,
    SkuListResponse,
    SkuWhatIf,
    SkuWriteResult,
    VolumesWriteResult,
)
from schemas.skus.inputs import (
    MAX_VOLUME_ROWS,
    FreeCodeInput,
    ReasonInput,
    SkuInput,
    SkuPatchInput,
    VolumeRowInput,
    parse_volumes,
)
from services.skus import detail as detail_skus
from services.skus import listing
from services.skus.write import VolumesWritten, WriteOutcome, write_resting_volumes, write_volumes
from warehouse.operate.sessions import Connection
from warehouse.skus import archive, queries
from warehouse.skus import search as search_skus
from warehouse.skus.queries import StoredSku

router = APIRouter(prefix=f"{V1}/skus", tags=["SKUs"])


@router.get("", **operation("List SKUs", answers={200: SkuListResponse}, errors=READ_ERRORS))
async def list_skus(
    request: Request,
    presented: Presented,
    *,
    limit: Limit = 50,
    offset: Offset = 0,
    sku_codes: SkuCodes = None,
    updated_since: UpdatedSince = None,
    wanted: FilterParameters,
    include: Include = None,
    cursor: AskedCursor = None,
) -> Response:
    """A page of SKUs, newest first. `total` counts what the filters leave.

    `as_of` of the first page is the `updated_since` to ask with next time: nothing falls between the two.
    """
    others: JsonObject = {"sku_codes": sku_codes, "updated_since": updated_since}
    if cursor is not None:
        asked = asked_of(wanted.values, sku_code=sku_codes, updated_since=updated_since)
        cursor.check(sort=sort_of(wanted.values), asked=asked, offset=offset)
        others |= {"after_key": cursor.key, "after_id": cursor.sku_id}
    search = wanted.search(**others)
    if wanted.values:
        place = place_of(request, (await admit(request, presented, "read")).company_id)
        ask = partial(
            listing.page, place, search, wanted.finding(), limit=limit, offset=offset, with_rows=bool(include)
        )
        page = await run_in_threadpool(ask)
    else:
        now = service_of(request).clock.now()
        question = search_skus.page(search, limit, offset, now, with_rows=bool(include))
        if cursor is None and not include:
            return await answer_page(request, presented, question)
        page = await read_page(request, presented, question)
    if cursor is not None:
        cast(JsonObject, page)["next_cursor"] = next_cursor(page["data"], sort_of(wanted.values), asked, limit)
    return await with_parts(request, page, include) if include else json_of(page)


@router.get(
    "/{id}",
    **operation(
        "One SKU with components and compliance",
        answers={200: SkuDetailResponse},
        errors=(*READ_ERRORS, "not_found"),
        headers=ETAG,
    ),
)
async def get_sku(request: Request, presented: Presented, sku_id: RecordId) -> Response:
    """All fields, the component graph, the volumes, and why the grade is what it is."""
    today = service_of(request).clock.today()
    row = queries.row_of(await read(request, presented, queries.BY_ID, {"id": sku_id, "today": today}))
    archived_at: dict[str, datetime] = {}
    if row["id"] is None:
        row, archived_at = await run_in_threadpool(_archived, request, sku_id)
    rules_for, lang = service_of(request).rules_for, accepted_language(request)
    detail, _ = await detail_skus.sku_detail_on_loop(row, rules_for, today=today, lang=lang)
    answer = in_language(json_of({"data": {**detail, **archived_at}}), lang)
    return with_etag(answer, row["version"])


def _archived(request: Request, sku_id: UUID) -> tuple[StoredSku, dict[str, datetime]]:
    """Return an archived SKU of the admitted caller's company, and the field that says so. Raise `NotThere`."""
    service = service_of(request)
    with service.writes.company(request.state.company_id) as conn:
        item = require(archive.find_archived(conn, sku_id, service.clock.today()))
    return item.row, {"archived_at": item.archived_at}


@router.post(
    "",
    **operation(
        "Create or update one SKU",
        body=body_of(SkuInput),
        answers={200: SkuWriteResult, 201: SkuWriteResult},
        errors=(*WRITE_ERRORS, "version_conflict", "sku_code_former"),
        headers=ETAG,
    ),
)
async def post_sku(
    received: JsonWrite, dry_run: DryRun, if_match: IfMatch = None, *, create_only: CreateOnly = None
) -> Response:
    """Upserts by `sku_code`: 201 when it is new, 200 when it is known or with `dry_run`.

    An omitted field stays as it is, null clears it, `components` replaces the whole graph.
    """
    if received.key or received.request.scope["query_string"] or if_match or create_only:
        alone = partial(_answer, if_match=if_match, create_only=bool(create_only), dry_run=dry_run)
        return await run_in_threadpool(alone, received)
    return await answer_post(received)


@router.put(
    "/{id}",
    **operation(
        "Update one SKU by id",
        body=body_of(SkuInput),
        answers={200: SkuWriteResult},
        errors=(*WRITE_ERRORS, "not_found", "version_conflict"),
        headers=ETAG,
    ),
)
def put_sku(
    received: JsonWrite, sku_id: RecordId, dry_run: DryRun, if_match: IfMatch = None, *, create_only: CreateOnly = None
) -> Response:
    """The body of POST; its `sku_code` must be the code of the addressed SKU.

    The `data` of a GET can be sent back: read-only members, `volumes` among them, may stand in it as they are stored.
    """
    return _answer(received, if_match, create_only=bool(create_only), addressed=sku_id, dry_run=dry_run)


@router.patch(
    "/{id}",
    **operation(
        "Change one SKU",
        body=body_of(SkuPatchInput),
        answers={200: SkuWriteResult},
        errors=(*WRITE_ERRORS, "not_found", "version_conflict", "sku_code_taken", "sku_code_former"),
        headers=ETAG,
    ),
)
def patch_sku(received: JsonWrite, sku_id: RecordId, dry_run: DryRun, if_match: IfMatch = None) -> Response:
    """A merge patch (RFC 7396): what is left out stays, null clears, `components` replaces the whole graph.

    Another `sku_code` renames the SKU. Its former code names no new one from then on (409 `sku_code_former`), until it
    is freed. The `data` of a GET can be sent back, as with PUT.
    """
    return _answer(received, if_match, addressed=sku_id, dry_run=dry_run, merging=True)


def _answer(
    received: Received,
    if_match: Precondition | None,
    *,
    create_only: bool = False,
    addressed: UUID | None = None,
    dry_run: bool,
    merging: bool = False,
) -> Response:
    write, body = received.admitted()
    return answer_one(
        write, body, if_match, create_only=create_only, addressed=addressed, dry_run=dry_run, merging=merging
    )


@router.put(
    "/{id}/volumes",
    **operation(
        "Set units placed per market and period",
        body=rows_of(VolumeRowInput, most=MAX_VOLUME_ROWS),
        answers={200: VolumesWriteResult},
        errors=(*READ_ERRORS, "not_found", "idempotency_key_reuse", "version_conflict", "payload_too_large"),
        headers=ETAG,
    ),
)
def put_volumes(received: JsonWrite, sku_id: RecordId, dry_run: DryRun, if_match: IfMatch = None) -> Response:
    """Upserts rows of the SKU: one per market, year and half. A row with null units is cleared.

    Rows that are not sent stay as they are, so that an empty array changes nothing. When any row is refused, nothing is
    written. A market that the SKU does not name is a warning. The units of an archived SKU are written without bringing
    it back.
    """
    write, body = received.admitted()

    def write_units(conn: Connection) -> VolumesWritten:
        written = _written(conn, write, sku_id, body, dry_run=dry_run)
        if if_match is not None:
            if_match.check(written.version_before)
        return written

    def show(written: VolumesWritten) -> Response:
        warnings = [warning.as_dict() for warning in written.warnings]
        version = written.version_before if dry_run else written.version
        answer = json_of({"dry_run": dry_run, "version": version, "data": written.rows, "warnings": warnings})
        return answer if dry_run else with_etag(answer, written.version)

    return write.answer(fingerprint_for(body, if_match), write_units, show, dry_run=dry_run)


def _written(conn: Connection, write: Write, sku_id: UUID, body: Json, *, dry_run: bool) -> VolumesWritten:
    """Write the rows of a body to a SKU, archived or not. Raise `NotThere` and `Refused`."""
    code = queries.code_of(conn, sku_id)
    if code is None and archive.code_of(conn, sku_id) is None:
        raise NotThere
    rows = parse_volumes(body)
    if code is None:
        resting = write_resting_volumes(conn, write.actor, sku_id, rows, dry_run=dry_run)
        if resting is not None:
            return resting
        code = require(queries.code_of(conn, sku_id))  # it has come back since
    return write_volumes(conn, write.actor, code, rows, rulesets=write.service.rulesets, dry_run=dry_run)


what_if_router = APIRouter(prefix=f"{V1}/skus", tags=["SKUs"])

_ERRORS = (*READ_ERRORS, "plan_limit_reached", "payload_too_large")


@what_if_router.post(
    "/what-if",
    **operation(
        "The grade that a SKU would have",
        body=body_of(SkuInput),
        answers={200: SkuWhatIf},
        errors=_ERRORS,
        preview=True,
        reads=True,
    ),
)
def post_what_if(received: JsonWrite) -> Response:
    """Takes the body of POST /skus and answers what its write would lead to. Nothing is stored.

    The SKU need not be stored yet. Where its `sku_code` is known, an omitted field is as it is stored.
    """
    write, body = received.admitted()
    return _what_if_answer(write, body, addressed=None)


@what_if_router.post(
    "/{id}/what-if",
    **operation(
        "The grade that a stored SKU would have",
        body=body_of(SkuInput),
        answers={200: SkuWhatIf},
        errors=(*_ERRORS, "not_found"),
        preview=True,
        reads=True,
    ),
)
def post_sku_what_if(received: JsonWrite, sku_id: RecordId) -> Response:
    """Takes the body of PUT /skus/{id} and answers what its write would lead to. Nothing is stored."""
    write, body = received.admitted()
    return _what_if_answer(write, body, addressed=sku_id)


def _what_if_answer(write: Write, body: Json, *, addressed: UUID | None) -> Response:
    try_write = partial(write_one, write=write, body=body, addressed=addressed, dry_run=True)
    show = partial(_what_if_shown, lang=write.actor.lang)
    return write.answer(fingerprint(body), try_write, show, dry_run=True, pipelined=True)


def _what_if_shown(row: WriteOutcome, *, lang: str) -> Response:
    assert row.detail is not None, "an accepted row can be shown"
    detail, warnings = row.detail(lang=lang), [warning.as_dict() for warning in row.warnings]
    fields: JsonObject = {name: detail[name] for name in ("id", "sku_code", "compliance")}
    return json_of({"outcome": row.outcome, **fields, "warnings": warnings})


@what_if_router.get("/what-if", include_in_schema=False)
@what_if_router.put("/what-if", include_in_schema=False)
@what_if_router.patch("/what-if", include_in_schema=False)
def wrong_method_of_what_if() -> Response:
    """Refuse GET, PUT and PATCH; without these routes the path would be read as that of a SKU with the id “what-if”."""
    raise WrongMethod(["POST"])


archive_router = APIRouter(prefix=f"{V1}/skus", tags=["SKUs"])


@archive_router.get(
    "/archived",
    **operation("List archived SKUs", answers={200: ArchivedSkuListResponse}, errors=READ_ERRORS),
)
async def list_archived(request: Request, presented: Presented, limit: Limit = 50, offset: Offset = 0) -> Response:
    """A page of the archived SKUs, the last archived first. `GET /skus/{id}` has the whole record of each."""
    return await answer_page(request, presented, archive.page(limit, offset))


@archive_router.post(
    "/{id}/archive",
    **operation(
        "Archive a SKU",
        body=body_of(ReasonInput),
        answers={200: SkuWriteResult},
        errors=(*CHANGE_ERRORS, "not_found", "version_conflict"),
        headers=ETAG,
    ),
)
def post_archive(received: JsonWrite, sku_id: RecordId, dry_run: DryRun, if_match: IfMatch = None) -> Response:
    """Takes a SKU out of lists, gaps and the plan's count. Its history, files and declarations stay.

    What was placed of it stays in the figures, which is warned of. `GET /skus/{id}` still answers it, with
    `archived_at`. A write with its `sku_code` brings it back.
    """
    write, body = received.admitted()
    return answer_archive(write, body, sku_id, if_match, dry_run=dry_run)


@archive_router.post(
    "/{id}/return",
    **operation(
        "Bring an archived SKU back",
        body=body_of(ReasonInput),
        answers={200: SkuWriteResult},
        errors=(*WRITE_ERRORS, "not_found", "version_conflict"),
        headers=ETAG,
    ),
)
def post_return(received: JsonWrite, sku_id: RecordId, dry_run: DryRun, if_match: IfMatch = None) -> Response:
    """Puts an archived SKU back as it was, graded by the rules of the day; it takes a place of the plan again."""
    write, body = received.admitted()
    return answer_return(write, body, sku_id, if_match, dry_run=dry_run)


@archive_router.post(
    "/{id}/free-code",
    **operation(
        "Free a former code of a SKU",
        body=body_of(FreeCodeInput),
        answers={200: FreedCodeResult},
        errors=(*CHANGE_ERRORS, "not_found"),
    ),
)
def post_free_code(received: JsonWrite, sku_id: RecordId, dry_run: DryRun) -> Response:
    """Lets a new SKU have a code that this one had before it was renamed."""
    write, body = received.admitted()
    return answer_free_code(write, body, sku_id, dry_run=dry_run)


@archive_router.post("/archived", include_in_schema=False)
@archive_router.put("/archived", include_in_schema=False)
@archive_router.patch("/archived", include_in_schema=False)
def wrong_method_of_archived() -> Response:
    """Refuse POST, PUT and PATCH: the path would else be read as that of a SKU with the id “archived”."""
    raise WrongMethod(["GET"])
