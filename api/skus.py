"""SKU endpoints: the list, the detail, and the two writes of one SKU. `api.batches` writes many at once."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of, json_text
from api.auth import Presented
from api.bodies import fingerprint
from api.document import READ_ERRORS, V1, WRITE_ERRORS, body_of, operation
from api.errors import InvalidBody, NotFound
from api.languages import asked_for, spoken
from api.operations import resource
from api.origin import origin_of
from api.parameters import DRY_RUN, LIMIT, OFFSET, RECORD_ID, SKU_CODE, UPDATED_SINCE, record_id
from api.reading import read
from api.service import service_of
from api.several import Sent
from api.together import caught
from api.writing import answer, written
from pipelines.writing import present
from pipelines.writing.records import RowResult, write_records
from schemas import texts
from schemas.issues import Issue
from schemas.messages import Message
from schemas.models import Invalid, SkuInput, parse_sku
from schemas.responses import SkuDetailResponse, SkuListResponse, SkuWriteResult
from warehouse.access.keys import Key
from warehouse.sessions import Connection
from warehouse.skus import detail, queries

router = resource(prefix=f"{V1}/skus", tags=["SKUs"])


@router.get(
    "",
    **operation(
        "List SKUs",
        parameters=(LIMIT, OFFSET, SKU_CODE, UPDATED_SINCE),
        answers={200: SkuListResponse},
        errors=READ_ERRORS,
    ),
)
async def list_skus(request: Request, key_hash: Presented) -> Response:
    """A page of SKUs, newest first. `total` counts what the filters leave.

    `as_of` of the first page is the `updated_since` to ask with next time: nothing falls between the two.
    """
    filters = {"sku_codes": SKU_CODE.of(request), "updated_since": UPDATED_SINCE.of(request)}
    filtered, since = any(value is not None for value in filters.values()), filters["updated_since"] is not None
    query = queries.page(LIMIT.of(request), OFFSET.of(request), filtered=filtered, since=since)
    now = service_of(request).clock.now()
    instants = {"now": now, "today": now.date()}
    (page,) = await read(request, key_hash, query, instants | filters if filtered else instants)
    return json_text(page)


@router.get(
    "/{id}",
    **operation(
        "One SKU with components and compliance",
        parameters=(RECORD_ID,),
        answers={200: SkuDetailResponse},
        errors=(*READ_ERRORS, "not_found"),
    ),
)
async def get_sku(request: Request, key_hash: Presented) -> Response:
    """All fields, the component graph, the volumes, and why the grade is what it is."""
    today = service_of(request).clock.today()
    parameters = {"id": record_id(request), "today": today}
    row = detail.row_of(await read(request, key_hash, detail.BY_ID, parameters))
    if row["id"] is None:
        raise NotFound
    rules, graded_by, before = await service_of(request).rules_for(row["ruleset_version"], present.version_before(row))
    shown = await present.beside_others(
        row,
        lambda: present.sku_detail(
            row,
            present.record(row),
            rules=rules,
            graded_by=graded_by,
            doc_status=row["doc_status"],
            before=before,
            today=today,
            lang=asked_for(request),
        ),
    )
    return spoken(request, json_of({"data": shown}))


@router.post(
    "",
    **operation(
        "Create or update one SKU",
        parameters=(DRY_RUN,),
        body=body_of(SkuInput),
        answers={200: SkuWriteResult, 201: SkuWriteResult},
        errors=WRITE_ERRORS,
    ),
)
async def post_sku(request: Request) -> Response:
    """Upserts by `sku_code`: 201 when it is new, 200 when it is known or with `dry_run`.

    An omitted field stays as it is, null clears it, `components` replaces the whole graph.
    """
    return await written(request, _written_one, _written_together)


@router.put(
    "/{id}",
    **operation(
        "Update one SKU by id",
        parameters=(RECORD_ID, DRY_RUN),
        body=body_of(SkuInput),
        answers={200: SkuWriteResult},
        errors=(*WRITE_ERRORS, "not_found"),
    ),
)
async def put_sku(request: Request) -> Response:
    """The body of POST; its `sku_code` must be the code of the addressed SKU."""
    return await written(request, _written_one)


def _written_one(request: Request, key: Key, body: Any) -> Response:
    """Return the answer to a write of one SKU, by its code or also by the id of the path."""
    addressed = record_id(request) if "id" in request.path_params else None
    dry_run, service, origin = DRY_RUN.of(request), service_of(request), origin_of(request, key)
    now = service.clock.now()

    def work(conn: Connection) -> Callable[[], Response]:
        code = None if addressed is None else _code_of(conn, addressed)
        record = _valid(body)
        if code is not None and texts.code(code) == record["sku_code"]:
            record["sku_code"] = code  # stored before codes had one form, and addressed by its id
        if code not in (None, record["sku_code"]):
            sentence = Message(
                "This SKU has the sku_code “{code}”; a code never changes. Send that code, or POST to /skus.", code=code
            )
            raise InvalidBody([Issue("sku_code_mismatch", sentence, "sku_code")])
        [row] = write_records(
            conn, key.company_id, {0: record}, origin=origin, now=now, rulesets=service.rulesets, dry_run=dry_run
        ).values()
        if row.outcome == "rejected":
            raise InvalidBody(row.errors)
        return partial(_shown, row, asked_for(request), dry_run=dry_run)

    return answer(request, key, fingerprint(body), work, dry_run=dry_run, pipelined=True)


def _written_together(conn: Connection, sent: Mapping[int, Sent]) -> dict[int, Callable[[], Response] | Exception]:
    """Write POSTs of one key together, each with its own ledger entry in the chain; of equal codes only the first."""
    done: dict[int, Callable[[], Response] | Exception] = {}
    records: dict[str, tuple[int, dict[str, Any]]] = {}
    for place, one in sent.items():
        record = caught(_valid, one.body)
        if isinstance(record, Exception):
            done[place] = record
        else:
            records.setdefault(record["sku_code"], (place, record))
    if records:
        first = sent[min(sent)]
        service, origins = service_of(first.request), {at: origin_of(sent[at].request, first.key) for at in sent}
        rows = write_records(
            conn,
            first.key.company_id,
            dict(records.values()),
            origin=origins,
            now=service.clock.now(),
            rulesets=service.rulesets,
            dry_run=False,
        )
        for place, row in rows.items():
            lang = asked_for(sent[place].request)
            shown = partial(_shown, row, lang, dry_run=False)
            done[place] = InvalidBody(row.errors) if row.outcome == "rejected" else shown
    return done


def _code_of(conn: Connection, sku_id: UUID) -> str:
    code = queries.code_of(conn, sku_id)
    if code is None:
        raise NotFound
    return code


def _valid(body: Any) -> dict[str, Any]:
    try:
        return parse_sku(body)
    except Invalid as invalid:
        raise InvalidBody(invalid.issues) from None


def _shown(row: RowResult, lang: str, *, dry_run: bool) -> Response:
    assert row.detail is not None, "an accepted row can be shown"
    shown = {
        "outcome": row.outcome,
        "dry_run": dry_run,
        "data": row.detail(lang=lang),
        "warnings": [warning.as_dict() for warning in row.warnings],
    }
    return json_of(shown, 201 if row.outcome == "created" and not dry_run else 200)
