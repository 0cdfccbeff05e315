"""A draft declaration of the review queue as a page and as a PDF. What it says is `pipelines.steps.drafts`."""

from uuid import UUID

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.pages.refusals import PageRefused
from api.pages.render import page
from api.pages.sessions import Session, SignedIn
from api.service import service_of
from pipelines.steps import drafts, review

router = APIRouter(prefix="/review")


@router.get("/{id}/draft")
async def get_draft(request: Request, session: SignedIn) -> Response:
    """The draft as a page, in the language that it was made in."""
    draft = await run_in_threadpool(_draft, request, session)
    return page(request, "draft.html", session=session, draft=draft, entry_id=request.path_params["id"])


@router.get("/{id}/draft.pdf")
async def get_pdf(request: Request, session: SignedIn) -> Response:
    """The same as a PDF."""
    made = await run_in_threadpool(lambda: drafts.pdf(_draft(request, session)))
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
               "Content-Disposition": 'inline; filename="draft.pdf"'}  # fmt: skip
    return Response(made, media_type="application/pdf", headers=headers)


def _draft(request: Request, session: Session) -> drafts.Draft:
    """The draft of an entry. Raises `PageRefused` where the company has no such entry, or it holds none."""
    try:
        entry_id = UUID(request.path_params["id"])
        with service_of(request).writes.company(session.company_id) as conn:
            entry = review.entry(conn, entry_id)
    except (ValueError, review.EntryUnknown):
        raise PageRefused(404, "refused.gone") from None
    if entry.kind != "doc_draft" or "draft" not in entry.payload:
        raise PageRefused(404, "refused.gone")
    return drafts.Draft.of(entry.payload["draft"])
