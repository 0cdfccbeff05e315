"""POST /skus/batch: writes many SKUs from one body and accepts or rejects each by itself."""

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Final

from fastapi import APIRouter
from pydantic import Field as PydanticField
from pydantic import ValidationError
from starlette.responses import Response

from api.answers import json_of
from api.document import V1, WRITE_ERRORS, body_of, operation
from api.errors import InvalidBody, WrongMethod
from api.parameters import DryRunValues, agreed, truth
from api.preconditions import IfMatch, fingerprint_for
from api.writing import JsonWrite
from pipelines.writing.records import WriteOutcome, write_records
from pipelines.writing.volume_rows import patch_of
from schemas.batches import MAX_BATCH, SkuBatchInput, inside_volumes, parse_batch_row
from schemas.bounds import first_hundred
from schemas.json_values import Json, JsonObject
from schemas.models import Invalid, issues_of
from schemas.responses import SkuBatchResponse
from schemas.sku import SkuPatch, VolumeRow
from warehouse.catalogue.queries import served_markets
from warehouse.sessions import Connection

router = APIRouter(prefix=f"{V1}/skus", tags=["SKUs"])

_OUTCOMES: Final = ("created", "updated", "unchanged", "rejected")


class _BatchOfRows(SkuBatchInput):
    """A batch whose rows are validated one by one, because each is refused by itself."""

    skus: Annotated[list[Json], PydanticField(max_length=MAX_BATCH)]


Records = dict[int, SkuPatch]
Rows = dict[int, WriteOutcome]


@router.post(
    "/batch",
    **operation(
        "Create or update many SKUs",
        answers={200: SkuBatchResponse},
        errors=(*WRITE_ERRORS, "version_conflict"),
        body=body_of(SkuBatchInput),
    ),
)
def post_batch(received: JsonWrite, sent: DryRunValues = None, if_match: IfMatch = None) -> Response:
    """Up to 1 000 SKUs. A row that is refused is reported with its reasons and holds back no other.

    A row may have `volumes`, which are upserted by market, year and half in the same write as its fields.
    A fault above the rows, such as an unknown field, refuses the whole body. `dry_run` is taken from the body and from
    the query. With `If-Match` the whole batch is refused where a row that it would write has none of these versions.
    """
    write, body = received.admitted()
    dry_run = agreed("dry_run", truth, [*(sent or ()), *_said_in(body)]) or False

    def work(conn: Connection) -> Rows:
        records, volumes, rows = _validated(body, cache(partial(served_markets, conn)))
        rows |= write_records(
            conn,
            write.company_id,
            records,
            origin=write.origin,
            now=write.now,
            rulesets=write.service.rulesets,
            dry_run=dry_run,
            volumes=volumes,
        )
        if if_match is not None:
            for row in rows.values():
                if row.outcome != "rejected":
                    if_match.check(row.version_before)
        return rows

    show = partial(_shown, dry_run=dry_run)
    return write.answer(fingerprint_for(body, if_match), work, show, dry_run=dry_run)


def _said_in(body: Json) -> list[str]:
    """Return `dry_run` from the body where it is a boolean; `_validated` refuses another type."""
    sent = body.get("dry_run") if isinstance(body, dict) else None
    return [str(sent).lower()] if isinstance(sent, bool) else []


def _shown(rows: Rows, *, dry_run: bool) -> Response:
    outcomes = Counter(row.outcome for row in rows.values())
    return json_of(
        {
            "dry_run": dry_run,
            "summary": {"total": len(rows), **{name: outcomes[name] for name in _OUTCOMES}},
            "results": [_published(index, rows[index]) for index in sorted(rows)],
        }
    )


@router.get("/batch", include_in_schema=False)
@router.put("/batch", include_in_schema=False)
def wrong_method() -> Response:
    """Refuse GET and PUT; without these routes the path would be read as that of a SKU with the id “batch”."""
    raise WrongMethod(["POST"])


def _validated(body: Json, served: Callable[[], frozenset[str]]) -> tuple[Records, dict[int, str], Rows]:
    """Return valid records, the volumes of some, and rejected rows, by their index.

    `served` finds the markets that volumes can be of. Raise `InvalidBody` for a fault above the rows.
    """
    try:
        rows = _BatchOfRows.model_validate(body).skus
    except ValidationError as error:
        raise InvalidBody(issues_of(error)) from None
    records: Records = {}
    units: dict[int, str] = {}
    rejected: Rows = {}
    for index, row in enumerate(rows):
        try:
            record, volumes = parse_batch_row(row)
            if volumes is not None:
                units[index] = _units(volumes, served())
            records[index] = record
        except Invalid as invalid:
            code = row.get("sku_code") if isinstance(row, dict) else None
            rejected[index] = WriteOutcome(
                index, code if isinstance(code, str) else "", "rejected", errors=invalid.issues
            )
    return records, units, rejected


def _units(volumes: list[VolumeRow], served: frozenset[str]) -> str:
    try:
        return patch_of(volumes, served)
    except Invalid as invalid:
        raise Invalid(inside_volumes(invalid.issues)) from None


def _published(index: int, row: WriteOutcome) -> JsonObject:
    """Return the BatchRow of decisions §1."""
    return {
        "index": index,
        "sku_code": row.sku_code or None,
        "outcome": row.outcome,
        "id": row.id,
        "recyclability_grade": row.recyclability_grade,
        "recyclability_score": row.recyclability_score,
        "errors": [issue.as_dict() for issue in first_hundred(row.errors)],
        "warnings": [issue.as_dict() for issue in row.warnings],
    }
