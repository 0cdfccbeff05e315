"""PUT /skus/{id}/volumes: writes the units placed on the market, by market and period."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from api.answers import json_of
from api.bodies import fingerprint
from api.document import READ_ERRORS, V1, operation, rows_of
from api.errors import InvalidBody, NotFound
from api.parameters import DryRun, RecordId
from api.writing import JsonWrite
from pipelines.writing.volume_rows import write_volumes
from schemas.models import MAX_VOLUME_ROWS, Invalid, VolumeRowInput, parse_volumes
from schemas.responses import VolumesWriteResult
from warehouse.sessions import Connection
from warehouse.skus import queries as skus

router = APIRouter(prefix=f"{V1}/skus", tags=["SKUs"])


@router.put(
    "/{id}/volumes",
    **operation(
        "Set units placed per market and period",
        body=rows_of(VolumeRowInput, most=MAX_VOLUME_ROWS),
        answers={200: VolumesWriteResult},
        errors=(*READ_ERRORS, "not_found", "idempotency_key_reuse", "payload_too_large"),
    ),
)
def put_volumes(received: JsonWrite, sku_id: RecordId, dry_run: DryRun) -> Response:
    """Upserts rows of the SKU: one per market, year and half. A row with null units is cleared.

    Rows that are not sent stay as they are, so that an empty array changes nothing. When any row is refused, nothing is
    written. A market that the SKU does not name is a warning.
    """
    write, body = received.admitted()

    def work(conn: Connection) -> dict[str, Any]:
        code = skus.code_of(conn, sku_id)
        if code is None:
            raise NotFound
        try:
            rows, warnings = write_volumes(
                conn,
                write.company_id,
                code,
                parse_volumes(body),
                origin=write.origin,
                now=write.now,
                rulesets=write.service.rulesets,
                dry_run=dry_run,
            )
        except Invalid as invalid:
            raise InvalidBody(invalid.issues) from None
        return {"dry_run": dry_run, "data": rows, "warnings": [w.as_dict() for w in warnings]}

    return write.answer(fingerprint(body), work, json_of, dry_run=dry_run)
