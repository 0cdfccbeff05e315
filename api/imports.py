"""Imports: a file is accepted or refused as a whole here; its rows are written after the answer, by a run."""

import hashlib
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Annotated, Any

import orjson
from fastapi import Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of, json_text
from api.auth import Presented, Writer
from api.bodies import Upload, fingerprint, upload
from api.document import READ_ERRORS, V1, WRITE_ERRORS, operation
from api.errors import InvalidBody, NotFound
from api.languages import spoken
from api.operations import resource
from api.origin import origin_of
from api.parameters import (
    DRY_RUN,
    FILENAME,
    LIMIT,
    MAPPING,
    MAPPING_NAME,
    MAX_MAPPING_NAME,
    OFFSET,
    RECORD_ID,
    record_id,
)
from api.reading import read
from api.service import service_of
from api.writing import answer, answered
from pipelines.steps import imports, reading
from pipelines.steps.imports import mappings
from pipelines.steps.imports.status import is_stalled, polled, revive
from schemas import texts
from schemas.issues import Issue
from schemas.normalise import shown
from schemas.responses import ImportAccepted, ImportStatusResponse
from warehouse.queries.keys import Key
from warehouse.sessions import Connection

router = resource(prefix=f"{V1}/imports", tags=["Imports"])

_FILE: dict[str, Any] = {"type": "string", "format": "binary"}
_TEXT: dict[str, Any] = {"type": "string"}
_BODY = {
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "required": ["file"],
            "properties": {"file": _FILE, "mapping": _TEXT, "mapping_name": _TEXT},
        },
    },
    "application/octet-stream": {"schema": _FILE},
}  # fmt: skip


@router.post("", **operation(
    "Submit CSV or XLSX for import",
    parameters=(FILENAME, DRY_RUN, MAPPING, MAPPING_NAME), body=_BODY,
    answers={202: ImportAccepted}, errors=(*WRITE_ERRORS, "not_implemented")))  # fmt: skip
def post_import(request: Request, key: Writer, file: Annotated[Upload, Depends(upload)]) -> Response:
    """The file as the `file` part of a multipart body, or raw with `filename` naming it.

    Checked before the answer: the file parses, a table is found, `sku_code` and `name` map to columns, the file fits
    the plan. Up to 10 MiB and 50 000 rows. A dry run is answered with 202 too: its report is read by polling.
    """
    service, dry_run, origin = service_of(request), DRY_RUN.of(request), origin_of(request, key)
    digest = _fingerprint(request, file)
    if earlier := answered(request, key, digest, dry_run=dry_run):
        return earlier
    now = service.clock.now()
    sent, name = _mapping(request, file), _mapping_name(request, file)
    mapping = _kept(request, key, name) if sent is None and name is not None else sent
    parsed = _read(file, mapping, name, now.date())

    def work(conn: Connection) -> Callable[[], Response]:
        if sent is not None and name is not None and not dry_run:
            mappings.keep(conn, key.company_id, name, sent, now)
        accepted = imports.submit(
            conn, service.objects, key.company_id, parsed, data=file.data, filename=file.filename, dry_run=dry_run,
            origin=origin, key_id=key.client_id, now=now,
        )  # fmt: skip
        return partial(json_of, accepted, 202)

    return answer(request, key, digest, work, dry_run=dry_run)


def _fingerprint(request: Request, file: Upload) -> bytes:
    """By what the caller sent, whichever way: the file, its name, and what is said about it."""
    content = hashlib.sha256(file.data).hexdigest()
    return fingerprint([content, file.filename, file.fields, MAPPING.of(request), MAPPING_NAME.of(request)])


def _read(file: Upload, mapping: dict[str, Any] | None, name: str | None, today: date) -> reading.Upload:
    try:
        return reading.read_upload(file.data, file.filename, mapping=mapping, mapping_name=name, today=today)
    except reading.ReadingRefused as refused:
        raise InvalidBody(refused.issues) from None


def _mapping(request: Request, file: Upload) -> dict[str, Any] | None:
    """What the caller says about the file, as JSON; what its keys mean is the reader's to check."""
    text = file.fields.get("mapping") or MAPPING.of(request)
    if text is None:
        return None
    try:
        mapping = orjson.loads(text)
    except orjson.JSONDecodeError:
        mapping = None
    if not isinstance(mapping, dict):
        sentence = 'The mapping is no JSON object; send for example {"columns": {"sku_code": "A"}}.'
        raise InvalidBody([Issue("invalid_mapping", sentence, "mapping")])
    return mapping


def _mapping_name(request: Request, file: Upload) -> str | None:
    """What the caller calls the mapping; white space around it does not count."""
    given = file.fields.get("mapping_name", MAPPING_NAME.of(request))
    if given is None:
        return None
    name = texts.code(given)
    if not 1 <= len(name) <= MAX_MAPPING_NAME or texts.control_in(name):
        sentence = f"A mapping_name has 1 to {MAX_MAPPING_NAME} characters and no control character."
        raise InvalidBody([Issue("invalid_mapping", sentence, "mapping_name")])
    return name


def _kept(request: Request, key: Key, name: str) -> dict[str, Any]:
    """The mapping that the company keeps under a name."""
    with service_of(request).writes.company(key.company_id) as conn:
        mapping = mappings.recall(conn, key.company_id, name)
    if mapping is None:
        sentence = f"No mapping is kept under {shown(name)}; send the mapping itself beside the name once."
        raise InvalidBody([Issue("invalid_mapping", sentence, "mapping_name")])
    return mapping


@router.get("/{id}", **operation(
    "Import status and error report",
    parameters=(RECORD_ID, LIMIT, OFFSET),
    answers={200: ImportStatusResponse}, errors=(*READ_ERRORS, "not_found", "not_implemented")))  # fmt: skip
async def get_import(request: Request, presented: Presented) -> Response:
    """Poll until `status` is completed or failed. `limit` and `offset` page the report of rejected rows."""
    service, import_id = service_of(request), record_id(request)
    query = polled(LIMIT.of(request), OFFSET.of(request))
    answer, alive = await read(request, presented, query, {"import_id": import_id})
    if answer is None:
        raise NotFound
    if is_stalled(alive, service.clock.now()):
        await run_in_threadpool(revive, service.writes, import_id)
    return spoken(request, json_text(answer))
