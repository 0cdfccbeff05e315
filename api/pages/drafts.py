"""Shows a draft declaration of the review queue as a page and as a PDF; once it is issued, the declaration.

`services.drafts` makes the contents of a draft.
"""

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.pages.issuing import as_pdf
from api.pages.refusals import PageRefused
from api.pages.render import language_of, page
from api.pages.request_values import path_id
from api.pages.sessions import Session, Viewer
from api.service import service_of
from schemas.messages import translate
from schemas.refusals import NotThere, Refused
from services import drafts, review
from warehouse.declarations import queries as declarations

router = APIRouter(prefix="/review")


@router.get("/{id}/draft")
async def get_draft(request: Request, session: Viewer) -> Response:
    """Show the draft as a page, in the language in which it was made."""
    draft, issued, _ = await run_in_threadpool(_load, request, session)
    return page(request, "draft.html", session=session, draft=draft, issued=issued, entry_id=request.path_params["id"])


@router.get("/{id}/draft.pdf")
async def get_pdf(request: Request, session: Viewer) -> Response:
    """Return the same as a PDF: for an issued declaration, the bytes that were issued."""

    def work() -> Response:
        draft, _, pdf = _load(request, session)
        try:
            return as_pdf(drafts.pdf(draft), "draft.pdf") if pdf is None else as_pdf(pdf, "declaration.pdf")
        except Refused as refused:
            lines = " ".join(translate(issue.message, language_of(request)) for issue in refused.issues)
            raise PageRefused(409, "drafts.unprintable", lines=lines) from None

    return await run_in_threadpool(work)


def _load(request: Request, session: Session) -> tuple[drafts.Draft, declarations.Issued | None, bytes | None]:
    """Return the draft of an entry, or the declaration that it became with its bytes.

    Raise `PageRefused` where the company has no such entry, or it contains none.
    """
    entry_id = path_id(request)
    with service_of(request).writes.company(session.company_id) as conn:
        entry = review.load_entry(conn, entry_id)
        issued = declarations.of_entry(conn, entry_id)
        pdf = declarations.pdf(conn, issued.doc_id) if issued else None
    content = issued.content if issued else entry.payload.get("draft")
    if entry.kind != "doc_draft" or content is None:
        raise NotThere
    draft = drafts.Draft.of(content)
    return draft if issued else drafts.in_todays_form(draft), issued, pdf
