"""Writes of many SKUs: POST /skus/batch from one body, which accepts or rejects each by itself; POST /skus/changes.

A change of chosen SKUs is an import that the service writes itself: the file names them by their codes and has the
columns that change. So it is tried first, runs in chunks, survives its process and is undone as any import is.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Final, NamedTuple, cast
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field as PydanticField
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import json_of
from api.http.auth import Writer
from api.http.errors import WrongMethod
from api.http.parameters import DryRunValues, dry_run_asked
from api.http.requests import fingerprint, json_body
from api.http.writing import JsonWrite, Write
from api.imports.submissions import Render, submit
from api.openapi.document import V1, WRITE_ERRORS, body_of, operation
from api.skus.listing import FilterParameters, Filters, place_of
from pipelines.imports.submissions import Submission
from schemas.imports.types import ImportAccepted
from schemas.issues import Issue, first_hundred
from schemas.json_values import Json, JsonObject
from schemas.messages import Message
from schemas.refusals import Refused
from schemas.skus.answers import SkuBatchResponse
from schemas.skus.inputs import (
    MAX_BATCH,
    MAX_CHANGED,
    SkuBatchInput,
    SkuChangesInput,
    Strict,
    inside_volumes,
    parse_batch_row,
    parse_body,
)
from schemas.skus.types import SkuPatch, VolumeRow
from services.imports.workbook import ChangeFile, change_file
from services.skus import listing
from services.skus.write import WriteOutcome, patch_of, write_records
from warehouse.catalogue import served_markets
from warehouse.library import names, not_held
from warehouse.operate.sessions import Connection

router = APIRouter(prefix=f"{V1}/skus", tags=["SKUs"])

_OUTCOMES: Final = ("created", "updated", "unchanged", "rejected")


class _BatchOfRows(SkuBatchInput):
    """A batch whose rows are validated one by one, because each is refused by itself."""

    skus: Annotated[list[Json], PydanticField(max_length=MAX_BATCH)]


Rows = dict[int, WriteOutcome]
_PER_ROW: Final = Message(
    "A batch has a version for each row: send if_version with the row (0 where it must not exist yet), and no If-Match."
)


class _Batch(NamedTuple):
    """What a batch asks for, by the index of the row: records, volumes and versions of some, and rejected rows."""

    records: dict[int, SkuPatch]
    volumes: dict[int, str]
    if_versions: dict[int, int]
    rejected: Rows
    keep_archived: bool


@router.post(
    "/batch",
    **operation(
        "Create or update many SKUs", answers={200: SkuBatchResponse}, errors=WRITE_ERRORS, body=body_of(SkuBatchInput)
    ),
)
def post_batch(received: JsonWrite, sent: DryRunValues = None) -> Response:
    """Up to 1 000 SKUs. A row that is refused is reported with its reasons and holds back no other.

    A row may have `volumes`, which are upserted by market, year and half in the same write as its fields.
    A fault above the rows, such as an unknown field, refuses the whole body. `dry_run` is taken from the body and from
    the query. A row with `if_version` is written only where the SKU has that version, 0 where it does not exist.
    """
    write, body = received.admitted()
    if received.request.headers.get("If-Match") is not None:
        raise Refused([Issue("unknown_field", _PER_ROW, "If-Match")])
    dry_run = dry_run_asked(sent, body) or False

    def write_rows(conn: Connection) -> Rows:
        valid = _validated(body, cache(partial(served_markets, conn)))
        return valid.rejected | write_records(
            conn,
            write.actor,
            valid.records,
            rulesets=write.service.rulesets,
            dry_run=dry_run,
            volumes=valid.volumes,
            if_versions=valid.if_versions,
            keep_archived=valid.keep_archived,
        )

    show = partial(_batch_answer, dry_run=dry_run)
    return write.answer(fingerprint(body), write_rows, show, dry_run=dry_run)


def _batch_answer(rows: Rows, *, dry_run: bool) -> Response:
    outcomes = Counter(row.outcome for row in rows.values())
    return json_of(
        {
            "dry_run": dry_run,
            "summary": {"total": len(rows), **{name: outcomes[name] for name in _OUTCOMES}},
            "results": [_published(index, rows[index], dry_run=dry_run) for index in sorted(rows)],
        }
    )


@router.post(
    "/changes",
    **operation(
        "Change many SKUs at once",
        body=body_of(SkuChangesInput),
        answers={202: ImportAccepted},
        errors=WRITE_ERRORS,
        preview=True,
    ),
)
async def post_changes(
    request: Request, key: Writer, *, sent: DryRunValues = None, wanted: FilterParameters
) -> Response:
    """Sets the same fields of up to 20 000 SKUs, by an import that the service makes of them.

    The SKUs are those of `ids`, those that the filters leave, or with `all` every one. The answer is the import's: its
    dry run says what would follow for grades, its report names each SKU that was refused, and `POST
    /imports/{id}/undo` takes it back. A supplier and a polymer are filled in where a part has none.
    """
    body = await json_body(request)
    changes = parse_body(SkuChangesInput, body)
    dry_run = dry_run_asked(sent, body) or False
    write = await run_in_threadpool(Write.by_key, request, key)
    return await change(request, write, wanted, changes, lambda _, accepted: json_of(accepted, 202), dry_run=dry_run)


async def change(
    request: Request, write: Write, wanted: Filters, changes: SkuChangesInput, render: Render, *, dry_run: bool
) -> Response:
    """Submit the import that changes the chosen SKUs. Raise `Refused` where none is chosen, too many, or a foreign one.

    `render` as in `api.imports.submissions`.
    """
    values = {name: str(value) for name, value in wanted.values.items()}
    digest = fingerprint([values, changes.model_dump(exclude={"dry_run"}, exclude_unset=True)])
    if earlier := await run_in_threadpool(write.answered, digest, dry_run=dry_run):
        return earlier
    file = await run_in_threadpool(_change_file, write, wanted, changes)
    sent = Submission(file.data, file.filename, dry_run, file.mapping, fingerprint=digest, keep_archived=True)
    return await submit(request, write, sent, render)


def _change_file(write: Write, wanted: Filters, changes: SkuChangesInput) -> ChangeFile:
    fields = cast(Strict, changes.fields).model_dump(exclude_unset=True)
    ids = None if changes.ids is None else set(changes.ids)
    if not fields:
        raise Refused([Issue("required", Message("Choose at least one field to set."), "fields")])
    if (ids is not None) + bool(wanted.values.keys() - {"sort"}) + changes.all != 1:
        sentence = Message("Say which SKUs in one way: ids, a filter, or all: true for every one.")
        raise Refused([Issue("invalid_format", sentence, "ids")])
    with write.service.writes.company(write.actor.company_id) as conn:
        for name, resource in (("brand_id", "brand"), ("supplier_id", "supplier")):
            if name in fields and not names(conn, resource, {UUID(fields[name])}):
                sentence = not_held(fields[name], f"{resource}s")
                raise Refused([Issue("unknown_reference", sentence, f"fields.{name}")])
    place = place_of(write.request, write.actor.company_id)
    search = wanted.search(ids=None if ids is None else f"{{{','.join(ids)}}}")
    many = ids is not None and len(ids) > MAX_CHANGED
    codes = [] if many else listing.codes(place, search, wanted.finding(), most=MAX_CHANGED + 1)
    if many or len(codes) > MAX_CHANGED:
        sentence = Message("At most {most} items are changed at once; narrow the choice.", most=MAX_CHANGED)
        raise Refused([Issue("out_of_range", sentence, "ids")])
    if ids and len(codes) < len(ids):
        sentence = Message("{count} of these ids are of no SKU that is held.", count=len(ids) - len(codes))
        raise Refused([Issue("unknown_reference", sentence, "ids")])
    if not codes:
        raise Refused([Issue("required", Message("No item is chosen, so nothing would change."), "ids")])
    with write.service.writes.company(write.actor.company_id) as conn:
        return change_file(conn, codes, fields)


@router.get("/changes", include_in_schema=False)
@router.put("/changes", include_in_schema=False)
@router.get("/batch", include_in_schema=False)
@router.put("/batch", include_in_schema=False)
@router.patch("/changes", include_in_schema=False)
@router.patch("/batch", include_in_schema=False)
def wrong_method() -> Response:
    """Refuse GET, PUT and PATCH; without these routes the path would be read as that of a SKU with such an id."""
    raise WrongMethod(["POST"])


def _validated(body: Json, served: Callable[[], frozenset[str]]) -> _Batch:
    """Return what a batch asks for. Raise `Refused` for a fault above the rows.

    `served` finds the markets that volumes can be of.
    """
    batch = parse_body(_BatchOfRows, body)
    contents = _Batch({}, {}, {}, {}, keep_archived=batch.archived == "keep")
    for index, row in enumerate(batch.skus):
        try:
            record, volumes, if_version = parse_batch_row(row)
            if volumes is not None:
                contents.volumes[index] = _units(volumes, served())
            if if_version is not None:
                contents.if_versions[index] = if_version
            contents.records[index] = record
        except Refused as invalid:
            code = row.get("sku_code") if isinstance(row, dict) else None
            contents.rejected[index] = WriteOutcome(
                index, code if isinstance(code, str) else "", "rejected", errors=list(invalid.issues)
            )
    return contents


def _units(volumes: list[VolumeRow], served: frozenset[str]) -> str:
    try:
        return patch_of(volumes, served)
    except Refused as invalid:
        raise Refused(inside_volumes(invalid.issues)) from None


def _published(index: int, row: WriteOutcome, *, dry_run: bool) -> JsonObject:
    """Return the BatchRow of decisions §1, with the version of §13."""
    return {
        "index": index,
        "sku_code": row.sku_code or None,
        "outcome": row.outcome,
        "id": row.id,
        "version": row.stored_version(dry_run=dry_run),
        "recyclability_grade": row.recyclability_grade,
        "recyclability_score": row.recyclability_score,
        "errors": [issue.as_dict() for issue in first_hundred(row.errors)],
        "warnings": [issue.as_dict() for issue in row.warnings],
    }
