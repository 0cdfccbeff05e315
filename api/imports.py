"""Import endpoints: accept or refuse a file as a whole; a run writes its rows after the answer."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

import orjson
from fastapi import Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of, json_text
from api.auth import Presented, Writer
from api.bodies import Upload, fingerprint, refuse_unknown, upload
from api.document import READ_ERRORS, V1, WRITE_ERRORS, operation
from api.errors import InvalidBody, NotFound
from api.languages import asked_for, spoken
from api.launching import Launch
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
    Parameter,
    record_id,
)
from api.read_apart import read_apart
from api.reading import read
from api.service import service_of
from api.writing import answer, answered
from pipelines import imports, sandbox
from pipelines.reading.packed import PackedUpload
from schemas import texts
from schemas.issues import Issue
from schemas.messages import ORIGINAL, Message
from schemas.normalise import shown
from schemas.responses import ImportAccepted, ImportStatusResponse
from warehouse.access.keys import Key
from warehouse.companies import slugs
from warehouse.imports import mappings
from warehouse.imports.polls import polled
from warehouse.sessions import Connection

router = resource(prefix=f"{V1}/imports", tags=["Imports"])

T = TypeVar("T")
_FILE: dict[str, Any] = {"type": "string", "format": "binary"}
_TEXT: dict[str, Any] = {"type": "string"}
_BODY = {
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "required": ["file"],
            "properties": {"file": _FILE, "dry_run": {"type": "boolean"}, "mapping": _TEXT, "mapping_name": _TEXT},
        },
    },
    "application/octet-stream": {"schema": _FILE},
}


_PARAMETERS: Final = (FILENAME, DRY_RUN, MAPPING, MAPPING_NAME)


@router.post(
    "",
    **operation(
        "Submit CSV or XLSX for import",
        parameters=_PARAMETERS,
        body=_BODY,
        answers={202: ImportAccepted},
        errors=(*WRITE_ERRORS, "not_implemented"),
    ),
)
async def post_import(request: Request, key: Writer, file: Annotated[Upload, Depends(upload)]) -> Response:
    """The file as the `file` part of a multipart body, or raw with `filename` naming it.

    Checked before the answer: the file parses, a table is found, `sku_code` and `name` map to columns, the file fits
    the plan. Up to 10 MiB and 50 000 rows. A dry run is answered with 202 too: its report is read by polling. Unknown
    parameters and parts are refused.
    """
    refuse_unknown(request.query_params, [parameter.name for parameter in _PARAMETERS], Message("parameter"))
    asked = await run_in_threadpool(_asked, request, key, file)
    if isinstance(asked, Response):
        return asked
    order = sandbox.reading(
        file.data, file.filename, mapping=asked.mapping, mapping_name=asked.name, today=asked.now.date()
    )
    read = await read_apart(request, key.company_id, "company", order)
    response, launch = await run_in_threadpool(_accepted, request, key, file, asked, read)
    if launch is not None:
        request.app.state.launching.soon(launch)
    return response


@dataclass(frozen=True, slots=True)
class _Asked:
    """The meaning of a request beside its file: `sent` is the mapping in it, `mapping` the one that applies.

    `digest` is the digest of all of it, `now` is the instant of the submission.
    """

    digest: bytes
    dry_run: bool
    now: datetime
    sent: dict[str, Any] | None
    mapping: dict[str, Any] | None
    name: str | None


def _asked(request: Request, key: Key, file: Upload) -> _Asked | Response:
    """Return the request's meaning, or the answer that an equal request has already had."""
    digest, dry_run = _fingerprint(request, file), _said(request, file, DRY_RUN)
    if earlier := answered(request, key, digest, dry_run=dry_run):
        return earlier
    sent, name = _mapping(request, file), _mapping_name(request, file)
    mapping = _kept(request, key, name) if sent is None and name is not None else sent
    return _Asked(digest, dry_run, service_of(request).clock.now(), sent, mapping, name)


def _accepted(
    request: Request, key: Key, file: Upload, asked: _Asked, read: PackedUpload
) -> tuple[Response, Launch | None]:
    """Check the file against the plan, store and queue it; return the run it needs, unless it was sent before."""
    service, dry_run, origin = service_of(request), asked.dry_run, origin_of(request, key)
    launch: Launch | None = None

    def work(conn: Connection) -> Callable[[], Response]:
        if asked.sent is not None and asked.name is not None and not dry_run:
            mappings.keep(conn, key.company_id, asked.name, asked.sent, asked.now)
        accepted = imports.submit(
            conn,
            service.objects,
            key.company_id,
            read,
            data=file.data,
            filename=file.filename,
            dry_run=dry_run,
            origin=origin,
            key_id=key.client_id,
            now=asked.now,
        )
        nonlocal launch
        slug = slugs.own(conn, key.company_id)
        launch = Launch(UUID(accepted["id"]), key.company_id, slug, file.filename, read.rows)
        return partial(json_of, accepted, 202)

    return answer(request, key, asked.digest, work, dry_run=dry_run), launch


def _fingerprint(request: Request, file: Upload) -> bytes:
    """Return the fingerprint of what the caller sent, by either way: the file, its name, and the parameters."""
    content = hashlib.sha256(file.data).hexdigest()
    fields = {name: said for name, said in file.fields.items() if name != DRY_RUN.name}
    return fingerprint([content, file.filename, fields, MAPPING.of(request), MAPPING_NAME.of(request)])


def _said(request: Request, file: Upload, parameter: Parameter[T]) -> T:
    """Return the caller's value, sent as a parameter, as a part of the form, or equal in both."""
    part = file.fields.get(parameter.name)
    return parameter.of(request, () if part is None else (part,))


def _mapping(request: Request, file: Upload) -> dict[str, Any] | None:
    """Return the caller's mapping as JSON; the reader checks the meaning of its keys."""
    text = _said(request, file, MAPPING)
    if not text:
        return None
    try:
        mapping = orjson.loads(text)
    except orjson.JSONDecodeError:
        mapping = None
    if not isinstance(mapping, dict):
        sentence = Message('The mapping is no JSON object; send for example {{"columns": {{"sku_code": "A"}}}}.')
        raise InvalidBody([Issue("invalid_mapping", sentence, "mapping")])
    return mapping


def _mapping_name(request: Request, file: Upload) -> str | None:
    """Return the caller's name for the mapping; white space around it does not count."""
    given = _said(request, file, MAPPING_NAME)
    if given is None:
        return None
    name = texts.code(given)
    if not 1 <= len(name) <= MAX_MAPPING_NAME or texts.control_in(name):
        sentence = Message("A mapping_name has 1 to {most} characters and no control character.", most=MAX_MAPPING_NAME)
        raise InvalidBody([Issue("invalid_mapping", sentence, "mapping_name")])
    return name


def _kept(request: Request, key: Key, name: str) -> dict[str, Any]:
    """Return the mapping that the company stored under a name."""
    with service_of(request).writes.company(key.company_id) as conn:
        mapping = mappings.recall(conn, key.company_id, name)
    if mapping is None:
        sentence = Message(
            "No mapping is kept under {name}; send the mapping itself beside the name once.", name=shown(name)
        )
        raise InvalidBody([Issue("invalid_mapping", sentence, "mapping_name")])
    return mapping


@router.get(
    "/{id}",
    **operation(
        "Import status and error report",
        parameters=(RECORD_ID, LIMIT, OFFSET),
        answers={200: ImportStatusResponse},
        errors=(*READ_ERRORS, "not_found", "not_implemented"),
    ),
)
async def get_import(request: Request, presented: Presented) -> Response:
    """Poll until `status` is completed or failed. `limit` and `offset` page the report of rejected rows."""
    query = polled(LIMIT.of(request), OFFSET.of(request), with_templates=asked_for(request) != ORIGINAL)
    answer, *templates = await read(request, presented, query, {"import_id": record_id(request)})
    if answer is None:
        raise NotFound
    return spoken(request, json_text(answer), *map(orjson.loads, templates))
