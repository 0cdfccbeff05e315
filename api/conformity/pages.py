"""Pages of declarations of conformity: those of the company by state, one with its PDFs, its renewal and withdrawal.

`services.conformity.documents` does the work, for the interface too (`api.conformity.routes`). A draft is issued below
/review, by the form of `form_of_entry`, whose fields `schemas.conformity` defines.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date
from typing import Final
from uuid import UUID, uuid4

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.http.service import service_of
from api.http.writing import Write
from api.pages.forms import Form, SentForm, offset_of, path_id, write_of
from api.pages.refusals import PageRefused
from api.pages.render import language_of, link, page, redirect, text
from api.pages.sessions import Approver, Editor, Session, Viewer
from compliance.conformity import OpenPoint, Verdict, offered_languages
from schemas import normalise
from schemas.conformity import MAX_DAYS, POINT, Doc, DocDraft
from schemas.issues import Issue
from schemas.messages import LANGUAGES, ORIGINAL, header, translate
from schemas.normalise import Unfit
from schemas.refusals import NotThere, Refused
from services.conformity import documents, drafts, issuing
from services.conformity.documents import Prepared
from services.review import entries
from warehouse import conformity, review
from warehouse.operate.sessions import Connection
from warehouse.review import Entry

router = APIRouter(prefix="/documents")

PAGE_SIZE: Final = 50
VIEWS: Final = ("all", "drafts", "valid", "ending", "expired", "withdrawn")
_SOON_DAYS: Final = 90
_LONGEST: Final = {"reference": 200, "reason": 2_000}


@router.get("")
def get_documents(request: Request, session: Viewer) -> Response:
    """List declarations, newest first; `show` is one of the views, `days` for those that end soon."""
    service, params, offset = service_of(request), request.query_params, offset_of(request)
    view = params.get("show", "all")
    view = view if view in VIEWS else "all"
    days = int(params["days"]) if params.get("days", "").isdecimal() and len(params["days"]) <= 5 else _SOON_DAYS
    days = min(days, MAX_DAYS)
    actor = write_of(request, session).actor
    docs: Sequence[Doc | DocDraft]
    with service.writes.company(session.company_id) as conn:
        if view == "drafts":
            waiting, total = review.doc_drafts(conn, limit=PAGE_SIZE, offset=offset)
            docs = [documents.draft_as_answer(conn, actor, entry, rulesets=service.rulesets) for entry in waiting]
        else:
            state = view if view in conformity.STATES else None
            ends_within = days if view == "ending" else None
            listing = conformity.page_of_register(actor.today, PAGE_SIZE, offset, state=state, ends_within=ends_within)
            register = listing.read(conn)
            docs, total = register["data"], register["pagination"]["total"]
    return page(
        request,
        "documents.html",
        session=session,
        views=VIEWS,
        view=view,
        days=days,
        most_days=MAX_DAYS,
        docs=docs,
        counts={name: params.get(name, "") for name in ("drafted", "left")},
        total=total,
        offset=offset,
        size=PAGE_SIZE,
    )


@router.get("/{id}")
def get_document(request: Request, session: Viewer) -> Response:
    """Show one declaration with its PDFs and what became of it, and the forms that renew and withdraw it."""
    return _document(request, session)


def _document(
    request: Request,
    session: Session,
    *,
    form: Form | None = None,
    faults: Sequence[tuple[str, str]] = (),
    status: int = 400,
) -> Response:
    service = service_of(request)
    with service.writes.company(session.company_id) as conn:
        doc = documents.one(conn, path_id(request), service.clock.today())
    return page(
        request,
        "document.html",
        session=session,
        status=status if faults else 200,
        doc=doc,
        once=str(uuid4()),
        languages_to_draft=languages(language_of(request), offered_languages()),
        given=form or Form(),
        faults=faults,
    )


def languages(lang: str, codes: Sequence[str] = LANGUAGES) -> list[tuple[str, str]]:
    """Return languages with their names in the reader's language."""
    return [(code, text(f"lang.{code}", lang)) for code in codes]


@router.post("/{id}/renew")
def post_renewal(request: Request, session: Editor, form: SentForm) -> Response:
    """Draft a renewal from the records as they are now, and lead to the draft."""
    write, doc_id, lang = write_of(request, session), path_id(request), language_of(request)
    reference, faults = draft_fields(form, lang)
    if faults:
        return _document(request, session, form=form, faults=faults)

    def prepare(conn: Connection) -> Prepared:
        spoken, rulesets = draft_language(form, lang), write.service.rulesets
        return documents.prepare_renewal(conn, write.actor, doc_id, reference=reference, lang=spoken, rulesets=rulesets)

    try:
        entry_id = file_draft(write, session, form, prepare)
    except Refused as refused:
        return _conflict(request, session, form, refused)
    return redirect(link(request, f"/review/{entry_id}"))


def _conflict(request: Request, session: Session, form: Form, refused: Refused) -> Response:
    """Show the declaration with what prevents its renewal or withdrawal."""
    sentence = translate(refused.issues[0].message, language_of(request))
    return _document(request, session, form=form, faults=[("", sentence)], status=409)


def draft_fields(form: Form, lang: str) -> tuple[str | None, list[tuple[str, str]]]:
    """Return the reference of a form that drafts, None where it is empty, and its fault."""
    reference = form.get("doc_reference", "").strip()
    try:
        return normalise.text(reference, min_length=1, max_length=_LONGEST["reference"]) if reference else None, []
    except Unfit:
        return None, [("doc_reference", text("documents.reference.wrong", lang))]


def draft_language(form: Form, lang: str) -> str:
    """Return the language that a form chooses for a draft, else the reader's, else English, of those offered."""
    offered = offered_languages()
    return next((choice for choice in (form.get("draft_lang"), lang) if choice in offered), ORIGINAL)


def file_draft(write: Write, session: Session, form: Form, prepare: Callable[[Connection], Prepared]) -> UUID:
    """File the draft that `prepare` draws; once for a form, however often it is sent. Return the entry's id."""
    source = f"{session.user_id}/{write.request.url.path}/{form.get('once', '')}"
    key = hashlib.sha256(source.encode()).digest()

    def file(conn: Connection) -> Entry:
        return documents.file(conn, write.actor, prepare(conn), filing_key=key)

    return write.do(file).id


@router.post("/{id}/withdraw")
def post_withdrawal(request: Request, session: Approver, form: SentForm) -> Response:
    """Withdraw the declaration for the reason of the form."""
    write, doc_id, lang = write_of(request, session), path_id(request), language_of(request)
    reason = form.get("reason", "").strip()
    if not reason or len(reason) > _LONGEST["reason"]:
        key = "documents.reason.long" if reason else "documents.reason.needed"
        return _document(request, session, form=form, faults=[("reason", text(key, lang))])
    try:
        reason = normalise.text(reason, min_length=1, max_length=_LONGEST["reason"])
    except Unfit as unfit:
        return _document(request, session, form=form, faults=[("reason", translate(unfit.message, lang))])

    def withdraw(conn: Connection) -> Doc:
        return documents.withdraw(conn, write.actor, doc_id, reason=reason)

    try:
        address = link(request, f"/documents/{doc_id}")
        write.do(withdraw)
    except Refused as refused:
        return _conflict(request, session, form, refused)
    return redirect(address)


declarations_router = APIRouter()

_NOTHING: Final = Verdict([], [])


@dataclass(frozen=True, slots=True)
class IssuingForm:
    """The form of a draft: the points to complete with the records' facts for each, those to add to, and the dates.

    `issued` is the declaration that it became.
    """

    lang: str
    points: list[drafts.Point]
    headings: dict[str, str]
    """The heading of each point, open or not, by the name of its input."""
    drafted: date
    today: date
    issued: conformity.Issued | None
    further: tuple[str, ...]
    """Languages in which it can be issued beside its own."""
    verdict: Verdict
    """What contradicts the declaration by the item's record as it is today, and what is open; of an open draft."""


@declarations_router.get("/declarations/{id}.pdf")
def get_pdf(request: Request, session: Viewer) -> Response:
    """Return the declaration byte for byte as it was issued, with `?in=` in one of its languages, else in its first.

    `id` is that of its record in the list of DoCs.
    """
    doc_id = path_id(request)
    with service_of(request).writes.company(session.company_id) as conn:
        pdf = conformity.pdf_in(conn, doc_id, request.query_params.get("in"))
    if pdf is None:
        raise NotThere
    return as_pdf(pdf, f"declaration-{doc_id}.pdf")


def as_pdf(pdf: bytes, filename: str) -> Response:
    """Return one of our PDFs to view or to save."""
    headers = {
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
        "Content-Disposition": f'inline; filename="{filename}"',
    }
    return Response(pdf, media_type="application/pdf", headers=headers)


def form_of_entry(request: Request, session: Session, conn: Connection, entry: Entry) -> IssuingForm | None:
    """Return the issuing form of an entry's page; None where the entry is no draft, or one that cannot be issued.

    Its points are named in the reader's language where the draft was prepared in it, else in the draft's own.
    """
    if entry.kind != "doc_draft":
        return None
    service, issued = service_of(request), conformity.of_entry(conn, entry.id)
    actor = write_of(request, session).actor
    try:
        draft = issuing.draft_of(conn, actor, entry, rulesets=service.rulesets)
    except Refused:
        return None
    verdict = _NOTHING
    if entry.state == "open":
        with suppress(Refused):  # of an archived item: whoever tries to issue is told
            verdict = issuing.verdict_of(conn, actor, entry, on=actor.today, rulesets=service.rulesets)
    further = entry.payload.get("translations", {})
    own, lang = draft.lang, language_of(request)
    if lang != own and lang in further:
        draft = drafts.Draft.from_stored(further[lang])
    drafted = entry.filed_at.astimezone(UTC).date()
    headings = {f"{POINT}{point.key}": point.heading for point in draft.points}
    points = [*drafts.open_points(draft), *drafts.points_to_add_to(draft)]
    return IssuingForm(draft.lang, points, headings, drafted, actor.today, issued, tuple(further), verdict)


def sentences_of(facts: Iterable[Issue | OpenPoint], lang: str) -> list[tuple[str, str]]:
    """Return facts or open points of a verdict: each sentence with the field that it is about, named for people."""
    return [(translate(fact.message, lang), _field_named(fact.field, lang)) for fact in facts]


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
def get_draft(request: Request, session: Viewer) -> Response:
    """Show the draft as a page, in the language in which it was made."""
    draft, issued, _ = _load(request, session)
    return page(request, "draft.html", session=session, draft=draft, issued=issued, entry_id=request.path_params["id"])


@drafts_router.get("/{id}/draft.pdf")
def get_draft_pdf(request: Request, session: Viewer) -> Response:
    """Return the same as a PDF: for an issued declaration, the bytes that were issued."""
    draft, _, pdf = _load(request, session)
    try:
        return as_pdf(drafts.pdf(draft), "draft.pdf") if pdf is None else as_pdf(pdf, "declaration.pdf")
    except Refused as refused:
        lines = " ".join(translate(issue.message, language_of(request)) for issue in refused.issues)
        raise PageRefused(409, "drafts.unprintable", lines=lines) from None


def _load(request: Request, session: Session) -> tuple[drafts.Draft, conformity.Issued | None, bytes | None]:
    """Return the draft of an entry, or the declaration that it became with its bytes.

    Raise `NotThere` where the company has no such entry, or it contains none.
    """
    entry_id = path_id(request)
    with service_of(request).writes.company(session.company_id) as conn:
        entry = entries.load_entry(conn, entry_id)
        issued = conformity.of_entry(conn, entry_id)
        pdf = conformity.pdf_in(conn, issued.doc_id) if issued else None
    content = issued.content if issued else entry.payload.get("draft")
    if entry.kind != "doc_draft" or content is None:
        raise NotThere
    return drafts.Draft.from_stored(content), issued, pdf
