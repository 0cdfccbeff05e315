"""SKU endpoints: the list, the detail, and the two writes of one SKU. `api.batches` writes many at once."""

from dataclasses import dataclass
from functools import partial
from typing import Any  # Any: filters of every type
from uuid import UUID

import orjson
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of, json_text
from api.auth import Credential, Presented, admit
from api.cursors import AskedCursor, Cursor, next_cursor, sort_of
from api.document import READ_ERRORS, V1, WRITE_ERRORS, body_of, operation
from api.errors import VersionConflict
from api.included import Include, with_parts
from api.item_filters import FilterParameters, Filters, place_of
from api.languages import accepted_language, in_language
from api.parameters import DryRun, Limit, Offset, RecordId, SkuCodes, UpdatedSince
from api.preconditions import ETAG, CreateOnly, IfMatch, Precondition, fingerprint_for, with_etag
from api.reading import read
from api.service import service_of
from api.writing import JsonWrite, Write
from pipelines.writing import present
from pipelines.writing.records import WriteOutcome, write_records
from schemas import texts
from schemas.issues import Issue
from schemas.json_values import Json, JsonObject
from schemas.messages import Message
from schemas.models import SkuInput, parse_sku
from schemas.refusals import NotThere, Refused
from schemas.responses import SkuDetailResponse, SkuListResponse, SkuWriteResult
from schemas.sku import SkuPatch
from services import item_search
from services.item_search import Place
from warehouse.sessions import Connection
from warehouse.skus import archive, detail, queries, stored_items
from warehouse.skus.detail import StoredSku

router = APIRouter(prefix=f"{V1}/skus", tags=["SKUs"])


@router.get(
    "",
    **operation(
        "List SKUs",
        answers={200: SkuListResponse},
        errors=READ_ERRORS,
    ),
)
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
    if cursor is not None:
        cursor.check(sort=sort_of(wanted.given), offset=offset)
    asked = _Asked(limit, offset, cursor, stored_items.ITEM if include else queries.LIST_ITEM)
    text = await _listed(request, presented, asked, wanted, {"sku_codes": sku_codes, "updated_since": updated_since})
    if cursor is None and not include:
        return json_text(text)
    page = orjson.loads(text)
    if cursor is not None:
        page["next_cursor"] = next_cursor(page, sort_of(wanted.given), limit)
    return await with_parts(request, page, include or ())


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which part of a list is asked for; `item` is the select list of an item."""

    limit: int
    offset: int
    cursor: Cursor | None
    item: str

    @property
    def behind(self) -> JsonObject:
        """Return the parameters of the SKU behind which the page begins; none at the top of the list."""
        return self.cursor.parameters() if self.cursor and self.cursor.sku_id else {}


async def _listed(request: Request, presented: Credential, asked: _Asked, wanted: Filters, filters: JsonObject) -> str:
    if wanted.given:
        key = await admit(request, presented, "read")
        work = partial(_searched, place_of(request, key.company_id), wanted, asked, **filters)
        return await run_in_threadpool(work)
    filtered = any(value is not None for value in filters.values())
    query = queries.page(
        asked.limit,
        asked.offset,
        filtered=filtered,
        since=filters["updated_since"] is not None,
        after=bool(asked.behind),
        item=asked.item,
    )
    now = service_of(request).clock.now()
    instants = {"now": now, "today": now.date(), **asked.behind}
    (page,) = await read(request, presented, query, instants | filters if filtered else instants)
    return str(page)


def _searched(place: Place, wanted: Filters, asked: _Asked, **filters: Any) -> str:
    search = wanted.search(**filters, **asked.behind)
    return item_search.page(place, search, wanted.finding(), limit=asked.limit, offset=asked.offset, item=asked.item)


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
    row = detail.row_of(await read(request, presented, detail.BY_ID, {"id": sku_id, "today": today}))
    archived_at: dict[str, str] = {}
    if row["id"] is None:
        row, archived_at = await _archived(request, sku_id)
    rules_for, lang = service_of(request).rules_for, accepted_language(request)
    shown, _ = await present.sku_detail_on_loop(row, rules_for, today=today, lang=lang)
    answer = in_language(json_of({"data": {**shown, **archived_at}}), lang)
    return with_etag(answer, row["version"])


async def _archived(request: Request, sku_id: UUID) -> tuple[StoredSku, dict[str, str]]:
    """Return an archived SKU of the admitted caller's company, and the field that says so. Raise `NotThere`."""
    service = service_of(request)
    async with service.reads.company(request.state.company_id) as conn:
        found = await archive.of_async(conn, sku_id, service.clock.today())
    if found is None:
        raise NotThere
    return found.row, {"archived_at": found.archived_at}


@router.post(
    "",
    **operation(
        "Create or update one SKU",
        body=body_of(SkuInput),
        answers={200: SkuWriteResult, 201: SkuWriteResult},
        errors=(*WRITE_ERRORS, "version_conflict"),
        headers=ETAG,
    ),
)
def post_sku(
    received: JsonWrite, dry_run: DryRun, if_match: IfMatch = None, *, create_only: CreateOnly = None
) -> Response:
    """Upserts by `sku_code`: 201 when it is new, 200 when it is known or with `dry_run`.

    An omitted field stays as it is, null clears it, `components` replaces the whole graph.
    """
    write, body = received.admitted()
    return _answer(write, body, if_match, create_only=bool(create_only), addressed=None, dry_run=dry_run)


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
    """The body of POST; its `sku_code` must be the code of the addressed SKU."""
    write, body = received.admitted()
    return _answer(write, body, if_match, create_only=bool(create_only), addressed=sku_id, dry_run=dry_run)


def _answer(
    write: Write,
    body: Json,
    if_match: Precondition | None,
    *,
    create_only: bool,
    addressed: UUID | None,
    dry_run: bool,
) -> Response:
    """Return the answer to a write of one SKU, by its code or also by the id of the path."""

    def work(conn: Connection) -> WriteOutcome:
        return write_one(conn, write, body, if_match, create_only=create_only, addressed=addressed, dry_run=dry_run)

    show = partial(_shown, lang=write.lang, dry_run=dry_run)
    return write.answer(
        fingerprint_for(body, if_match, create_only=create_only), work, show, dry_run=dry_run, pipelined=True
    )


def write_one(
    conn: Connection,
    write: Write,
    body: Json,
    if_match: Precondition | None = None,
    *,
    create_only: bool = False,
    addressed: UUID | None,
    dry_run: bool,
) -> WriteOutcome:
    """Write the one SKU of a body in the caller's transaction; with `create_only` only where it does not exist.

    `addressed` is the id of the path; None where the SKU is found by its code. Raise `Refused`, `NotThere` or
    `VersionConflict` where it is refused.
    """
    record = _record(body, None if addressed is None else _code_of(conn, addressed))
    [row] = write_records(
        conn,
        write.company_id,
        {0: record},
        origin=write.origin,
        now=write.now,
        rulesets=write.service.rulesets,
        dry_run=dry_run,
        if_versions={0: 0} if create_only else {},
    ).values()
    if create_only and row.version_before is not None:
        raise VersionConflict(row.version_before, create_only=True)
    if if_match is not None:
        if_match.check(row.version_before)
    if row.outcome == "rejected":
        raise Refused(row.errors)
    return row


def _code_of(conn: Connection, sku_id: UUID) -> str:
    code = queries.code_of(conn, sku_id) or archive.code_of(conn, sku_id)
    if code is None:
        raise NotThere
    return code


def _record(body: Json, code: str | None) -> SkuPatch:
    """Return the valid record of a body; `code` is that of the addressed SKU. Raise `Refused`."""
    record = parse_sku(body)
    if code is not None and texts.code(code) == record["sku_code"]:
        record["sku_code"] = code  # stored before codes had one form, and addressed by its id
    if code not in (None, record["sku_code"]):
        sentence = Message(
            "This SKU has the sku_code “{code}”; a code never changes. Send that code, or POST to /skus.", code=code
        )
        raise Refused([Issue("sku_code_mismatch", sentence, "sku_code")])
    return record


def _shown(row: WriteOutcome, *, lang: str, dry_run: bool) -> Response:
    assert row.detail is not None, "an accepted row can be shown"
    shown = {
        "outcome": row.outcome,
        "dry_run": dry_run,
        "version": row.stored_version(dry_run=dry_run),
        "data": row.detail(lang=lang),
        "warnings": [warning.as_dict() for warning in row.warnings],
    }
    answer = json_of(shown, 201 if row.outcome == "created" and not dry_run else 200)
    return answer if dry_run else with_etag(answer, row.version)
