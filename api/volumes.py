"""PUT /skus/{id}/volumes: writes the units placed on the market, by market and period."""

from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from api.answers import json_of
from api.document import READ_ERRORS, V1, operation, rows_of
from api.parameters import DryRun, RecordId
from api.preconditions import ETAG, IfMatch, fingerprint_for, with_etag
from api.writing import JsonWrite, Write
from pipelines.writing.volume_rows import VolumesWritten, write_resting_volumes, write_volumes
from schemas.json_values import Json
from schemas.models import MAX_VOLUME_ROWS, VolumeRowInput, parse_volumes
from schemas.refusals import NotThere
from schemas.responses import VolumesWriteResult
from warehouse.sessions import Connection
from warehouse.skus import archive
from warehouse.skus import queries as skus

router = APIRouter(prefix=f"{V1}/skus", tags=["SKUs"])


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

    def work(conn: Connection) -> VolumesWritten:
        written = _written(conn, write, sku_id, body, dry_run=dry_run)
        if if_match is not None:
            if_match.check(written.version_before)
        return written

    def show(written: VolumesWritten) -> Response:
        warnings = [warning.as_dict() for warning in written.warnings]
        version = written.version_before if dry_run else written.version
        answer = json_of({"dry_run": dry_run, "version": version, "data": written.rows, "warnings": warnings})
        return answer if dry_run else with_etag(answer, written.version)

    return write.answer(fingerprint_for(body, if_match), work, show, dry_run=dry_run)


def _written(conn: Connection, write: Write, sku_id: UUID, body: Json, *, dry_run: bool) -> VolumesWritten:
    """Write the rows of a body to a SKU, archived or not. Raise `NotThere` and `Refused`."""
    code = skus.code_of(conn, sku_id)
    if code is None and archive.code_of(conn, sku_id) is None:
        raise NotThere
    rows = parse_volumes(body)
    if code is None:
        resting = write_resting_volumes(
            conn, write.company_id, sku_id, rows, origin=write.origin, now=write.now, dry_run=dry_run
        )
        if resting is not None:
            return resting
        code = skus.code_of(conn, sku_id)  # it has come back since
        if code is None:
            raise NotThere
    return write_volumes(
        conn,
        write.company_id,
        code,
        rows,
        origin=write.origin,
        now=write.now,
        rulesets=write.service.rulesets,
        dry_run=dry_run,
    )
