"""Import pages for the company's people: the file, the progress, how the columns were read, and the error report.

The report is shown as a whole or for one reason. The command `pcds import --errors` writes files to correct and send
back.
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.audit.words import path_in_words
from api.http.answers import translated
from api.http.errors import SHOWN_IN_FORM, HttpRefusal, TooLarge, http_refusal
from api.http.requests import Upload, fingerprint, form_with_file
from api.http.service import service_of
from api.http.writing import with_reason
from api.imports.columns_pages import (
    EMPTY,
    Table,
    apart,
    asked_for_columns,
    chosen_answers,
    chosen_decimal,
    chosen_mapping,
    chosen_words,
    field_choices,
    open_questions,
    shown_columns,
    shown_readings,
)
from api.imports.submissions import kept_mapping, mapping_name, repeat, stored_import, submit
from api.pages import forms
from api.pages.forms import Form, Sent, SentForm, offset_of, path_id, write_of
from api.pages.refusals import PageRefused
from api.pages.render import language_of, link, name_of_field, page, redirect, said, text
from api.pages.sessions import Editor, Session, Viewer
from api.staff.sessions import address_of_import_runs, member_of
from pipelines.imports.submissions import Submission
from pipelines.reading.mapping import merged
from schemas.imports.inputs import MAX_IMPORT_BYTES, OwnWordsInput
from schemas.imports.types import ImportSource, SourceColumn, has_counts, has_not_ended
from schemas.issues import ISSUE_CODES, Issue
from schemas.messages import Message, stored_message
from schemas.refusals import NotThere, Refused, require
from services.imports.undo import undo
from services.imports.words import change_words
from services.imports.workbook import template
from services.run import run
from warehouse.imports import queries, words
from warehouse.imports.queries import Reason

router = APIRouter(prefix="/imports")

PAGE_SIZE: Final = 50
_MOST_MAPPINGS: Final = 100
"""Kept mappings that the form offers, the last kept ones."""
_SentColumns = Annotated[Form, Depends(Sent(most_fields=5_000))]
"""A form with four inputs for each column of a file, and one for each of its readings."""


@router.get("")
def get_imports(request: Request, session: Viewer) -> Response:
    """List the imports, the newest first."""
    return list_page(request, session)


@router.get("/{id}")
async def get_import(request: Request, session: Viewer) -> Response:
    """Show one import; with `code` and `field` only the faults of that reason. Staff also get a link to its runs."""
    is_staff = service_of(request).settings.dagster_ui and await member_of(request) is not None
    return await run_in_threadpool(import_page, request, session, is_staff=is_staff)


def list_page(
    request: Request, session: Session, *, refusal: HttpRefusal | None = None, rows: str | None = None
) -> Response:
    """Return the list with the form to send a file; with a `refusal` of what was sent, its reasons above it.

    `rows` are the pasted rows that were sent instead of a file; they stay in the form.
    """
    offset, lang = offset_of(request), language_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        recent = queries.recent(PAGE_SIZE, offset).read(conn)
        kept = words.names(conn, session.company_id, _MOST_MAPPINGS)
    return page(
        request,
        "imports.html",
        session=session,
        status=200 if refusal is None else refusal.response("").status_code,
        waits=any(has_not_ended(entry["status"]) for entry in recent["data"]),
        recent=recent["data"],
        asks_columns=asked_for_columns,
        counted=has_counts,
        kept=[(name, name) for name in kept],
        total=recent["pagination"]["total"],
        offset=offset,
        size=PAGE_SIZE,
        faults=[("rows" if rows else "file", sentence) for sentence in sentences_of(refusal, lang)],
        given={"rows": rows or ""},
    )


def import_page(
    request: Request, session: Session, *, is_staff: bool = False, refusal: HttpRefusal | None = None
) -> Response:
    """Return the page of one import; with a `refusal` of what was asked of it, its reasons above it."""
    lang, offset, import_id = language_of(request), offset_of(request), path_id(request)
    with service_of(request).writes.company(session.company_id) as conn:
        status = require(queries.status(conn, import_id, limit=PAGE_SIZE, offset=offset, with_templates=True))
        templates = status["templates"]
        reasons, relatives = queries.reasons(conn, import_id), queries.relatives(conn, import_id)
        chosen = _chosen_reason(request, reasons)
        if chosen is not None:
            faults = queries.faults(conn, import_id, chosen, limit=PAGE_SIZE, offset=offset)
            templates |= {fault["message"]: fault["template"] for fault in faults if fault["template"]}
            status["errors"] = [*faults]
    failure = status["failure"]
    asks = asked_for_columns(
        dry_run=status["dry_run"],
        failure_code=failure["code"] if failure else None,
        failure_kind=failure.get("kind") if failure else None,
    )
    columns = shown_columns(status["source"])
    columns, folded = (columns, []) if asks else apart(columns)
    return page(
        request,
        "import.html",
        session=session,
        status=200 if refusal is None else refusal.response("").status_code,
        faults=[("", sentence) for sentence in sentences_of(refusal, lang)],
        waits=has_not_ended(status["status"]),
        once=str(uuid4()),
        found=status,
        counted=has_counts(status["status"], status["progress"]["done"]),
        reasons=reasons,
        undone_at=relatives.undone_at,
        answers=relatives.answers,
        answered_by=relatives.answered_by,
        meaning=lambda reason: _meaning(reason.code, reason.message),
        warned=[(_meaning(code, code), number) for code, number in status["warning_counts"].items()],
        field_name=lambda field: path_in_words(field, lang) if field else "",
        chosen=chosen,
        columns=_columns_with_fields(status["source"], lang),
        fields=[(column, field_choices(column, status["source"], lang)) for column in columns],
        folded=[(column, field_choices(column, status["source"], lang)) for column in folded],
        translate=lambda text: said(stored_message(text, templates), lang),
        asks_columns=asks,
        has_ambiguous=any(reason.code == "ambiguous_number" for reason in reasons),
        years=_years(service_of(request).clock.today().year),
        halves=[(half, text(f"half.{half}", lang)) for half in ("1", "2")],
        questions=open_questions(status["source"], lang, beside_columns=status["dry_run"]),
        readings=shown_readings(status["source"], lang),
        empty=EMPTY,
        open_count=len(status["source"].get("asked", ())),
        runs=address_of_import_runs(import_id) if is_staff else None,
        offset=offset,
        size=PAGE_SIZE,
        total=chosen.faults if chosen else status["pagination"]["total"],
    )


def _years(present: int) -> list[tuple[str, str]]:
    """Return the years that units may be chosen for, the present one first."""
    return [(str(year), str(year)) for year in (present, present - 1, present - 2, present + 1)]


def sentences_of(refusal: HttpRefusal | None, lang: str) -> list[str]:
    """Return what a refusal names, a sentence each, in a language."""
    if refusal is None:
        return []
    sentences = [issue["message"] for issue in refusal.details or () if "message" in issue]
    return [said(sentence, lang) for sentence in sentences or [refusal.args[0]]]


def _meaning(code: str, otherwise: str) -> str:
    """Return what the code of a fault or warning means; `otherwise` where no table has it."""
    code_row = ISSUE_CODES.get(code)
    return code_row.meaning if code_row else otherwise


def _chosen_reason(request: Request, reasons: list[Reason]) -> Reason | None:
    """Return the reason that the address names; None for all. Raise `PageRefused` for one that does not exist."""
    code, field = request.query_params.get("code"), request.query_params.get("field") or None
    if not code:
        return None
    matching = [reason for reason in reasons if (reason.code, reason.field) == (code, field)]
    if not matching:
        raise NotThere
    return matching[0]


def _columns_with_fields(source: ImportSource, lang: str) -> list[dict[str, object]]:
    """Return the columns of both tables with the field of each, in the order of the file."""
    parts = source["components"]
    tables: list[tuple[Table, str | None, Sequence[SourceColumn]]] = [("sku", source["sheet"], source["columns"])]
    tables += [("component", parts["sheet"], parts["columns"])] if parts else []
    return [
        {**column, "sheet": sheet, "name": name_of_field(table, column["field"], lang)}
        for table, sheet, columns in tables
        for column in columns
    ]


upload_router = APIRouter(prefix="/imports")

_PARTS = (forms.CSRF_FIELD, "file", "rows", "lang", "mapping_name", "archived")
_PASTED_NAME = "pasted.csv"
"""File name of rows that a person pasted; the reader finds their delimiter."""
_MOST_PASTED_BYTES = 2 * MAX_IMPORT_BYTES
"""Pasted text that is read: more than a file may have, so that text above that limit is shown again with the reason."""
_WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@upload_router.get("/template.xlsx")
def get_template(request: Request, _: Viewer) -> Response:
    """Return the workbook to fill in, in the page's language."""
    lang = language_of(request)
    disposition = f'attachment; filename="packaging-{lang}.xlsx"'
    headers = {"Content-Disposition": disposition, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return Response(template(lang), headers=headers, media_type=_WORKBOOK)


@upload_router.post("")
async def post_upload(request: Request, session: Editor) -> Response:
    """Read a chosen file or pasted rows as a dry run, and show it."""
    rows: str | None = None
    try:
        file, rows = await _sent_file(request, session)
        if len(file.data) > MAX_IMPORT_BYTES:
            raise TooLarge(MAX_IMPORT_BYTES)
        write = await run_in_threadpool(write_of, request, session)
        name = file.fields.get("mapping_name") or None
        mapping = None if name is None else await run_in_threadpool(kept_mapping, write, mapping_name(name))
        sent = Submission(
            file.data,
            file.filename,
            dry_run=True,
            mapping=mapping,
            mapping_name=name,
            asks_columns=True,
            keep_archived=file.fields.get("archived") == "keep",
        )
        return to_import(request, await submit(request, write, sent, answer_with_id))
    except SHOWN_IN_FORM as refused:
        return await run_in_threadpool(list_page, request, session, refusal=http_refusal(refused), rows=rows)


@upload_router.post("/{id}/columns")
async def post_columns(request: Request, session: Editor, form: _SentColumns) -> Response:
    """Read the file of a dry run again with the chosen columns and answers, or import it with them.

    A reading that is changed is kept as the company's own word before. After an import that wrote, only what was held
    back is written.
    """
    try:
        write = await run_in_threadpool(write_of, request, session, form_key=form.get("once"))
        stored = await run_in_threadpool(stored_import, write.service, write.actor.company_id, path_id(request))
        dry_run, archived = form.get("step") != "import", form.get("archived")
        if own_words := chosen_words(stored.source, form):
            sent_words = OwnWordsInput(words=own_words)
            await run_in_threadpool(write.do, partial(change_words, actor=write.actor, sent=sent_words))
        name = form.get("mapping_name", "").strip()
        answer = await repeat(
            request,
            write,
            stored,
            answer_with_id,
            mapping=merged(chosen_mapping(stored.source, form), chosen_answers(stored.source, form))
            | chosen_decimal(form),
            dry_run=dry_run,
            keep_as=mapping_name(name) if name and not dry_run else None,
            asks_columns=dry_run,
            keep_archived=archived == "keep" if archived else None,
        )
        return to_import(request, answer)
    except SHOWN_IN_FORM as refused:
        return await run_in_threadpool(import_page, request, session, refusal=http_refusal(refused))


async def _sent_file(request: Request, session: Session) -> tuple[Upload, str | None]:
    """Return the chosen file, else the pasted rows as a file and as they were typed.

    Raise `PageRefused` where the form is not of this session, `Refused` where it has neither.
    """
    if request.headers.get("Sec-Fetch-Site", "") not in forms.OWN_FETCH_SITES:
        raise PageRefused(403, "refused.form")
    try:
        fields, file = await form_with_file(request, _PARTS, pasted_bytes=_MOST_PASTED_BYTES)
    except TooLarge:
        raise TooLarge(MAX_IMPORT_BYTES) from None
    forms.refuse_other_page(request, fields, session.csrf)
    rows = fields.get("rows", "")
    if file is not None and (file.data or (file.filename and not rows.strip())):
        return file, None
    if not rows.strip():
        raise Refused([Issue("required", Message("Choose a file or paste rows."), "file")])
    return Upload(rows.encode(), _PASTED_NAME, fields), rows


def answer_with_id(import_id: UUID, _: object) -> Response:
    """Return what is kept of a form that made an import, so that the form sent twice leads to the one import."""
    return Response(str(import_id), 202, media_type="text/plain")


def to_import(request: Request, answer: Response) -> Response:
    """Lead to the page of the import that `answer_with_id` names, in the language of this one."""
    lang = request.query_params.get("lang")
    return redirect(f"/imports/{bytes(answer.body).decode()}" + (f"?lang={lang}" if lang else ""))


@router.get("/{id}/undo")
def get_undo(request: Request, session: Editor) -> Response:
    """Show what undoing an import would do to its items."""
    service, actor = service_of(request), write_of(request, session).actor
    filename = stored_import(service, session.company_id, path_id(request)).filename
    trying = partial(undo, actor=actor, import_id=path_id(request), rulesets=service.rulesets, dry_run=True)
    tried = run(service.writes, actor, trying, lambda undone: translated(undone, actor.lang, {}))
    return page(request, "undo.html", session=session, filename=filename, tried=tried, once=str(uuid4()))


@router.post("/{id}/undo")
def post_undo(request: Request, session: Editor, form: SentForm) -> Response:
    """Undo an import, as `POST /imports/{id}/undo` does, and lead back to it."""
    body = {"reason": form.get("reason", "").strip() or None}
    write = with_reason(write_of(request, session, form.get("once")), body)
    rulesets = write.service.rulesets
    undone = partial(undo, actor=write.actor, import_id=path_id(request), rulesets=rulesets, dry_run=False)
    write.answer(fingerprint(body), undone, lambda _: Response())
    return redirect(link(request, f"/imports/{path_id(request)}"))
