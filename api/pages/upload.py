"""Pages on which people send a spreadsheet: choose or paste it, see how it was read, correct the columns, import it.

A file is first sent as a dry run, whose page shows what was understood and what would happen. Where no column is known
as the code or the name, the page shows the columns, and the person chooses. From there the file is read again with
other columns, or imported. Both are the interface's own operations (`api.importing`); nothing is stored in
between but the dry run.
"""

import hmac
from uuid import UUID

import orjson
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.bodies import Upload, form_with_file
from api.errors import HttpRefusal, http_refusal
from api.importing import Submission, kept_mapping, mapping_name, repeated, stored_import, submit
from api.pages import forms
from api.pages.columns import chosen_mapping
from api.pages.forms import Form, read_form
from api.pages.imports import import_page, list_page
from api.pages.questions import chosen_answers
from api.pages.refusals import PageRefused
from api.pages.render import language_of, redirect
from api.pages.request_values import path_id, write_of
from api.pages.sessions import Editor, Session, Viewer
from api.writing import Write
from pipelines.imports.template import template
from pipelines.reading.mapping import merged
from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import Refused

router = APIRouter(prefix="/imports")

_PARTS = (forms.CSRF_FIELD, "file", "rows", "lang", "mapping_name", "archived")
_PASTED_NAME = "pasted.csv"
"""File name of rows that a person pasted; the reader finds their delimiter."""
_WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@router.get("/template.xlsx")
async def get_template(request: Request, _: Viewer) -> Response:
    """Return the workbook to fill in, in the page's language."""
    lang = language_of(request)
    data = await run_in_threadpool(template, lang)
    disposition = f'attachment; filename="packaging-{lang}.xlsx"'
    headers = {"Content-Disposition": disposition, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return Response(data, headers=headers, media_type=_WORKBOOK)


@router.post("")
async def post_upload(request: Request, session: Editor) -> Response:
    """Read a chosen file or pasted rows as a dry run, and show it."""
    rows: str | None = None
    try:
        file, rows = await _sent_file(request, session)
        write = await run_in_threadpool(write_of, request, session)
        name = file.fields.get("mapping_name") or None
        mapping = None if name is None else await run_in_threadpool(kept_mapping, write, mapping_name(name))
        sent = Submission(
            file.data,
            file.filename,
            dry_run=True,
            mapping=mapping,
            mapping_name=name,
            keeps_mapping=False,
            fingerprint=b"",
            sender_id=session.user_id,
            asks_columns=True,
            keep_archived=file.fields.get("archived") == "keep",
        )
        return redirect(import_address(request, await submit(request, write, sent)))
    except (HttpRefusal, Refused) as refused:
        return await run_in_threadpool(list_page, request, session, refusal=http_refusal(refused), rows=rows)


@router.post("/{id}/columns")
async def post_columns(request: Request, session: Editor) -> Response:
    """Read the file of a dry run again with the chosen columns and answers, or import it with them.

    After an import that wrote, only what was held back is written.
    """
    form = await read_form(request, session)
    try:
        write = await run_in_threadpool(write_of, request, session, form_key=form.get("once"))
        submission = await run_in_threadpool(_chosen, write, path_id(request), form, session.user_id)
        answer = submission if isinstance(submission, Response) else await submit(request, write, submission)
        return redirect(import_address(request, answer))
    except (HttpRefusal, Refused) as refused:
        return await run_in_threadpool(import_page, request, session, refusal=http_refusal(refused))


def _chosen(write: Write, import_id: UUID, form: Form, sender_id: UUID) -> Submission | Response:
    """Return the submission of the import's file with the columns and answers of the form; `step` says what for."""
    found = stored_import(write.service, write.company_id, import_id)
    mapping = merged(chosen_mapping(found.source, form), chosen_answers(found.source, form))
    dry_run = form.get("step") != "import"
    name = form.get("mapping_name", "").strip()
    keep_as = mapping_name(name) if name and not dry_run else None
    archived = form.get("archived")
    return repeated(
        write,
        found,
        mapping=mapping,
        dry_run=dry_run,
        sender_id=sender_id,
        keep_as=keep_as,
        asks_columns=dry_run,
        keep_archived=archived == "keep" if archived else None,
    )


async def _sent_file(request: Request, session: Session) -> tuple[Upload, str | None]:
    """Return the chosen file, else the pasted rows as a file and as they were typed.

    Raise `PageRefused` where the form is not of this session, `Refused` where it has neither.
    """
    if request.headers.get("Sec-Fetch-Site", "") not in forms.OWN_FETCH_SITES:
        raise PageRefused(403, "refused.form")
    fields, file = await form_with_file(request, _PARTS)
    if not hmac.compare_digest(fields.get(forms.CSRF_FIELD, "").encode(), session.csrf.encode()):
        raise PageRefused(403, "refused.form")
    rows = fields.get("rows", "")
    if file is not None and (file.data or (file.filename and not rows.strip())):
        return file, None
    if not rows.strip():
        raise Refused([Issue("required", Message("Choose a file or paste rows."), "file")])
    return Upload(rows.encode(), _PASTED_NAME, fields), rows


def import_address(request: Request, answer: Response) -> str:
    """Return the address of the page of an accepted import, in the language of this one."""
    accepted = orjson.loads(answer.body)
    lang = request.query_params.get("lang")
    return f"/imports/{accepted['id']}" + (f"?lang={lang}" if lang else "")
