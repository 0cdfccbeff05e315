"""POST /skus/batch: writes many SKUs from one body and accepts or rejects each by itself."""

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Final, NamedTuple

from fastapi import APIRouter
from pydantic import Field as PydanticField
from starlette.responses import Response

from api.http.answers import json_of
from api.http.errors import WrongMethod
from api.http.parameters import DryRunValues, agreed, said_in, truth
from api.http.requests import fingerprint
from api.http.writing import JsonWrite
from api.openapi.document import V1, WRITE_ERRORS, body_of, operation
from schemas.bounds import first_hundred
from schemas.issues import Issue
from schemas.json_values import Json, JsonObject
from schemas.messages import Message
from schemas.refusals import Refused
from schemas.skus.answers import SkuBatchResponse
from schemas.skus.inputs import MAX_BATCH, SkuBatchInput, inside_volumes, parse_batch_row, parse_body
from schemas.skus.types import SkuPatch, VolumeRow
from services.skus.write import WriteOutcome, patch_of, write_records
from warehouse.catalogue import served_markets
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
    dry_run = agreed("dry_run", truth, [*(sent or ()), *said_in(body, "dry_run")]) or False

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


@router.get("/batch", include_in_schema=False)
@router.put("/batch", include_in_schema=False)
def wrong_method() -> Response:
    """Refuse GET and PUT; without these routes the path would be read as that of a SKU with the id “batch”."""
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
