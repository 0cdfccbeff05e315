"""Form on a draft's page that issues the declaration of conformity, and the declaration once it is issued.

`schemas.conformity` defines the fields; `services.conformity.issuing` issues.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date
from typing import Final

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.service import service_of
from api.pages.forms import path_id
from api.pages.refusals import PageRefused
from api.pages.render import language_of, page, text
from api.pages.sessions import Session, Viewer
from compliance.conformity import OpenPoint, Verdict
from schemas.conformity import POINT
from schemas.issues import Issue
from schemas.messages import header, translate
from schemas.refusals import NotThere, Refused
from services.conformity import drafts, issuing
from services.review import compare, entries
from warehouse import conformity as declarations
from warehouse.operate.sessions import Connection
from warehouse.review import entries as entries_review

router = APIRouter()

_NOTHING: Final = Verdict([], [])


@dataclass(frozen=True, slots=True)
class IssuingForm:
    """The form of a draft: the points to complete with the records' facts for each, and the dates allowed.

    `issued` is the declaration that it became.
    """

    lang: str
    points: list[drafts.Point]
    headings: dict[str, str]
    """The heading of each point, open or not, by the name of its input."""
    drafted: date
    today: date
    issued: declarations.Issued | None
    further: tuple[str, ...]
    """Languages in which it can be issued beside its own."""
    verdict: Verdict
    """What contradicts the declaration by the item's record as it is today, and what is open; of an open draft."""


@router.get("/declarations/{id}.pdf")
async def get_pdf(request: Request, session: Viewer) -> Response:
    """Return the declaration byte for byte as it was issued, with `?in=` in one of its languages, else in its first.

    `id` is that of its record in the list of DoCs.
    """

    def read() -> tuple[declarations.Issued, bytes]:
        doc_id = path_id(request)
        with service_of(request).writes.company(session.company_id) as conn:
            found = declarations.of_doc(conn, doc_id)
            if found is None:
                raise NotThere
            pdf = declarations.pdf_in(conn, doc_id, request.query_params.get("in"))
            if pdf is None:
                raise NotThere
            return found, pdf

    found, pdf = await run_in_threadpool(read)
    return as_pdf(pdf, f"declaration-{found.doc_id}.pdf")


def as_pdf(pdf: bytes, filename: str) -> Response:
    """Return one of our PDFs to view or to save."""
    headers = {
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
        "Content-Disposition": f'inline; filename="{filename}"',
    }
    return Response(pdf, media_type="application/pdf", headers=headers)


def form_of_entry(request: Request, conn: Connection, entry: entries_review.Entry) -> IssuingForm | None:
    """Return the issuing form of an entry's page; None where the entry is no draft, or one that cannot be issued.

    Its points are named in the reader's language where the draft was prepared in it, else in the draft's own.
    """
    if entry.kind != "doc_draft":
        return None
    service, issued = service_of(request), declarations.of_entry(conn, entry.id)
    now = service.clock.now()
    try:
        draft = issuing.draft_of(conn, entry, now=now, rulesets=service.rulesets)
    except compare.Conflict:
        return None
    verdict = _NOTHING
    if entry.state == "open":
        with suppress(compare.Conflict):  # of an archived item: whoever tries to issue is told
            verdict = issuing.verdict_of(conn, entry, draft, now.date(), now=now, rulesets=service.rulesets)
    further = entry.payload.get("translations", {})
    own, lang = draft.lang, language_of(request)
    if lang != own and lang in further:
        draft = drafts.Draft.of(further[lang])
    drafted = entry.filed_at.astimezone(UTC).date()
    headings = {f"{POINT}{point.key}": point.heading for point in draft.points}
    open_points = drafts.open_points(draft)
    return IssuingForm(draft.lang, open_points, headings, drafted, now.date(), issued, tuple(further), verdict)


def sentences_of(found: Iterable[Issue | OpenPoint], lang: str) -> list[tuple[str, str]]:
    """Return facts or open points of a verdict: each sentence with the field that it is about, named for people."""
    return [(translate(each.message, lang), _field_named(each.field, lang)) for each in found]


def _field_named(field: str | None, lang: str) -> str:
    if not field:
        return ""
    name = field.removeprefix("substances.")
    return header("sku", f"{name}_status" if name != field else name, lang)


def faults_of_form(issues: Iterable[Issue], form: IssuingForm | None, lang: str) -> list[tuple[str, str]]:
    """Return the faults of the filled-in form: the input's name, and its label with the remedy.

    A point that the record completed has no input, and the name of its fault is empty.
    """
    headings, inputs = (form.headings, {f"{POINT}{point.key}" for point in form.points}) if form else ({}, set())

    def fault_of(issue: Issue) -> tuple[str, str]:
        name = str(issue.field)
        anchor = name if name in inputs or name not in headings else ""
        return anchor, f"{headings.get(name) or text(f'issuing.{name}', lang)}: {translate(issue.message, lang)}"

    return [fault_of(issue) for issue in issues]


drafts_router = APIRouter(prefix="/review")


@drafts_router.get("/{id}/draft")
async def get_draft(request: Request, session: Viewer) -> Response:
    """Show the draft as a page, in the language in which it was made."""
    draft, issued, _ = await run_in_threadpool(_load, request, session)
    return page(request, "draft.html", session=session, draft=draft, issued=issued, entry_id=request.path_params["id"])


@drafts_router.get("/{id}/draft.pdf")
async def get_draft_pdf(request: Request, session: Viewer) -> Response:
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
        entry = entries.load_entry(conn, entry_id)
        issued = declarations.of_entry(conn, entry_id)
        pdf = declarations.pdf(conn, issued.doc_id) if issued else None
    content = issued.content if issued else entry.payload.get("draft")
    if entry.kind != "doc_draft" or content is None:
        raise NotThere
    draft = drafts.Draft.of(content)
    return draft if issued else drafts.in_todays_form(draft), issued, pdf
