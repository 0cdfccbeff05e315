"""Import endpoints: accept or refuse a file as a whole; a run writes its rows after the answer."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

from api.http.answers import accepted_language, in_language, json_of, json_text, revalidated
from api.http.auth import Presented, Writer, read
from api.http.errors import RateLimited
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
    one_of,
    said_in,
    sent_once,
    truth,
)
from api.http.parameters import archived as read_archived
from api.http.requests import Upload, fingerprint, json_body, upload
from api.http.writing import JsonWrite, Write, with_reason
from api.imports.submit import Submission, kept_mapping, mapping_name, repeated, stored_import, submit
from api.openapi.document import READ_ERRORS, V1, WRITE_ERRORS, body_of, operation
from schemas.imports.answers import ImportAccepted, ImportListResponse, ImportStatusResponse
from schemas.imports.inputs import ImportRepeat
from schemas.issues import Issue
from schemas.json_values import Json, JsonObject
from schemas.messages import ORIGINAL, Message
from schemas.refusals import NotThere, Refused
from schemas.skus.answers import ImportUndoResult
from schemas.skus.inputs import Archived, ReasonInput, parse_body, validator
from services.imports.undo import NotEnded, UnderWay, Undone, undo
from warehouse.accounts.keys import Key
from warehouse.imports import queries
from warehouse.imports.queries import poll_query
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
        },
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


@dataclass(frozen=True, slots=True)
class _Sent:
    """The values of the parameters; a multipart body may have each as a part, too."""

    dry_run: list[str]
    mapping: list[str]
    mapping_name: list[str]
    archived: list[str]


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
    sent = _Sent(dry_run or [], mapping or [], mapping_name or [], archived or [])
    asked = await run_in_threadpool(_submission, write, key, file, sent)
    return asked if isinstance(asked, Response) else await submit(request, write, asked)


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
    request: Request,
    key: Writer,
    import_id: RecordId,
    *,
    dry_run: DryRunValues = None,
    archived: ArchivedValues = None,
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
    dry = agreed("dry_run", truth, [*(dry_run or ()), *said_in(body, "dry_run")]) or False
    write = await run_in_threadpool(Write.by_key, request, key)
    found = await run_in_threadpool(stored_import, write.service, write.actor.company_id, import_id)
    submission = await run_in_threadpool(
        repeated,
        write,
        found,
        mapping=sent.mapping,
        dry_run=dry,
        sender_id=key.client_id,
        keep_archived=None if archived is None else archived[0] == "keep",
    )
    return submission if isinstance(submission, Response) else await submit(request, write, submission)


def _submission(write: Write, key: Key, file: Upload, sent: _Sent) -> Submission | Response:
    """Return what the request submits, or the answer that an equal request has already had."""
    digest = _fingerprint(file, sent)
    dry_run = _with_part("dry_run", truth, sent.dry_run, file) or False
    if earlier := write.answered(digest, dry_run=dry_run):
        return earlier
    given, name = _mapping(file, sent), _mapping_name(file, sent)
    mapping = kept_mapping(write, name) if given is None and name is not None else given
    return Submission(
        file.data,
        file.filename,
        dry_run,
        mapping,
        name,
        keeps_mapping=given is not None,
        fingerprint=digest,
        sender_id=key.client_id,
        keep_archived=_with_part("archived", read_archived, sent.archived, file) == "keep",
    )


def _fingerprint(file: Upload, sent: _Sent) -> bytes:
    """Return the fingerprint of what the caller sent, by either way: the file, its name, and the parameters."""
    content = hashlib.sha256(file.data).hexdigest()
    fields = {name: value for name, value in file.fields.items() if name != "dry_run"}
    mapping, name = agreed("mapping", sent_once, sent.mapping), agreed("mapping_name", sent_once, sent.mapping_name)
    return fingerprint([content, file.filename, fields, mapping, name, *sent.archived[:1]])


def _with_part(name: str, check: Callable[[Sequence[str]], T], values: list[str], file: Upload) -> T | None:
    """Return the caller's value, sent as a parameter, as a part of the form, or equal in both."""
    part = file.fields.get(name)
    return agreed(name, check, values if part is None else [*values, part])


def _mapping(file: Upload, sent: _Sent) -> JsonObject | None:
    """Return the caller's mapping as JSON; the reader checks the meaning of its keys."""
    text = _with_part("mapping", sent_once, sent.mapping, file)
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


def _mapping_name(file: Upload, sent: _Sent) -> str | None:
    """Return the caller's name for the mapping; white space around it does not count."""
    given = _with_part("mapping_name", sent_once, sent.mapping_name, file)
    if given is None:
        return None
    return mapping_name(given)


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
    asked = {"status": status, "since": since, "until": until, "dry_run": dry_run}
    filters = {name: value for name, value in asked.items() if value is not None}
    (page,) = await read(request, presented, queries.page(limit, offset, tuple(filters)), filters)
    return json_text(page)


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
    query = poll_query(limit, offset, with_templates=lang != ORIGINAL)
    answer, *templates = await read(request, presented, query, {"import_id": import_id})
    if answer is None:
        raise NotThere
    return revalidated(request, in_language(json_text(answer), lang, *map(orjson.loads, templates)))


_SHOWN: Final = 100
"""SKUs that an answer names of those that stay as they are."""
_AGAIN_SECONDS: Final = 5
"""After which a company whose import is being undone may ask again; 50 000 SKUs take two to three seconds."""
_ERRORS: Final = (*(code for code in WRITE_ERRORS if code != "plan_limit_reached"), "not_found")


@router.post(
    "/{id}/undo",
    **operation(
        "Undo an import", body=body_of(ReasonInput), answers={200: ImportUndoResult}, errors=_ERRORS, preview=True
    ),
)
def post_undo(received: JsonWrite, import_id: RecordId, dry_run: DryRun) -> Response:
    """Puts each SKU that the import changed back to the version before it, and archives those that it created.

    A SKU that was changed or archived since stays, and is named in `kept`. All of it happens at once, or nothing.
    Refused with `invalid_format` for a dry run, and as long as the import is worked on; with `rate_limited` while an
    import of the company is being undone.
    """
    write, body = received.admitted()
    return answer_undo(write, body, import_id, dry_run=dry_run)


def answer_undo(write: Write, body: Json, import_id: UUID, *, dry_run: bool) -> Response:
    """Undo an import, for the reason of the body; return ImportUndoResult. Raise `NotThere` and `Refused`."""
    work = partial(_undone, with_reason(write, body), import_id, dry_run=dry_run)
    return write.answer(fingerprint(body), work, partial(_shown, dry_run=dry_run), dry_run=dry_run)


def _undone(write: Write, import_id: UUID, conn: Connection, *, dry_run: bool) -> Undone:
    try:
        return undo(
            conn,
            write.actor,
            import_id,
            rules=write.service.rulesets.active(conn),
            dry_run=dry_run,
        )
    except UnderWay:
        raise RateLimited(_AGAIN_SECONDS) from None
    except NotEnded:
        sentence = Message("Only an import that has written and has ended can be undone; this one has not.")
        raise Refused([Issue("invalid_format", sentence, "id")]) from None


def _shown(done: Undone, *, dry_run: bool) -> Response:
    counts = {name: getattr(done, name) for name in ("restored", "archived", "unchanged")} | {"kept": len(done.kept)}
    return json_of({"dry_run": dry_run, "counts": counts, "kept": [sku._asdict() for sku in done.kept[:_SHOWN]]})
