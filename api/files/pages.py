"""Page of one item's documents: drafting a declaration, uploading technical files, downloading them.

The interface's own functions do it: `services.conformity.documents` for drafts, `api.files.uploads` for files.
"""

import hmac
from collections.abc import Sequence
from typing import Final
from uuid import uuid4

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.conformity.pages import PAGE_SIZE, draft_fields, draft_language, file_draft, languages
from api.files.uploads import download, receive
from api.http.errors import SHOWN_IN_FORM, HttpRefusal, http_refusal
from api.http.requests import FileForm
from api.http.service import service_of
from api.http.writing import Write
from api.pages import forms
from api.pages.forms import Form, SentForm, path_id, write_of
from api.pages.refusals import PageRefused
from api.pages.render import language_of, link, page, redirect, said, text
from api.pages.sessions import Editor, Session, Viewer
from compliance.conformity import offered_languages
from schemas.refusals import require
from schemas.vocabularies import CONTENTS, TAKEN
from services.conformity import documents
from services.conformity.documents import Prepared
from warehouse import conformity, files, review
from warehouse.operate.sessions import Connection
from warehouse.skus import archive
from warehouse.skus import queries as skus

router = APIRouter(prefix="/items/{id}")

_FILES_SHOWN: Final = 200


@router.get("/documents")
def get_documents(request: Request, session: Viewer) -> Response:
    """Show an item's declarations, drafts and technical files, with the forms that draft and upload."""
    return _page(request, session)


@router.post("/documents")
def post_draft(request: Request, session: Editor, form: SentForm) -> Response:
    """Draft a declaration of the item, and lead to the draft, which asks what is open."""
    write, sku_id, lang = write_of(request, session), path_id(request), language_of(request)
    reference, faults = draft_fields(form, lang)
    if faults:
        return _page(request, session, form=form, faults=faults)

    def prepare(conn: Connection) -> Prepared:
        spoken, rulesets = draft_language(form, lang), write.service.rulesets
        return documents.prepare(conn, write.actor, sku_id, reference=reference, lang=spoken, rulesets=rulesets)

    entry_id = file_draft(write, session, form, prepare)
    return redirect(link(request, f"/review/{entry_id}"))


@router.post("/files")
async def post_file(request: Request, session: Editor) -> Response:
    """Store a technical file, as `POST /skus/{id}/files` does."""
    if request.headers.get("Sec-Fetch-Site", "") not in forms.OWN_FETCH_SITES:
        raise PageRefused(403, "refused.form")
    sku_id, form = path_id(request), FileForm(request, answering=True)

    def write_of_form() -> Write:
        beside = dict(form.beside)
        if not hmac.compare_digest(beside.get(forms.CSRF_FIELD, "").encode(), session.csrf.encode()):
            raise PageRefused(403, "refused.form")
        return write_of(request, session, beside.get("once"))

    try:
        await receive(request, session.company_id, sku_id, form, write_of_form)
    except SHOWN_IN_FORM as error:
        refused = http_refusal(error)
        faults = _faults_of_file(refused, form, language_of(request))
        return await run_in_threadpool(
            _page, request, session, form=Form(form.typed), faults=faults, status=refused.response("").status_code
        )
    return redirect(f"{link(request, f'/items/{sku_id}/documents', stored='yes')}#files")


@router.get("/files/{file_id}")
def get_file(request: Request, session: Viewer) -> Response:
    """Return a technical file, for download."""
    return download(request, session.company_id, path_id(request), path_id(request, "file_id"))


def _faults_of_file(refused: HttpRefusal, form: FileForm, lang: str) -> list[tuple[str, str]]:
    """Return the faults of an upload at their inputs, in the person's language."""
    if not form.filename and not form.size_bytes:
        return [("file", text("documents.file.needed", lang))]
    issues = [issue for issue in refused.details or () if "message" in issue] or [{"message": str(refused)}]
    faults = [(str(issue.get("field") or "file"), said(issue["message"], lang)) for issue in issues]
    return [(name, f"{text(f'documents.{name}', lang)}: {sentence}") for name, sentence in faults]


def _page(
    request: Request,
    session: Session,
    *,
    form: Form | None = None,
    faults: Sequence[tuple[str, str]] = (),
    status: int = 400,
) -> Response:
    service, lang, sku_id = service_of(request), language_of(request), path_id(request)
    actor = write_of(request, session).actor
    with service.writes.company(session.company_id) as conn:
        in_use = skus.code_of(conn, sku_id)
        code = in_use or require(archive.code_of(conn, sku_id))
        docs = conformity.page_of_register(actor.today, PAGE_SIZE, 0, sku_id=sku_id).read(conn)["data"]
        waiting, _ = review.doc_drafts(conn, sku_id=sku_id)
        drafts = [documents.draft_as_answer(conn, actor, entry, rulesets=service.rulesets) for entry in waiting]
        attached = files.page(sku_id, _FILES_SHOWN, 0).read(conn)["data"]
    return page(
        request,
        "item_documents.html",
        session=session,
        status=status if faults else 200,
        sku_id=sku_id,
        code=code,
        is_archived=in_use is None,
        docs=docs,
        drafts=drafts,
        files=attached,
        types=CONTENTS[lang],
        taken=TAKEN,
        stored=request.query_params.get("stored") == "yes",
        once=str(uuid4()),
        languages_to_draft=languages(lang, offered_languages()),
        given=form or Form([("draft_lang", lang)]),
        faults=faults,
    )
