"""Reads the rejected rows of an import out of its file, and submits them again with corrected cells.

Callers' requests (`api.corrections`) and the pages (`api.pages.corrections`) come here. A reader process reads the file
(`pipelines.corrections`).
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Final, Literal
from uuid import UUID

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.bodies import fingerprint
from api.importing import Submission, mapping_of, stored_bytes, stored_import, submit
from api.read_apart import read_apart
from api.service import Service, service_of
from api.writing import Write
from pipelines.corrections import Edit
from pipelines.reading.mapping import merged
from pipelines.sandbox.requests import RejectedRows, corrected_file_request, rejected_rows_request
from schemas.messages import from_json, message_of, translate
from schemas.report import StoredRowError
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
    `api.importing.submit`, and where an edit is of no rejected row.
    """
    found = await run_in_threadpool(stored_import, write.service, write.company_id, import_id)
    dry_run = found.dry_run if dry_run is None else dry_run
    digest = fingerprint([str(import_id), [[e.sheet, e.line, e.column, e.text] for e in edits], dry_run])
    if earlier := await run_in_threadpool(write.answered, digest, dry_run=dry_run):
        return earlier
    found, data, report = await run_in_threadpool(_load, write.service, write.company_id, import_id, "en")
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
    corrected = await read_apart(request, write.company_id, "company", order)
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
