"""The rejected rows of an import: read, downloaded with their reasons, and imported again with corrected cells."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, Final, Literal
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import accepted_language, json_of
from api.http.auth import Reader, Writer
from api.http.parameters import DryRunValues, Limit, Offset, RecordId, agreed, said_in, truth
from api.http.requests import fingerprint, json_body
from api.http.service import Service, read_apart, service_of
from api.http.writing import Write
from api.imports.submit import Submission, mapping_of, stored_bytes, stored_import, submit
from api.openapi.document import READ_ERRORS, V1, WRITE_ERRORS, body_of, operation
from pipelines.imports.corrections import Edit, RejectedRow
from pipelines.readers.requests import RejectedRows, corrected_file_request, rejected_rows_request
from pipelines.reading.mapping import merged
from schemas.imports.answers import ImportAccepted, RejectedRowListResponse
from schemas.imports.inputs import ImportCorrections
from schemas.imports.types import StoredRowError
from schemas.json_values import JsonObject
from schemas.messages import from_json, message_of, translate
from schemas.skus.inputs import parse_body
from warehouse.imports import queries
from warehouse.imports.queries import StoredUpload

Form = Literal["csv", "xlsx"]

_ANSWERS: Final = ("units", "lists", "quantity", "encoding", "create")
"""Parts of a mapping that fit the rejected rows as well as the whole file."""
_OF_WHOLE: Final = ("lines",)

Say = Callable[[str, str], str]
"""Puts a message into a language: for programs, or in the words of the pages."""


async def rejected_rows(
    request: Request, company_id: UUID, import_id: UUID, *, lang: str, offset: int, limit: int, say: Say = translate
) -> tuple[RejectedRows, list[StoredRowError]]:
    """Return a page of the rejected rows, and the whole report, whose messages `say` puts into the language.

    Raise `NotFound`, and `InvalidBody` without a file.
    """
    found, data, report = await run_in_threadpool(_load, service_of(request), company_id, import_id, lang, say)
    if not report:
        return RejectedRows([], [], 0), report
    order = rejected_rows_request(data, found.source, report, lang=lang, offset=offset, limit=limit)
    return await read_apart(request, company_id, "company", order), report


async def rejected_file(
    request: Request, company_id: UUID, import_id: UUID, form: Form, *, lang: str, say: Say = translate
) -> bytes:
    """Return the rejected rows with their reasons as a file. Raise as `rejected_rows`, and where it has no rows."""
    found, data, report = await run_in_threadpool(_load, service_of(request), company_id, import_id, lang, say)
    order = corrected_file_request(data, found.source, report, lang=lang, edits=(), form=form, with_reasons=True)
    return (await read_apart(request, company_id, "company", order)).data


async def submit_corrected(
    request: Request, write: Write, import_id: UUID, edits: Sequence[Edit], *, dry_run: bool | None, sender_id: UUID
) -> Response:
    """Submit an import with these cells as a file of its own, read like the first one (decisions §13, Corrections).

    Of a dry run it is the whole file, and a dry run again where `dry_run` is None; of an import the rejected rows
    alone. Rows that are still wrong are rejected again, in the report of the new import. Raise as `rejected_rows`,
    `api.imports.submit.submit`, and where an edit is of no rejected row.
    """
    found = await run_in_threadpool(stored_import, write.service, write.actor.company_id, import_id)
    dry_run = found.dry_run if dry_run is None else dry_run
    digest = fingerprint([str(import_id), [[e.sheet, e.line, e.column, e.text] for e in edits], dry_run])
    if earlier := await run_in_threadpool(write.answered, digest, dry_run=dry_run):
        return earlier
    found, data, report = await run_in_threadpool(_load, write.service, write.actor.company_id, import_id, "en")
    form = found.source["format"]
    whole = found.dry_run and any(column["field"] == "sku_code" for column in found.source["columns"])
    order = corrected_file_request(
        data,
        found.source,
        report,
        lang="en",
        edits=edits,
        form=form,
        with_reasons=False,
        whole=whole,
        taken_codes=found.taken_codes or (),
    )
    corrected = await read_apart(request, write.actor.company_id, "company", order)
    sent = Submission(
        corrected.data,
        corrected_name(found.filename, form),
        dry_run,
        _mapping_of_corrected(found, corrected.sheets, whole=whole),
        None,
        keeps_mapping=False,
        fingerprint=digest,
        sender_id=sender_id,
        keep_archived=found.keep_archived,
        taken_codes=corrected.taken_codes,
    )
    return await submit(request, write, sent)


def corrected_name(filename: str, form: Form) -> str:
    """Return the name of a file of rejected rows: `list.corrected.xlsx` for `list.xlsx`."""
    stem = PurePath(filename).stem.removesuffix(".corrected") or "import"
    return f"{stem}.corrected.{form}"


def _mapping_of_corrected(found: StoredUpload, sheets: Sequence[str | None], *, whole: bool) -> dict[str, object]:
    """Return the mapping of a corrected file: as its columns were read, with the answers that the import was given."""
    given, read = found.mapping or {}, mapping_of(found.source, sheets)
    kept = {key: given[key] for key in (*_ANSWERS, *(_OF_WHOLE if whole else ())) if key in given}
    parts, of_parts = given.get("components"), read.get("components")
    if isinstance(parts, Mapping) and isinstance(of_parts, Mapping):
        kept["components"] = {key: parts[key] for key in (*_ANSWERS, *(_OF_WHOLE if whole else ())) if key in parts}
    return merged(kept, read)


def _load(
    service: Service, company_id: UUID, import_id: UUID, lang: str, say: Say = translate
) -> tuple[StoredUpload, bytes, list[StoredRowError]]:
    found = stored_import(service, company_id, import_id)
    data = stored_bytes(service, found)
    with service.writes.company(company_id) as conn:
        report = queries.all_faults(conn, import_id)
    for fault in report:
        template = fault["template"]
        fault["message"] = say(from_json(template) if template else message_of(fault["message"]), lang)
    return found, data, report


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
