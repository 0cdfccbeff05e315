"""Declarations of conformity from draft to issue: drafts of an item, issuing, renewing, withdrawing, PDFs.

These are our own operations beside the contract, marked preview; `services.conformity.documents` does the work, for
pages too.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Final, TypeVar
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import json_of, revalidated
from api.http.auth import Presented, admit_in_thread, answer_page
from api.http.parameters import DryRun, Limit, Offset, RecordId, one_of
from api.http.requests import fingerprint
from api.http.service import service_of
from api.http.writing import JsonWrite, Write
from api.openapi.document import READ_ERRORS, V1, WRITE_ERRORS, body_of, operation
from compliance.conformity import points as points_of_annex
from schemas.actors import Actor
from schemas.answers import Error
from schemas.conformity import (
    MAX_DAYS,
    POINT,
    DocDraft,
    DocDraftInput,
    DocDraftListResponse,
    DocDraftResponse,
    DocDraftResult,
    DocIssueInput,
    DocListResponse,
    DocResponse,
    DocResult,
    DocSearchResponse,
    DocWithdrawInput,
)
from schemas.issues import Issue
from schemas.json_values import Json, JsonObject
from schemas.messages import LANGUAGES, ORIGINAL, Message
from schemas.normalise import Unfit
from schemas.refusals import NotThere, Refused
from schemas.skus.inputs import parse_body, validator
from services.conformity import documents
from services.conformity.documents import Prepared
from warehouse import conformity, review
from warehouse.operate.sessions import Connection

router = APIRouter(prefix=V1, tags=["Declarations"])

T = TypeVar("T")
_READ: Final = (*READ_ERRORS, "not_found")
_WRITE: Final = (*(code for code in WRITE_ERRORS if code != "plan_limit_reached"), "not_found")


def _uuid(value: str) -> UUID:
    try:
        return UUID(value)
    except ValueError:
        raise Unfit("invalid_format", Message("This parameter is the id of a SKU: a UUID.")) from None


def _days(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= len(str(MAX_DAYS)) and int(value) <= MAX_DAYS):
        raise Unfit("out_of_range", Message("Send whole days from 0 to {most}.", most=MAX_DAYS))
    return int(value)


SkuId = Annotated[
    UUID | None,
    BeforeValidator(validator(_uuid)),
    WithJsonSchema({"type": "string", "format": "uuid"}),
    Query(description="Only those of this SKU."),
]
State = Annotated[
    str | None,
    AfterValidator(validator(one_of, conformity.STATES)),
    WithJsonSchema({"type": "string", "enum": list(conformity.STATES)}),
    Query(description="Only those in this state today."),
]
EndsWithin = Annotated[
    int | None,
    BeforeValidator(validator(_days)),
    WithJsonSchema({"type": "integer", "minimum": 0, "maximum": MAX_DAYS}),
    Query(description="Only valid ones whose last day is today or within so many days, and that none renews."),
]
Lang = Annotated[
    str | None,
    AfterValidator(validator(one_of, LANGUAGES)),
    WithJsonSchema({"type": "string", "enum": list(LANGUAGES)}),
    Query(description="One of the declaration's languages; without it the first."),
]
_PDF_ANSWER: Final = operation("PDF of a declaration", answers={200: Error}, errors=_READ, preview=True)
_PDF_ANSWER["responses"][200] = {
    "description": "The document byte for byte as it was issued.",
    "content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}},
}


@router.get(
    "/docs/search", **operation("Find declarations", answers={200: DocSearchResponse}, errors=READ_ERRORS, preview=True)
)
async def search_docs(
    request: Request,
    presented: Presented,
    *,
    sku_id: SkuId = None,
    state: State = None,
    ends_within: EndsWithin = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """The declarations of `GET /docs` with their items, languages, renewals and ends: of the company or of one SKU.

    Withdrawn ones stay listed. With `ends_within` those that end soon and that no valid declaration renews.
    """
    today = service_of(request).clock.today()
    listing = conformity.page_of_register(today, limit, offset, sku_id=sku_id, state=state, ends_within=ends_within)
    return await answer_page(request, presented, listing)


@router.get(
    "/docs/{id}",
    **operation("One declaration", answers={200: DocResponse}, errors=_READ, revalidated=True, preview=True),
)
def get_doc(request: Request, presented: Presented, doc_id: RecordId) -> Response:
    """One declaration with its item, its languages and what became of it."""

    def read(conn: Connection, actor: Actor) -> Response:
        return json_of({"data": documents.one(conn, doc_id, actor.today)})

    return revalidated(request, _read(request, presented, read))


@router.get("/docs/{id}/pdf", response_class=Response, **_PDF_ANSWER)
def get_doc_pdf(request: Request, presented: Presented, doc_id: RecordId, lang: Lang = None) -> Response:
    """The PDF of a declaration that was issued here, in one of its languages; 404 where there is none."""
    pdf = _read(request, presented, lambda conn, _: conformity.pdf_in(conn, doc_id, lang))
    if pdf is None:
        raise NotThere
    return Response(pdf, media_type="application/pdf", headers={"X-Content-Type-Options": "nosniff"})


@router.get(
    "/doc-drafts",
    **operation("List drafts of declarations", answers={200: DocDraftListResponse}, errors=READ_ERRORS, preview=True),
)
def list_drafts(
    request: Request, presented: Presented, sku_id: SkuId = None, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """The drafts that wait to be issued, newest first, with their open points."""

    def read(conn: Connection, actor: Actor) -> Response:
        entries, total = review.doc_drafts(conn, sku_id=sku_id, limit=limit, offset=offset)
        rulesets = service_of(request).rulesets
        data = [documents.draft_as_answer(conn, actor, entry, rulesets=rulesets) for entry in entries]
        return json_of({"data": data, "pagination": {"limit": limit, "offset": offset, "total": total}})

    return _read(request, presented, read)


@router.get(
    "/doc-drafts/{id}",
    **operation("One draft of a declaration", answers={200: DocDraftResponse}, errors=_READ, preview=True),
)
def get_draft(request: Request, presented: Presented, draft_id: RecordId) -> Response:
    """One draft, open or decided: each point of Annex VIII, what the records say on it, and whether it is open."""

    def read(conn: Connection, actor: Actor) -> Response:
        entry = documents.load_draft(conn, draft_id)
        draft = documents.draft_as_answer(conn, actor, entry, rulesets=service_of(request).rulesets)
        return json_of({"data": draft})

    return _read(request, presented, read)


@router.post(
    "/skus/{id}/doc-drafts",
    **operation(
        "Draft a declaration for a SKU",
        body=body_of(DocDraftInput),
        answers={200: DocDraftResult, 201: DocDraftResult},
        errors=_WRITE,
        preview=True,
    ),
)
def post_draft(received: JsonWrite, sku_id: RecordId, dry_run: DryRun) -> Response:
    """Fills the points of Annex VIII of Regulation (EU) 2025/40 from the records, in each language, and files it.

    It waits in the review queue; nothing is issued or signed. `points` says which are open.
    """
    write, body = received.admitted()
    sent = parse_body(DocDraftInput, body)

    def prepare(conn: Connection) -> Prepared:
        lang, rulesets = sent.lang or ORIGINAL, write.service.rulesets
        return documents.prepare(conn, write.actor, sku_id, reference=sent.reference, lang=lang, rulesets=rulesets)

    return _filed(write, prepare, body, dry_run=dry_run)


@router.post(
    "/docs/{id}/renew",
    **operation(
        "Draft a renewal of a declaration",
        body=body_of(DocDraftInput),
        answers={200: DocDraftResult, 201: DocDraftResult},
        errors=_WRITE,
        preview=True,
    ),
)
def post_renewal(received: JsonWrite, doc_id: RecordId, dry_run: DryRun) -> Response:
    """Files a draft from the records as they are now; once it is issued, it names the declaration that it renews.

    The earlier declaration stays until its last day, or until it is withdrawn.
    """
    write, body = received.admitted()
    sent = parse_body(DocDraftInput, body)

    def prepare(conn: Connection) -> Prepared:
        lang, rulesets = sent.lang, write.service.rulesets
        return documents.prepare_renewal(
            conn, write.actor, doc_id, reference=sent.reference, lang=lang, rulesets=rulesets
        )

    return _filed(write, prepare, body, dry_run=dry_run)


@router.post(
    "/doc-drafts/{id}/issue",
    **operation(
        "Issue a declaration",
        body=body_of(DocIssueInput),
        answers={200: DocResult, 201: DocResult},
        errors=(*_WRITE, "not_conform"),
        preview=True,
    ),
)
def post_issue(received: JsonWrite, draft_id: RecordId, dry_run: DryRun) -> Response:
    """Completes a draft, and stores the declaration with a PDF in each language; it is valid from then on.

    Refused where an open point has no text, and with `not_conform` where the SKU's own record contradicts conformity:
    PFAS above a limit in food contact, heavy metals above theirs, a format ban in force on `issued_on`. `details` name
    each fact. Neither content nor PDF ever changes.
    """
    write, body = received.admitted()
    sent = parse_body(DocIssueInput, body)
    fields = sent.model_dump(include={"on_behalf_of", "signatory", "function", "place", "issued_on"})
    fields |= {"expires_on": sent.expires_on or "", "languages": " ".join(sent.languages)}
    fields |= {f"{POINT}{key}": text for key, text in sent.points.items()}

    def issue(conn: Connection) -> JsonObject:
        actor, rulesets = write.actor, write.service.rulesets
        entry = documents.load_draft(conn, draft_id)
        _refuse_unasked(sent, documents.draft_as_answer(conn, actor, entry, rulesets=rulesets))
        if dry_run:
            doc = documents.would_issue(conn, actor, entry, fields, rulesets=rulesets)
        else:
            doc_id = documents.issue(conn, actor, draft_id, fields, rulesets=rulesets)
            doc = documents.one(conn, doc_id, actor.today)
        return {"dry_run": dry_run, "data": doc}

    show = partial(json_of, status=200 if dry_run else 201)
    try:
        return write.answer(fingerprint(body), issue, show, dry_run=dry_run)
    except Refused as refused:
        raise Refused([_of_body(issue) for issue in refused.issues], refused.code) from None


@router.post(
    "/docs/{id}/withdraw",
    **operation(
        "Withdraw a declaration", body=body_of(DocWithdrawInput), answers={200: DocResult}, errors=_WRITE, preview=True
    ),
)
def post_withdrawal(received: JsonWrite, doc_id: RecordId, dry_run: DryRun) -> Response:
    """Ends a declaration for a reason, which is kept: it covers its SKU no longer. Its record and PDF stay.

    The stable list `GET /docs` shows it as `rejected`.
    """
    write, body = received.admitted()
    sent = parse_body(DocWithdrawInput, body)

    def withdraw(conn: Connection) -> JsonObject:
        doc = documents.withdraw(conn, write.actor, doc_id, reason=sent.reason, dry_run=dry_run)
        return {"dry_run": dry_run, "data": doc}

    return write.answer(fingerprint(body), withdraw, json_of, dry_run=dry_run)


def _read(request: Request, presented: Presented, read: Callable[[Connection, Actor], T]) -> T:
    """Return what is read as the company of the caller, who is admitted first."""
    actor = Write.by_key(request, admit_in_thread(request, presented, "read")).actor
    with service_of(request).writes.company(actor.company_id) as conn:
        return read(conn, actor)


def _of_body(issue: Issue) -> Issue:
    """Return a fault of the issuing form under the name that its field has in the body."""
    field = issue.field
    place = f"points.{field.removeprefix(POINT)}" if field and field.startswith(POINT) else field
    return Issue(issue.code, issue.message, place)


def _refuse_unasked(sent: DocIssueInput, draft: DocDraft) -> None:
    """Refuse texts for points that the draft leaves to the records: they would be lost."""
    addable = {point.key for point in points_of_annex() if point.adds}
    asked = [point["key"] for point in draft["points"] if point["open"] or point["key"] in addable]
    unasked = [key for key in sent.points if key not in asked]
    sentence = Message("A text on this point would be lost; the draft takes one on {asked}.", asked=", ".join(asked))
    if unasked:
        raise Refused([Issue("unknown_field", sentence, f"points.{key}") for key in unasked])


def _filed(write: Write, prepare: Callable[[Connection], Prepared], body: Json, *, dry_run: bool) -> Response:
    """File the draft that is prepared in the transaction, and answer with it."""

    def file(conn: Connection) -> JsonObject:
        prepared = prepare(conn)
        if dry_run:
            return {"dry_run": True, "data": documents.prepared_as_answer(prepared, write.actor)}
        entry = documents.file(conn, write.actor, prepared)
        draft = documents.draft_as_answer(conn, write.actor, entry, rulesets=write.service.rulesets)
        return {"dry_run": False, "data": draft}

    show = partial(json_of, status=200 if dry_run else 201)
    return write.answer(fingerprint(body), file, show, dry_run=dry_run)


docs_router = APIRouter(prefix=f"{V1}/docs", tags=["Declarations"])


@docs_router.get("", **operation("List DoCs", answers={200: DocListResponse}, errors=READ_ERRORS, revalidated=True))
async def list_docs(request: Request, presented: Presented, limit: Limit = 50, offset: Offset = 0) -> Response:
    """A page of Declarations of Conformity, newest first: metadata only, no contents and no addresses of files.

    `status` is of the UTC day of the request: a valid DoC whose `expires_on` has passed reads as expired.
    """
    listing = conformity.page(service_of(request).clock.today(), limit, offset)
    return revalidated(request, await answer_page(request, presented, listing))
