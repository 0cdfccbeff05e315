"""What-if endpoints: the grade and the flags that a write of one SKU would lead to. Nothing is stored.

They are the dry run of that write (`api.skus.write_one`), so that the two cannot differ.
"""

from functools import partial
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from api.answers import json_of
from api.bodies import fingerprint
from api.document import READ_ERRORS, V1, body_of, operation
from api.errors import WrongMethod
from api.parameters import RecordId
from api.skus import write_one
from api.writing import JsonWrite, Write
from pipelines.writing.records import WriteOutcome
from schemas.json_values import Json
from schemas.models import SkuInput
from schemas.responses import SkuWhatIf
from warehouse.sessions import Connection

router = APIRouter(prefix=f"{V1}/skus", tags=["SKUs"])

_ERRORS = (*READ_ERRORS, "plan_limit_reached", "payload_too_large")


@router.post(
    "/what-if",
    **operation(
        "The grade that a SKU would have",
        body=body_of(SkuInput),
        answers={200: SkuWhatIf},
        errors=_ERRORS,
        preview=True,
    ),
)
def post_what_if(received: JsonWrite) -> Response:
    """Takes the body of POST /skus and answers what its write would lead to. Nothing is stored.

    The SKU need not be stored yet. Where its `sku_code` is known, an omitted field is as it is stored.
    """
    write, body = received.admitted()
    return _answer(write, body, addressed=None)


@router.post(
    "/{id}/what-if",
    **operation(
        "The grade that a stored SKU would have",
        body=body_of(SkuInput),
        answers={200: SkuWhatIf},
        errors=(*_ERRORS, "not_found"),
        preview=True,
    ),
)
def post_sku_what_if(received: JsonWrite, sku_id: RecordId) -> Response:
    """Takes the body of PUT /skus/{id} and answers what its write would lead to. Nothing is stored."""
    write, body = received.admitted()
    return _answer(write, body, addressed=sku_id)


def _answer(write: Write, body: Json, *, addressed: UUID | None) -> Response:
    def work(conn: Connection) -> WriteOutcome:
        return write_one(conn, write, body, addressed=addressed, dry_run=True)

    show = partial(_shown, lang=write.lang)
    return write.answer(fingerprint(body), work, show, dry_run=True, pipelined=True)


def _shown(row: WriteOutcome, *, lang: str) -> Response:
    assert row.detail is not None, "an accepted row can be shown"
    detail = row.detail(lang=lang)
    shown = {
        "outcome": row.outcome,
        "id": detail["id"],
        "sku_code": detail["sku_code"],
        "compliance": detail["compliance"],
        "warnings": [warning.as_dict() for warning in row.warnings],
    }
    return json_of(shown)


@router.get("/what-if", include_in_schema=False)
@router.put("/what-if", include_in_schema=False)
def wrong_method_of_what_if() -> Response:
    """Refuse GET and PUT; without these routes the path would be read as that of a SKU with the id “what-if”."""
    raise WrongMethod(["POST"])
