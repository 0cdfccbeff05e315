"""Technical files of a SKU: lists them and uploads one. No operation returns their bytes; a page does."""

from functools import partial
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.files.uploads import receive
from api.http.auth import Presented, Writer, answer_page
from api.http.parameters import DryRun, Limit, Offset, RecordId
from api.http.requests import FileForm
from api.http.writing import Write
from api.openapi.document import READ_ERRORS, V1, operation
from schemas.files import MAX_TEXT, TechnicalFilesListResponse, TechnicalFileUploadResponse
from schemas.json_values import JsonObject
from schemas.vocabularies import MEDIA_TYPES, TYPES
from warehouse import files

router = APIRouter(prefix=f"{V1}/skus/{{id}}/files", tags=["Technical files"])


def _text(meaning: str) -> JsonObject:
    return {"type": "string", "maxLength": MAX_TEXT, "description": meaning}


def _day(meaning: str) -> JsonObject:
    return {"type": "string", "format": "date", "description": meaning}


_FIELDS: Final = {
    "file": {"type": "string", "format": "binary", "description": "The document, with its name; 20 000 000 bytes."},
    "type": {"type": "string", "enum": list(TYPES), "description": "What the document is."},
    "reference": _text("Your own reference of the document."),
    "issuer": _text("Who issued it."),
    "issued_on": _day("ISO date."),
    "expires_on": _day("ISO date, not before `issued_on`."),
}
_BODY: Final = {
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "required": ["file", "type"],
            "additionalProperties": False,
            "properties": _FIELDS,
        },
        "encoding": {"file": {"contentType": ", ".join(kind.media_type for kind in MEDIA_TYPES)}},
    }
}
_UPLOAD: Final = operation(
    "Upload one technical file",
    body=_BODY,
    answers={200: TechnicalFileUploadResponse, 201: TechnicalFileUploadResponse},
    errors=(*READ_ERRORS, "not_found", "plan_limit_reached", "idempotency_key_reuse", "payload_too_large"),
)


@router.get(
    "",
    **operation(
        "List technical files of a SKU", answers={200: TechnicalFilesListResponse}, errors=(*READ_ERRORS, "not_found")
    ),
)
async def list_files(
    request: Request, presented: Presented, sku_id: RecordId, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """A page of what is known of each file, newest first: fingerprint, dates, issuer. Their bytes are not served."""
    return await answer_page(request, presented, files.page(sku_id, limit, offset))


@router.post("", **_UPLOAD)
async def post_file(request: Request, key: Writer, sku_id: RecordId, dry_run: DryRun) -> Response:
    """Multipart with the part `file` and the field `type`, in any order.

    Up to 20 000 000 bytes: PDF, PNG, JPEG, WebP, Word or Excel, judged by the bytes as well as by the declared type;
    415 where they contradict. The same file sent twice is two records: send an Idempotency-Key.
    """
    return await receive(
        request, key.company_id, sku_id, FileForm(request), partial(Write.by_key, request, key), dry_run=dry_run
    )
