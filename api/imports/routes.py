"""Import endpoints: accept or refuse a file as a whole; a run writes its rows after the answer.

Beside them the rejected rows, undoing, and what the company's imports remember: own words, and mappings by their names.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time
from functools import partial
from typing import Annotated, Final, TypeVar, get_args
from uuid import UUID

import orjson
from fastapi import APIRouter, Query
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import accepted_language, in_language, json_of, revalidated
from api.http.auth import Presented, Reader, Writer, answer_page, read_record
from api.http.parameters import (
    INSTANT_OR_DAY,
    ArchivedValues,
    DryRun,
    DryRunValues,
    Filename,
    ImportStatus,
    Limit,
    MappingNameValues,
    MappingValues,
    Offset,
    RecordId,
    agreed,
    bound,
    dry_run_asked,
    one_of,
    sent_once,
    truth,
)
from api.http.parameters import archived as read_archived
from api.http.requests import Upload, fingerprint, json_body, upload
from api.http.service import service_of
from api.http.writing import JsonWrite, Write, with_reason
from api.imports.submissions import (
    MEDIA_TYPES,
    Form,
    kept_mapping,
    mapping_name,
    rejected_file,
    rejected_rows,
    repeat,
    stored_import,
    submit,
    submit_corrected,
)
from api.openapi.document import CHANGE_ERRORS, READ_ERRORS, V1, WRITE_ERRORS, body_of, operation
from pipelines.imports.rejections import Edit
from pipelines.imports.submissions import Submission
from schemas.imports.inputs import ImportCorrections, ImportRepeat, OwnWordsInput
from schemas.imports.types import (
    ImportAccepted,
    ImportListResponse,
    ImportStatusResponse,
    ImportUndoResult,
    KeptMappingListResponse,
    KeptMappingRemoval,
    OwnWordListResponse,
    OwnWordsWriteResult,
    RejectedRowListResponse,
)
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.messages import ORIGINAL, Message
from schemas.refusals import Refused, require
from schemas.skus.inputs import Archived, ReasonInput, parse_body, validator
from services.imports.undo import undo
from services.imports.words import change_words, remove_mapping
from warehouse.imports import queries, words
from warehouse.operate.sessions import Connection

router = APIRouter(prefix=f"{V1}/imports", tags=["Imports"])

T = TypeVar("T")
_FILE: JsonObject = {"type": "string", "format": "binary"}
_TEXT: JsonObject = {"type": "string"}
_BODY = {
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "required": ["file"],
            "properties": {
                "file": _FILE,
                "dry_run": {"type": "boolean"},
                "mapping": _TEXT,
                "mapping_name": _TEXT,
                "archived": {"type": "string", "enum": list(get_args(Archived)), "x-stability": "preview"},
            },
        }
    },
    "application/octet-stream": {"schema": _FILE},
}


SubmittedSince = Annotated[
    datetime | None,
    BeforeValidator(validator(bound, time.min)),
    WithJsonSchema(INSTANT_OR_DAY),
    Query(description="Only those submitted at or after this: a whole UTC day, or an RFC 3339 instant."),
]
SubmittedUntil = Annotated[
    datetime | None,
    BeforeValidator(validator(bound, time.max)),
    WithJsonSchema(INSTANT_OR_DAY),
    Query(description="Only those submitted at or before this: a whole UTC day, which is included, or an instant."),
]
IsDryRun = Annotated[
    str | None,
    AfterValidator(validator(one_of, ("true", "false"))),
    WithJsonSchema({"type": "string", "enum": ["true", "false"]}),
    Query(description="Only dry runs, or none of them."),
]


_Sent = Mapping[str, list[str]]
"""The values of the parameters; a multipart body may have each as a part, too."""


@router.post(
    "",
    **operation(
        "Submit CSV or XLSX for import",
        body=_BODY,
        answers={202: ImportAccepted},
        errors=(*WRITE_ERRORS, "not_implemented"),
    ),
)
async def post_import(
    request: Request,
    key: Writer,
    *,
    filename: Filename = None,
    dry_run: DryRunValues = None,
    mapping: MappingValues = None,
    mapping_name: MappingNameValues = None,
    archived: ArchivedValues = None,
) -> Response:
    """The file as the `file` part of a multipart body, or raw with `filename` naming it.

    Checked before the answer: the file parses, a table is found, `sku_code` and `name` map to columns, the file fits
    the plan. Up to 10 MiB and 50 000 rows. A dry run is answered with 202 too: its report is read by polling. Unknown
    parameters and parts are refused.
    """
    file = await upload(request, filename)
    write = await run_in_threadpool(Write.by_key, request, key)
    parts = {"dry_run": dry_run, "mapping": mapping, "mapping_name": mapping_name, "archived": archived}
    sent = {name: values or [] for name, values in parts.items()}
    submission = await run_in_threadpool(_submission, write, file, sent)
    return submission if isinstance(submission, Response) else await submit(request, write, submission, _accepted)


def _accepted(_: UUID, accepted: ImportAccepted | None) -> Response:
    return json_of(accepted, 202)


@router.post(
    "/{id}/repeat",
    **operation(
        "Import the file of an earlier import again",
        body=body_of(ImportRepeat),
        answers={202: ImportAccepted},
        errors=(*WRITE_ERRORS, "not_found", "not_implemented"),
        preview=True,
    ),
)
async def post_repeat(
    request: Request, key: Writer, import_id: RecordId, *, dry_run: DryRunValues = None, archived: ArchivedValues = None
) -> Response:
    """Reads the stored file once more, with another mapping or as another kind of run.

    So a dry run is looked at, its columns are corrected, and the same bytes are imported. `mapping` is added to the
    earlier one, piece by piece: the `answer` of a question in `source.asked` settles it. After an import that wrote,
    only what it held back is written, and SKUs that somebody has changed since are rejected (`version_conflict`).
    Without `mapping` the columns are recognised anew and everything is imported. `dry_run` is false unless it is sent,
    as a member of the body or as a parameter. Without `archived` it does with archived SKUs what the earlier import
    did. Refused with `invalid_format` where the file is no longer stored.
    """
    body = await json_body(request)
    sent = parse_body(ImportRepeat, body)
    dry = dry_run_asked(dry_run, body) or False
    write = await run_in_threadpool(Write.by_key, request, key)
    stored = await run_in_threadpool(stored_import, write.service, write.actor.company_id, import_id)
    keep_archived = None if archived is None else archived[0] == "keep"
    return await repeat(
        request, write, stored, _accepted, mapping=sent.mapping, dry_run=dry, keep_archived=keep_archived
    )


def _submission(write: Write, file: Upload, sent: _Sent) -> Submission | Response:
    """Return what the request submits, or the answer that an equal request has already had."""
    digest = _fingerprint(file, sent)
    dry_run = _with_part("dry_run", truth, sent, file) or False
    if earlier := write.answered(digest, dry_run=dry_run):
        return earlier
    mapping, name = _mapping(file, sent), _with_part("mapping_name", sent_once, sent, file)
    name = None if name is None else mapping_name(name)
    return Submission(
        file.data,
        file.filename,
        dry_run,
        kept_mapping(write, name) if mapping is None and name is not None else mapping,
        name,
        keeps_mapping=mapping is not None,
        fingerprint=digest,
        keep_archived=_with_part("archived", read_archived, sent, file) == "keep",
    )


def _fingerprint(file: Upload, sent: _Sent) -> bytes:
    """Return the fingerprint of what the caller sent, by either way: the file, its name, and the parameters."""
    content = hashlib.sha256(file.data).hexdigest()
    fields = {name: value for name, value in file.fields.items() if name != "dry_run"}
    mapping, name = (agreed(name, sent_once, sent[name]) for name in ("mapping", "mapping_name"))
    return fingerprint([content, file.filename, fields, mapping, name, *sent["archived"][:1]])


def _with_part(name: str, check: Callable[[Sequence[str]], T], sent: _Sent, file: Upload) -> T | None:
    """Return the caller's value, sent as a parameter, as a part of the form, or equal in both."""
    part = file.fields.get(name)
    return agreed(name, check, sent[name] if part is None else [*sent[name], part])


def _mapping(file: Upload, sent: _Sent) -> JsonObject | None:
    """Return the caller's mapping as JSON; the reader checks the meaning of its keys."""
    text = _with_part("mapping", sent_once, sent, file)
    if not text:
        return None
    try:
        mapping = orjson.loads(text)
    except orjson.JSONDecodeError:
        mapping = None
    if not isinstance(mapping, dict):
        sentence = Message('The mapping is no JSON object; send for example {{"columns": {{"sku_code": "A"}}}}.')
        raise Refused([Issue("invalid_mapping", sentence, "mapping")])
    return mapping


@router.get("", **operation("List imports", answers={200: ImportListResponse}, errors=READ_ERRORS, preview=True))
async def list_imports(
    request: Request,
    presented: Presented,
    *,
    status: ImportStatus = None,
    since: SubmittedSince = None,
    until: SubmittedUntil = None,
    dry_run: IsDryRun = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """The company's imports, newest first, each with its counts; dry runs among them."""
    filters = {"status": status, "since": since, "until": until, "dry_run": dry_run}
    listing = queries.page(limit, offset, {name: value for name, value in filters.items() if value is not None})
    return await answer_page(request, presented, listing)


@router.get(
    "/{id}",
    **operation(
        "Import status and error report",
        answers={200: ImportStatusResponse},
        errors=(*READ_ERRORS, "not_found", "not_implemented"),
        revalidated=True,
    ),
)
async def get_import(
    request: Request, presented: Presented, import_id: RecordId, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """Poll until `status` is completed or failed. `limit` and `offset` page the report of rejected rows."""
    lang = accepted_language(request)
    query = queries.poll_query(limit, offset, with_templates=lang != ORIGINAL)
    row = require(await read_record(request, presented, query, {"import_id": import_id}))
    report = queries.polled(row)
    templates = row.pop("templates", {})
    return revalidated(request, in_language(json_of(report), lang, templates))


@router.post(
    "/{id}/undo",
    **operation(
        "Undo an import",
        body=body_of(ReasonInput),
        answers={200: ImportUndoResult},
        errors=(*CHANGE_ERRORS, "not_found"),
        preview=True,
    ),
)
def post_undo(received: JsonWrite, import_id: RecordId, dry_run: DryRun) -> Response:
    """Puts each SKU that the import changed back to the version before it, and archives those that it created.

    A SKU that was changed or archived since stays, and is named in `kept`. All of it happens at once, or nothing.
    Refused with `invalid_format` for a dry run, and as long as the import is worked on; with `rate_limited` while an
    import of the company is being undone.
    """
    write, body = received.admitted()
    write = with_reason(write, body)
    undone = partial(undo, actor=write.actor, import_id=import_id, rulesets=write.service.rulesets, dry_run=dry_run)
    return write.answer(fingerprint(body), undone, json_of, dry_run=dry_run)


_REJECTED_ERRORS: Final = (*READ_ERRORS, "not_found", "not_implemented")
FileForm = Annotated[Form, Query(alias="format", description="The form of the file.")]


@router.get(
    "/{id}/rejected",
    **operation(
        "List the rejected rows of an import",
        answers={200: RejectedRowListResponse},
        errors=_REJECTED_ERRORS,
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
    stored = await run_in_threadpool(stored_import, service_of(request), key.company_id, import_id)
    return json_of(await rejected_rows(request, key.company_id, stored, lang=lang, offset=offset, limit=limit))


@router.get(
    "/{id}/rejected/file",
    **operation(
        "Download the rejected rows of an import", files=(*MEDIA_TYPES.values(),), errors=_REJECTED_ERRORS, preview=True
    ),
)
async def get_rejected_file(request: Request, key: Reader, import_id: RecordId, form: FileForm = "xlsx") -> Response:
    """The rejected rows in a file like the one that was sent, with line, column and reason behind their cells.

    Corrected, it is imported like any other. A CSV of rows of two sheets is refused: choose `xlsx`.
    """
    return await rejected_file(request, key.company_id, import_id, form, lang=accepted_language(request))


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
    wanted = dry_run_asked(dry_run, body)
    write = await run_in_threadpool(Write.by_key, request, key)
    edits = [Edit(cell.sheet, cell.line, cell.column, cell.value) for cell in sent.cells]
    return await submit_corrected(request, write, import_id, edits, _accepted, dry_run=wanted)


words_router = APIRouter(prefix=V1, tags=["Imports"])


@words_router.get(
    "/words",
    **operation("List the company's own words", answers={200: OwnWordListResponse}, errors=READ_ERRORS, preview=True),
)
async def list_words(request: Request, presented: Presented, limit: Limit = 50, offset: Offset = 0) -> Response:
    """A page of words, sorted by field and word: in a file, `text` in the field's column is read as `value`.

    A null value is an empty cell. Every import reads them; the values of a mapping count before them.
    """
    return await answer_page(request, presented, words.page(limit, offset))


@words_router.put(
    "/words",
    **operation(
        "Store and remove own words",
        body=body_of(OwnWordsInput),
        answers={200: OwnWordsWriteResult},
        errors=(*READ_ERRORS, "idempotency_key_reuse", "payload_too_large"),
        preview=True,
    ),
)
def put_words(received: JsonWrite, dry_run: DryRun) -> Response:
    """Stores `words`, each in place of an earlier one of its field and text, and removes those of `remove`.

    A value is checked like one of a mapping. Words that are not sent stay; rows that are stored already do not change.
    """
    write, body = received.admitted()

    def change(conn: Connection) -> OwnWordsWriteResult:
        sent = parse_body(OwnWordsInput, body)
        return {"dry_run": dry_run, "data": change_words(conn, write.actor, sent, dry_run=dry_run)}

    return write.answer(fingerprint(body), change, json_of, dry_run=dry_run)


@words_router.get(
    "/mappings",
    **operation("List kept mappings", answers={200: KeptMappingListResponse}, errors=READ_ERRORS, preview=True),
)
async def list_mappings(request: Request, presented: Presented, limit: Limit = 50, offset: Offset = 0) -> Response:
    """A page of the mappings that imports recall by their `mapping_name`, the last kept first."""
    return await answer_page(request, presented, words.page_of_mappings(limit, offset))


@words_router.delete(
    "/mappings/{id}",
    **operation(
        "Remove a kept mapping",
        answers={200: KeptMappingRemoval},
        errors=(*READ_ERRORS, "idempotency_key_reuse", "not_found"),
        preview=True,
    ),
)
def delete_mapping(request: Request, key: Writer, mapping_id: RecordId, dry_run: DryRun) -> Response:
    """No later import can use the mapping; earlier ones stay. The answer contains it, to be stored again."""
    write = Write.by_key(request, key)

    def remove(conn: Connection) -> KeptMappingRemoval:
        return {"dry_run": dry_run, "data": remove_mapping(conn, write.actor, mapping_id, dry_run=dry_run)}

    return write.answer(fingerprint(None), remove, json_of, dry_run=dry_run)
