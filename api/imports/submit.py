"""Submits a file for import: reads it in a reader process, stores and queues it, and requests its run.

Callers' requests (`api.imports.routes`) and the pages (`api.imports.pages`) come here, once they know what was sent.
What a
request must look like belongs to them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from uuid import UUID

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http import stored_files
from api.http.answers import json_of
from api.http.errors import REFUSALS
from api.http.parameters import MAX_MAPPING_NAME
from api.http.requests import fingerprint, unreadable
from api.http.service import Service, UnknownColumns, read_apart
from api.http.writing import Write
from api.operate.launching import Launch
from pipelines.readers import requests
from pipelines.reading.mapping import Words, merged
from pipelines.reading.upload import PackedUpload
from schemas import texts
from schemas.imports import types
from schemas.imports.types import ImportSource, SourceSheet
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import shown
from schemas.refusals import NotThere, Refused
from services.imports import submit as submit_imports
from warehouse.companies import queries as queries_companies
from warehouse.imports import queries, words
from warehouse.imports.queries import StoredUpload
from warehouse.operate import tracing
from warehouse.operate.objects import NoSuchObject
from warehouse.operate.sessions import Connection


@dataclass(frozen=True, slots=True)
class Submission:
    """A file to import. `mapping` applies to it; with `keeps_mapping` it is also stored under `mapping_name`.

    With `asks_columns` a dry run of a file whose columns are not known ends with them instead of being refused, so that
    a person can say what they are. `fingerprint` identifies everything that was sent (`api.http.requests.fingerprint`).
    `sender_id` is the client of the key, or the person. With `keep_archived` rows of archived SKUs are rejected.
    `taken_codes` are those that no row may have. `answers` is the import that wrote the file already, with the mapping
    of then: only what it held back is written.
    """

    data: bytes
    filename: str
    dry_run: bool
    mapping: Mapping[str, object] | None
    mapping_name: str | None
    keeps_mapping: bool
    fingerprint: bytes
    sender_id: UUID
    asks_columns: bool = False
    keep_archived: bool = False
    taken_codes: Sequence[str] = ()
    answers: "Earlier | None" = None


@dataclass(frozen=True, slots=True)
class Earlier:
    """How an import that wrote has read its file: its mapping, the own words that it met, and the day.

    `import_id` is the first import of the file, also where it is an answer that is answered.
    """

    import_id: UUID
    mapping: Mapping[str, object]
    words: Words
    day: date


async def submit(request: Request, write: Write, sent: Submission) -> Response:
    """Return the contract's answer to a submission: 202 with ImportAccepted. Raise the refusals of the contract."""
    own_words, earlier = await run_in_threadpool(_own_words, write), sent.answers
    order = partial(
        requests.reading_request,
        sent.data,
        sent.filename,
        mapping_name=sent.mapping_name,
        taken_codes=sent.taken_codes,
        today=write.actor.now.date() if earlier is None else earlier.day,
    )
    mapping = None if sent.mapping is None else dict(sent.mapping)
    answered: submit_imports.Answered | None = None
    try:
        with tracing.span("import.read"):
            read = await read_apart(request, write.actor.company_id, "company", order(mapping=mapping, words=own_words))
            if earlier is not None:
                again = order(mapping=dict(earlier.mapping), words=earlier.words)
                before = await read_apart(request, write.actor.company_id, "company", again)
                answered = submit_imports.Answered(earlier.import_id, before.table, earlier.day.year)
    except UnknownColumns as unknown:
        if not sent.asks_columns:
            raise
        return await run_in_threadpool(_ask_columns, write, sent, unknown)
    with tracing.span("import.accept"):
        response, launch = await run_in_threadpool(_accept, write, sent, read, answered)
    if launch is not None:
        request.app.state.launching.soon(launch)
    return response


def _own_words(write: Write) -> Words:
    with write.service.writes.company(write.actor.company_id) as conn:
        return words.for_reading(conn)


def _accept(
    write: Write, sent: Submission, read: PackedUpload, answered: submit_imports.Answered | None
) -> tuple[Response, Launch | None]:
    """Store the file, check it against the plan and queue it; return the run it needs, unless it was sent before."""
    kept = submit_imports.keep_file(write.service.objects, write.actor.company_id, sent.data, read.table, answered)
    launch: Launch | None = None

    def work(conn: Connection) -> types.ImportAccepted:
        if sent.keeps_mapping and sent.mapping is not None and sent.mapping_name is not None and not sent.dry_run:
            words.keep_mapping(conn, write.actor.company_id, sent.mapping_name, sent.mapping, write.actor.now)
        accepted = submit_imports.submit(
            conn,
            write.service.objects,
            kept,
            read,
            filename=sent.filename,
            dry_run=sent.dry_run,
            origin=write.actor.origin,
            now=write.actor.now,
            key_id=sent.sender_id,
            keep_archived=sent.keep_archived,
            mapping=sent.mapping,
            answers=answered,
            taken_codes=sent.taken_codes,
        )
        nonlocal launch
        slug = queries_companies.own(conn, write.actor.company_id)
        launch = Launch(UUID(accepted["id"]), write.actor.company_id, slug, sent.filename, read.rows)
        return accepted

    response, is_new = _recorded(write, sent, kept, work, dry_run=sent.dry_run)
    return response, launch if is_new else None


def _ask_columns(write: Write, sent: Submission, unknown: UnknownColumns) -> Response:
    """Store the file as a dry run that failed because nobody knows its columns; return what names it."""
    kept = submit_imports.keep_file(write.service.objects, write.actor.company_id, sent.data)

    def work(conn: Connection) -> dict[str, str]:
        import_id = submit_imports.ask_columns(
            conn,
            write.service.objects,
            kept,
            unknown.outline,
            unknown.issues,
            filename=sent.filename,
            origin=write.actor.origin,
            key_id=sent.sender_id,
            now=write.actor.now,
            mapping=sent.mapping,
        )
        return {"id": str(import_id)}

    return _recorded(write, sent, kept, work, dry_run=True)[0]


def _recorded(
    write: Write,
    sent: Submission,
    kept: submit_imports.KeptFile,
    work: Callable[[Connection], Mapping[str, object]],
    *,
    dry_run: bool,
) -> tuple[Response, bool]:
    """Return the answer of the write that names a kept file, and whether it does; remove a file that it does not name.

    Where the commit is in doubt the file stays: housekeeping removes it if no import names it.
    """
    try:
        response = write.answer(sent.fingerprint, work, partial(json_of, status=202), dry_run=dry_run)
    except REFUSALS:
        kept.remove(write.service.objects)
        raise
    is_new: bool = orjson.loads(response.body)["id"] == str(kept.import_id)
    if not is_new:  # the answer of an earlier request
        kept.remove(write.service.objects)
    return response, is_new


def stored_import(service: Service, company_id: UUID, import_id: UUID) -> StoredUpload:
    """Return an import of the company. Raise `NotThere` where there is none of that id."""
    with service.writes.company(company_id) as conn:
        found = queries.one(conn, import_id, StoredUpload, StoredUpload.__slots__)
    if found is None:
        raise NotThere
    return found


def stored_bytes(service: Service, found: StoredUpload) -> bytes:
    """Return the bytes of an import's file. Raise `Refused` where they are no longer stored."""
    try:
        return stored_files.read(service.objects, found.upload_key, found.sha256, may_be_gone=True)
    except NoSuchObject:
        gone = Message("The file of this import is no longer stored: it made room for another one. Send it again.")
        raise unreadable(gone) from None


def repeated(
    write: Write,
    found: StoredUpload,
    *,
    mapping: Mapping[str, object] | None,
    dry_run: bool,
    sender_id: UUID,
    keep_as: str | None = None,
    asks_columns: bool = False,
    keep_archived: bool | None = None,
) -> Submission | Response:
    """Return the submission of an earlier import's file with this mapping, or the answer that an equal request had.

    The mapping is added to the earlier one, which it need not repeat; None reads the file anew, without any. After an
    import that wrote, a mapping is an answer: only what was held back is written (decisions §13).
    `keep_as` is the name under which an import keeps the mapping; `asks_columns` as in `Submission`. Without
    `keep_archived` it is as in the earlier import. Raise `Refused` where the file is no longer stored.
    """
    keeps = found.keep_archived if keep_archived is None else keep_archived
    named = [*([] if keep_as is None else [keep_as]), *([keeps] if keeps else [])]
    digest = fingerprint([found.sha256, found.filename, mapping, dry_run, *named])
    if earlier := write.answered(digest, dry_run=dry_run):
        return earlier
    before = found.mapping if found.mapping is not None else mapping_of(found.source)
    wrote = not found.dry_run and found.status == "completed" and found.undone_at is None
    return Submission(
        stored_bytes(write.service, found),
        found.filename,
        dry_run,
        None if mapping is None else merged(before, mapping),
        keep_as,
        keeps_mapping=keep_as is not None,
        fingerprint=digest,
        sender_id=sender_id,
        asks_columns=asks_columns,
        keep_archived=keeps,
        taken_codes=found.taken_codes or (),
        answers=Earlier(found.answers or found.id, before, _words_met(found.source), found.created_at.date())
        if wrote and mapping is not None
        else None,
    )


def _words_met(source: ImportSource) -> Words:
    """Return the own words that a file's texts were replaced by."""
    parts = source["components"]
    return {**source.get("words", {}), **(parts.get("words", {}) if parts else {})}


def mapping_of(source: ImportSource, sheets: Sequence[str | None] | None = None) -> dict[str, object]:
    """Return the mapping with which a file like an import's, with these of its sheets or all, is read as that was.

    Columns are named by their letters. A few rows may show another decimal mark or layout than the whole file did.
    """
    mapping = _mapping_of_table(source) | sheets_mapping(source, sheets)
    parts = source["components"]
    if len({source["header_row"], *(each["header_row"] for each in source.get("sheets", ()))}) == 1:
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
        names = [each["sheet"] for each in source["sheets"]]
        return {"sheets": [name for name in names if among is None or name in among]}
    return {} if source["sheet"] is None else {"sheet": source["sheet"]}


def _mapping_of_table(read: ImportSource | SourceSheet) -> dict[str, object]:
    mapped = set(read.get("mapped", ()))
    columns: dict[str, object] = {each["field"]: None for each in read.get("switched_off", ())}
    for each in read["columns"]:
        if each["field"] in mapped:
            columns[each["field"]] = each["column"]
    given: Mapping[str, object] = {
        "columns": columns,
        "constants": read.get("constants", {}),
        "values": read.get("values", {}),
    }
    return {key: value for key, value in given.items() if value}


def mapping_name(given: str) -> str:
    """Return a name to keep a mapping under; white space around it does not count. Raise `Refused`."""
    name = texts.code(given)
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
            "No mapping is kept under {name}; send the mapping itself beside the name once.", name=shown(name)
        )
        raise Refused([Issue("invalid_mapping", sentence, "mapping_name")])
    return mapping
