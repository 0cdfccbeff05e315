"""The rejected rows of an import: read, downloaded with their reasons, and imported again with corrected cells."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Annotated, Final
from urllib.parse import quote

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of
from api.auth import Reader, Writer
from api.bodies import json_body
from api.correcting import Form, corrected_name, rejected_file, rejected_rows, submit_corrected
from api.document import READ_ERRORS, V1, WRITE_ERRORS, body_of, operation
from api.importing import stored_import
from api.languages import accepted_language
from api.parameters import DryRunValues, Limit, Offset, RecordId, agreed, said_in, truth
from api.service import service_of
from api.writing import Write
from pipelines.corrections import Edit, RejectedRow
from schemas.import_inputs import ImportCorrections
from schemas.json_values import JsonObject
from schemas.models import parse_body
from schemas.report import StoredRowError
from schemas.responses import ImportAccepted, RejectedRowListResponse

router = APIRouter(prefix=f"{V1}/imports", tags=["Imports"])

MEDIA_TYPES: Final[dict[Form, str]] = {
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_ERRORS: Final = (*READ_ERRORS, "not_found", "not_implemented")
FileForm = Annotated[Form, Query(alias="format", description="The form of the file.")]


@router.get(
    "/{id}/rejected",
    **operation(
        "List the rejected rows of an import",
        answers={200: RejectedRowListResponse},
        errors=_ERRORS,
        preview=True,
    ),
)
async def list_rejected(
    request: Request, key: Reader, import_id: RecordId, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """A page of the rows with their cells as they were sent, by column letter, and their faults as in the report.

    Where a SKU is rejected as a whole, its other rows are among them, without faults. Refused with `invalid_format`
    where the file is no longer stored.
    """
    lang = accepted_language(request)
    found, report = await rejected_rows(request, key.company_id, import_id, lang=lang, offset=offset, limit=limit)
    return json_of(
        {
            "headers": found.headers,
            "data": with_faults(found.rows, report),
            "pagination": {"limit": limit, "offset": offset, "total": found.total},
        }
    )


@router.get(
    "/{id}/rejected/file",
    **operation(
        "Download the rejected rows of an import",
        files=(*MEDIA_TYPES.values(),),
        errors=_ERRORS,
        preview=True,
    ),
)
async def get_rejected_file(request: Request, key: Reader, import_id: RecordId, form: FileForm = "xlsx") -> Response:
    """The rejected rows in a file like the one that was sent, with line, column and reason behind their cells.

    Corrected, it is imported like any other. A CSV of rows of two sheets is refused: choose `xlsx`.
    """
    data = await rejected_file(request, key.company_id, import_id, form, lang=accepted_language(request))
    found = await run_in_threadpool(stored_import, service_of(request), key.company_id, import_id)
    return file_answer(data, corrected_name(found.filename, form), form)


@router.post(
    "/{id}/corrections",
    **operation(
        "Import the rejected rows again with corrected cells",
        body=body_of(ImportCorrections),
        answers={202: ImportAccepted},
        errors=(*WRITE_ERRORS, "not_found", "not_implemented"),
        preview=True,
    ),
)
async def post_corrections(
    request: Request, key: Writer, import_id: RecordId, *, dry_run: DryRunValues = None
) -> Response:
    """Makes a file of the rejected rows with these cells, and imports it as `POST /imports` does.

    Corrections of a dry run make the whole file with these cells, and a dry run again unless `dry_run` is false. It is
    read with the columns of the first one. Rows that are still wrong are in the report of the new import; a row that
    was rejected as a duplicate is, until its code differs.
    """
    body = await json_body(request)
    sent = parse_body(ImportCorrections, body)
    asked = agreed("dry_run", truth, [*(dry_run or ()), *said_in(body, "dry_run")])
    write = await run_in_threadpool(Write.by_key, request, key)
    edits = [Edit(cell.sheet, cell.line, cell.column, cell.value) for cell in sent.cells]
    return await submit_corrected(request, write, import_id, edits, dry_run=asked, sender_id=key.client_id)


def file_answer(data: bytes, filename: str, form: Form) -> Response:
    """Return a file to download."""
    ascii_name = filename.encode("ascii", "replace").decode().replace("?", "_").replace('"', "_")
    headers = {
        "Content-Disposition": f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(filename)}",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(data, headers=headers, media_type=MEDIA_TYPES[form])


def with_faults(rows: Iterable[RejectedRow], report: Iterable[StoredRowError]) -> list[JsonObject]:
    """Return rows with the faults of each, as the report has them."""
    faults: defaultdict[tuple[str | None, int], list[JsonObject]] = defaultdict(list)
    for fault in report:
        faults[fault["sheet"], fault["line"]].append({k: v for k, v in fault.items() if k != "template"})
    return [{**row, "errors": faults[row["sheet"], row["line"]]} for row in rows]
