"""Submits a file for import: reads it in a reader process, stores and queues it, and requests its run.

Callers' requests (`api.imports.routes`) and the pages come here, once they know what was sent: a new file, the file of
an earlier import, or its rejected rows with corrected cells. What a request must look like belongs to them.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import Final, Literal, TypeAlias, cast
from urllib.parse import quote as percent_encoded
from uuid import UUID

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http import stored_files
from api.http.errors import REFUSALS
from api.http.requests import fingerprint, unreadable
from api.http.service import Service, UnknownColumns, read_apart, service_of
from api.http.writing import Write
from api.operate.launching import Launch, launch_of_import
from pipelines.imports.rejections import Edit
from pipelines.imports.submissions import Answered, Earlier, Submission, ask_columns, keep_file
from pipelines.imports.submissions import submit as queue
from pipelines.readers import requests
from pipelines.readers.requests import RejectedRows, corrected_file_request, rejected_rows_request
from pipelines.reading.mapping import Words, merged
from pipelines.reading.upload import PackedUpload
from schemas import texts
from schemas.imports.inputs import MAX_MAPPING_NAME
from schemas.imports.types import (
    ImportAccepted,
    ImportRowError,
    ImportSource,
    RejectedRow,
    RejectedRowListResponse,
    SourceSheet,
    StoredRowError,
)
from schemas.issues import Issue
from schemas.messages import Message, from_json, message_of, translate
from schemas.normalise import quote
from schemas.pages import Pagination
from schemas.refusals import Refused, require
from warehouse.companies import queries as queries_companies
from warehouse.imports import queries, words
from warehouse.imports.queries import StoredUpload
from warehouse.operate import tracing
from warehouse.operate.objects import NoSuchObject
from warehouse.operate.sessions import Connection

Render: TypeAlias = Callable[[UUID, ImportAccepted | None], Response]
"""Makes a door's answer of the id of a new import, and of what was accepted; None of one that asks for its columns."""


async def submit(request: Request, write: Write, sent: Submission, render: Render) -> Response:
    """Return what `render` makes of a submission, or the answer that an equal one had. Raise the contract's refusals.

    `render` answers with success: a repeat gets the answer again.
    """
    company_id, earlier = write.actor.company_id, sent.answers
    own_words = await run_in_threadpool(_own_words, write)
    order = partial(
        requests.reading_request,
        sent.data,
        sent.filename,
        mapping_name=sent.mapping_name,
        taken_codes=sent.taken_codes,
        today=write.actor.today if earlier is None else earlier.day,
    )
    mapping = None if sent.mapping is None else dict(sent.mapping)
    answered: Answered | None = None
    read: PackedUpload | UnknownColumns
    try:
        with tracing.span("import.read"):
            read = await read_apart(request, company_id, "company", order(mapping=mapping, words=own_words))
            if earlier is not None:
                again = order(mapping=dict(earlier.mapping), words=earlier.words)
                before = await read_apart(request, company_id, "company", again)
                answered = Answered(earlier.import_id, before.table, earlier.day.year)
    except UnknownColumns as unknown:
        if not sent.asks_columns:
            raise
        read = unknown
    with tracing.span("import.accept"):
        response, launch = await run_in_threadpool(_record, write, sent, read, answered, render)
    if launch is not None:
        request.app.state.launching.soon(launch)
    return response


def _own_words(write: Write) -> Words:
    with write.service.writes.company(write.actor.company_id) as conn:
        return words.for_reading(conn)


def _record(
    write: Write, sent: Submission, read: PackedUpload | UnknownColumns, answered: Answered | None, render: Render
) -> tuple[Response, Launch | None]:
    """Store the file, check it against the plan and queue it; return the run it needs, unless it was sent before.

    A file whose columns nobody knows is stored as a dry run that failed. A file that no import names is removed; where
    the commit is in doubt it stays, and housekeeping removes it if no import names it.
    """
    actor, objects = write.actor, write.service.objects
    kept = keep_file(objects, actor.company_id, sent.data, None if isinstance(read, Refused) else read.table, answered)
    launch: Launch | None = None
    is_new = False

    def record(conn: Connection) -> ImportAccepted | None:
        nonlocal launch, is_new
        is_new = True
        if isinstance(read, UnknownColumns):
            ask_columns(conn, actor, objects, kept, sent, outline=read.outline, issues=read.issues)
            return None
        accepted = queue(conn, actor, objects, kept, sent, upload=read, answers=answered)
        slug = queries_companies.own(conn, actor.company_id)
        launch = launch_of_import(
            kept.import_id, actor.company_id, slug, sent.filename, read.rows, dry_run=sent.dry_run
        )
        return accepted

    try:
        response = write.answer(sent.fingerprint, record, partial(render, kept.import_id), dry_run=sent.dry_run)
    except REFUSALS:
        kept.remove(objects)
        raise
    if not is_new:  # the answer of an earlier request
        kept.remove(objects)
    return response, launch


def stored_import(service: Service, company_id: UUID, import_id: UUID) -> StoredUpload:
    """Return an import of the company. Raise `NotThere` where there is none of that id."""
    with service.writes.company(company_id) as conn:
        return require(queries.one(conn, import_id, StoredUpload, StoredUpload.__slots__))


def stored_bytes(service: Service, stored: StoredUpload) -> bytes:
    """Return the bytes of an import's file. Raise `Refused` where they are no longer stored."""
    try:
        return stored_files.read(service.objects, stored.upload_key, stored.sha256, may_be_gone=True)
    except NoSuchObject:
        gone = Message("The file of this import is no longer stored: it made room for another one. Send it again.")
        raise unreadable(gone) from None


async def repeat(
    request: Request,
    write: Write,
    stored: StoredUpload,
    render: Render,
    *,
    mapping: Mapping[str, object] | None,
    dry_run: bool,
    keep_as: str | None = None,
    asks_columns: bool = False,
    keep_archived: bool | None = None,
) -> Response:
    """Submit the file of an earlier import with this mapping.

    The mapping is added to the earlier one, which it need not repeat; None reads the file anew, without any. After an
    import that wrote, a mapping is an answer: only what was held back is written (decisions §13).
    `keep_as` is the name under which an import keeps the mapping; `asks_columns` as in `Submission`. Without
    `keep_archived` it is as in the earlier import. Raise `Refused` where the file is no longer stored.
    """
    keeps = stored.keep_archived if keep_archived is None else keep_archived
    options = [*([] if keep_as is None else [keep_as]), *([keeps] if keeps else [])]
    digest = fingerprint([stored.sha256, stored.filename, mapping, dry_run, *options])
    if earlier := await run_in_threadpool(write.answered, digest, dry_run=dry_run):
        return earlier
    before = stored.mapping if stored.mapping is not None else mapping_of(stored.source)
    answers = None
    if not stored.dry_run and stored.status == "completed" and stored.undone_at is None and mapping is not None:
        parts = stored.source["components"]
        met = {**stored.source.get("words", {}), **(parts.get("words", {}) if parts else {})}
        answers = Earlier(stored.answers or stored.id, before, met, stored.created_at.date())
    sent = Submission(
        await run_in_threadpool(stored_bytes, write.service, stored),
        stored.filename,
        dry_run,
        None if mapping is None else merged(before, mapping),
        keep_as,
        keeps_mapping=keep_as is not None,
        fingerprint=digest,
        asks_columns=asks_columns,
        keep_archived=keeps,
        taken_codes=stored.taken_codes or (),
        answers=answers,
        shown=stored.id if stored.dry_run and not dry_run and _restates_parts(before) else None,
    )
    return await submit(request, write, sent, render)


def _restates_parts(mapping: Mapping[str, object]) -> bool:
    """Return whether a file has the parts of SKUs that are held, as the service writes them for a change of many."""
    columns = mapping.get("columns")
    return isinstance(columns, Mapping) and columns.get("name", "") is None and bool(mapping.get("components"))


def mapping_of(source: ImportSource, sheets: Sequence[str | None] | None = None) -> dict[str, object]:
    """Return the mapping with which a file like an import's, with these of its sheets or all, is read as that was.

    Columns are named by their letters. A few rows may show another decimal mark or layout than the whole file did.
    """
    mapping = _mapping_of_table(source) | sheets_mapping(source, sheets)
    parts = source["components"]
    if len({source["header_row"], *(sheet["header_row"] for sheet in source.get("sheets", ()))}) == 1:
        mapping["header_row"] = source["header_row"]
    marks = set(source["decimal_marks"].values())
    if parts is not None and parts["sheet"] != source["sheet"]:
        if sheets is None or parts["sheet"] in sheets:
            place = {"sheet": parts["sheet"], "header_row": parts["header_row"]}
            mapping["components"] = {**_mapping_of_table(parts), **place}
        marks |= set(parts["decimal_marks"].values())
    elif source["layout"] == "long":
        mapping["layout"] = "long"
    if len(marks) == 1 and source["format"] == "csv":
        mapping["decimal"] = marks.pop()
    return mapping


def sheets_mapping(source: ImportSource, among: Sequence[str | None] | None = None) -> dict[str, object]:
    """Return the piece of mapping that names the sheets of an import's table, all of them or those `among` these."""
    if "sheets" in source:
        names = [sheet["sheet"] for sheet in source["sheets"]]
        return {"sheets": [name for name in names if among is None or name in among]}
    return {} if source["sheet"] is None else {"sheet": source["sheet"]}


def _mapping_of_table(read: ImportSource | SourceSheet) -> dict[str, object]:
    mapped = set(read.get("mapped", ()))
    columns: dict[str, object] = {field["field"]: None for field in read.get("switched_off", ())}
    for column in read["columns"]:
        if column["field"] in mapped:
            columns[column["field"]] = column["column"]
    mapping: Mapping[str, object] = {
        "columns": columns,
        "constants": read.get("constants", {}),
        "values": read.get("values", {}),
    }
    return {key: value for key, value in mapping.items() if value}


def mapping_name(text: str) -> str:
    """Return a name to keep a mapping under; white space around it does not count. Raise `Refused`."""
    name = texts.code(text)
    if not 1 <= len(name) <= MAX_MAPPING_NAME or texts.control_in(name):
        sentence = Message("A mapping_name has 1 to {most} characters and no control character.", most=MAX_MAPPING_NAME)
        raise Refused([Issue("invalid_mapping", sentence, "mapping_name")])
    return name


def kept_mapping(write: Write, name: str) -> dict[str, object]:
    """Return the mapping that the company stored under a name."""
    with write.service.writes.company(write.actor.company_id) as conn:
        mapping = words.recall(conn, write.actor.company_id, name)
    if mapping is None:
        sentence = Message(
            "No mapping is kept under {name}; send the mapping itself beside the name once.", name=quote(name)
        )
        raise Refused([Issue("invalid_mapping", sentence, "mapping_name")])
    return mapping


Form = Literal["csv", "xlsx"]

_ANSWERS: Final = ("units", "lists", "quantity", "encoding", "create")
"""Parts of a mapping that fit the rejected rows as well as the whole file."""
_OF_WHOLE: Final = ("lines",)

Say = Callable[[str, str], str]
"""Puts a message into a language: for programs, or in the words of the pages."""


async def rejected_rows(
    request: Request,
    company_id: UUID,
    stored: StoredUpload,
    *,
    lang: str,
    offset: int,
    limit: int,
    say: Say = translate,
) -> RejectedRowListResponse:
    """Return a page of an import's rejected rows with their faults, whose messages `say` puts into the language.

    Raise `Refused` without a file.
    """
    data, report = await run_in_threadpool(_load, service_of(request), company_id, stored, lang, say)
    read = RejectedRows([], [], 0)
    if report:
        order = rejected_rows_request(data, stored.source, report, lang=lang, offset=offset, limit=limit)
        read = await read_apart(request, company_id, "company", order)
    faults: defaultdict[tuple[str | None, int], list[ImportRowError]] = defaultdict(list)
    for fault in report:
        shown_fault = cast(ImportRowError, {name: value for name, value in fault.items() if name != "template"})
        faults[fault["sheet"], fault["line"]].append(shown_fault)
    rows: list[RejectedRow] = [{**row, "errors": faults[row["sheet"], row["line"]]} for row in read.rows]
    pagination: Pagination = {"limit": limit, "offset": offset, "total": read.total}
    return {"headers": read.headers, "data": rows, "pagination": pagination}


async def rejected_file(
    request: Request, company_id: UUID, import_id: UUID, form: Form, *, lang: str, say: Say = translate
) -> Response:
    """Return the rejected rows with their reasons as a file. Raise as `rejected_rows`, and where it has no rows."""
    stored = await run_in_threadpool(stored_import, service_of(request), company_id, import_id)
    data, report = await run_in_threadpool(_load, service_of(request), company_id, stored, lang, say)
    order = corrected_file_request(data, stored.source, report, lang=lang, edits=(), form=form, with_reasons=True)
    corrected = (await read_apart(request, company_id, "company", order)).data
    return file_answer(corrected, corrected_name(stored.filename, form), form)


async def submit_corrected(
    request: Request, write: Write, import_id: UUID, edits: Sequence[Edit], render: Render, *, dry_run: bool | None
) -> Response:
    """Submit an import with these cells as a file of its own, read like the first one (decisions §13, Corrections).

    Of a dry run it is the whole file, and a dry run again where `dry_run` is None; of an import the rejected rows
    alone. Rows that are still wrong are rejected again, in the report of the new import. Raise as `rejected_rows`,
    `submit`, and where an edit is of no rejected row.
    """
    company_id = write.actor.company_id
    stored = await run_in_threadpool(stored_import, write.service, company_id, import_id)
    dry_run = stored.dry_run if dry_run is None else dry_run
    digest = fingerprint([str(import_id), [[e.sheet, e.line, e.column, e.text] for e in edits], dry_run])
    if earlier := await run_in_threadpool(write.answered, digest, dry_run=dry_run):
        return earlier
    data, report = await run_in_threadpool(_load, write.service, company_id, stored, "en")
    form = stored.source["format"]
    whole = stored.dry_run and any(column["field"] == "sku_code" for column in stored.source["columns"])
    order = corrected_file_request(
        data,
        stored.source,
        report,
        lang="en",
        edits=edits,
        form=form,
        with_reasons=False,
        whole=whole,
        taken_codes=stored.taken_codes or (),
    )
    corrected = await read_apart(request, company_id, "company", order)
    sent = Submission(
        corrected.data,
        corrected_name(stored.filename, form),
        dry_run,
        _mapping_of_corrected(stored, corrected.sheets, whole=whole),
        fingerprint=digest,
        keep_archived=stored.keep_archived,
        taken_codes=corrected.taken_codes,
    )
    return await submit(request, write, sent, render)


def corrected_name(filename: str, form: Form) -> str:
    """Return the name of a file of rejected rows: `list.corrected.xlsx` for `list.xlsx`."""
    stem = PurePath(filename).stem.removesuffix(".corrected") or "import"
    return f"{stem}.corrected.{form}"


def _mapping_of_corrected(stored: StoredUpload, sheets: Sequence[str | None], *, whole: bool) -> dict[str, object]:
    """Return the mapping of a corrected file: as its columns were read, with the answers that the import was given."""
    answers, read = stored.mapping or {}, mapping_of(stored.source, sheets)
    kept = {key: answers[key] for key in (*_ANSWERS, *(_OF_WHOLE if whole else ())) if key in answers}
    parts, of_parts = answers.get("components"), read.get("components")
    if isinstance(parts, Mapping) and isinstance(of_parts, Mapping):
        kept["components"] = {key: parts[key] for key in (*_ANSWERS, *(_OF_WHOLE if whole else ())) if key in parts}
    return merged(kept, read)


def _load(
    service: Service, company_id: UUID, stored: StoredUpload, lang: str, say: Say = translate
) -> tuple[bytes, list[StoredRowError]]:
    data = stored_bytes(service, stored)
    with service.writes.company(company_id) as conn:
        report = queries.faults(conn, stored.id)
    for fault in report:
        template = fault["template"]
        fault["message"] = say(from_json(template) if template else message_of(fault["message"]), lang)
    return data, report


MEDIA_TYPES: Final[dict[Form, str]] = {
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def file_answer(data: bytes, filename: str, form: Form) -> Response:
    """Return a file to download."""
    ascii_name = filename.encode("ascii", "replace").decode().replace("?", "_").replace('"', "_")
    headers = {
        "Content-Disposition": f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{percent_encoded(filename)}",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(data, headers=headers, media_type=MEDIA_TYPES[form])
