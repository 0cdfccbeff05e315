"""Pages of declarations of conformity: those of the company by state, one with its PDFs, its renewal and withdrawal.

`services.conformity.documents` does the work, for the interface too (`api.conformity.routes`). A draft is issued below
/review.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID, uuid4

import orjson
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.service import Service, service_of
from api.pages.forms import Form, offset_of, origin_of, path_id, read_form
from api.pages.render import language_of, link, page, redirect, text
from api.pages.sessions import Approver, Editor, Session, Viewer
from schemas import normalise
from schemas.actors import Actor
from schemas.json_values import JsonObject
from schemas.messages import LANGUAGES, translate
from schemas.normalise import Unfit
from services.conformity import documents
from services.conformity.documents import Prepared
from services.review import compare
from warehouse import conformity
from warehouse.operate.sessions import Connection
from warehouse.review import entries

router = APIRouter(prefix="/documents")

PAGE_SIZE: Final = 50
VIEWS: Final = ("all", "drafts", "valid", "ending", "expired", "withdrawn")
_SOON_DAYS: Final = 90
_MOST_DAYS: Final = 36_500
_LONGEST: Final = {"reference": 200, "reason": 2_000}


@router.get("")
async def get_documents(request: Request, session: Viewer) -> Response:
    """List declarations, newest first; `show` is one of the views, `days` for those that end soon."""
    return await run_in_threadpool(_list, request, session)


@router.get("/{id}")
async def get_document(request: Request, session: Viewer) -> Response:
    """Show one declaration with its PDFs and what became of it, and the forms that renew and withdraw it."""
    return await run_in_threadpool(_one, request, session)


@router.post("/{id}/renew")
async def post_renewal(request: Request, session: Editor) -> Response:
    """Draft a renewal from the records as they are now, and lead to the draft."""
    form = await read_form(request, session)
    return await run_in_threadpool(_renew, request, session, form)


@router.post("/{id}/withdraw")
async def post_withdrawal(request: Request, session: Approver) -> Response:
    """Withdraw the declaration for the reason of the form."""
    form = await read_form(request, session)
    return await run_in_threadpool(_withdraw, request, session, form)


def _list(request: Request, session: Session) -> Response:
    service, asked = service_of(request), request.query_params
    view = asked.get("show", "all")
    view = view if view in VIEWS else "all"
    days = int(asked["days"]) if asked.get("days", "").isdecimal() and len(asked["days"]) <= 5 else _SOON_DAYS
    days = min(days, _MOST_DAYS)
    offset, found, total = offset_of(request), list[JsonObject](), 0
    with service.writes.company(session.company_id) as conn:
        if view == "drafts":
            waiting, total = entries.doc_drafts(conn, limit=PAGE_SIZE, offset=offset)
            found = [
                documents.draft_as_answer(conn, entry, now=service.clock.now(), rulesets=service.rulesets)
                for entry in waiting
            ]
        else:
            filters = conformity.filters(
                today=service.clock.today(),
                state=view if view in conformity.STATES else None,
                ends_within=days if view == "ending" else None,
            )
            found, total = listed(conn, filters, offset)
    return page(
        request,
        "documents.html",
        session=session,
        views=VIEWS,
        view=view,
        days=days,
        most_days=_MOST_DAYS,
        docs=found,
        total=total,
        offset=offset,
        size=PAGE_SIZE,
    )


def listed(conn: Connection, filters: dict[str, object], offset: int = 0) -> tuple[list[JsonObject], int]:
    """Return a page of declarations as the interface lists them, and how many there are."""
    row = conn.execute(conformity.page_of_register(PAGE_SIZE, offset), filters).fetchone()
    assert row is not None, "a page is one row"
    answer = orjson.loads(row[0])
    return answer["data"], answer["pagination"]["total"]


def _one(
    request: Request,
    session: Session,
    *,
    form: Form | None = None,
    faults: Sequence[tuple[str, str]] = (),
    status: int = 400,
) -> Response:
    service = service_of(request)
    with service.writes.company(session.company_id) as conn:
        doc = documents.one(conn, path_id(request), service.clock.now())
    return page(
        request,
        "document.html",
        session=session,
        status=status if faults else 200,
        doc=doc,
        once=str(uuid4()),
        languages_to_draft=languages(language_of(request)),
        given=form or Form(),
        faults=faults,
    )


def languages(lang: str) -> list[tuple[str, str]]:
    """Return the languages of a draft with their names in the reader's language."""
    return [(each, text(f"lang.{each}", lang)) for each in LANGUAGES]


def _renew(request: Request, session: Session, form: Form) -> Response:
    service, doc_id, lang = service_of(request), path_id(request), language_of(request)
    reference, faults = draft_fields(form, lang)
    if faults:
        return _one(request, session, form=form, faults=faults)

    def prepare(conn: Connection) -> Prepared:
        return documents.prepare_renewal(
            conn,
            doc_id,
            reference=reference,
            lang=draft_language(form, lang),
            now=service.clock.now(),
            rulesets=service.rulesets,
        )

    try:
        entry_id = filed(request, session, form, prepare)
    except compare.Conflict as conflict:
        return _one(request, session, form=form, faults=[("", translate(str(conflict), lang))], status=409)
    return redirect(link(request, f"/review/{entry_id}"))


def draft_fields(form: Form, lang: str) -> tuple[str | None, list[tuple[str, str]]]:
    """Return the reference of a form that drafts, None where it is empty, and its fault."""
    given = form.get("doc_reference", "").strip()
    try:
        return normalise.text(given, min_length=1, max_length=_LONGEST["reference"]) if given else None, []
    except Unfit:
        return None, [("doc_reference", text("documents.reference.wrong", lang))]


def draft_language(form: Form, lang: str) -> str:
    """Return the language that a form chooses for a draft, else the reader's."""
    chosen = form.get("draft_lang", lang)
    return chosen if chosen in LANGUAGES else lang


def filed(request: Request, session: Session, form: Form, prepare: Callable[[Connection], Prepared]) -> UUID:
    """File the draft that `prepare` draws from a session; once for a form, however often it is sent."""
    service: Service = service_of(request)
    origin = origin_of(request, session)
    key = hashlib.sha256(f"{session.user_id}/{request.url.path}/{form.get('once', '')}".encode()).digest()

    def work(conn: Connection) -> UUID:
        prepared = prepare(conn)
        now = service.clock.now()
        return documents.file(conn, Actor(session.company_id, origin, now), prepared, filing_key=key).id

    return service.writes.run(session.company_id, work)


def _withdraw(request: Request, session: Session, form: Form) -> Response:
    service, doc_id, lang = service_of(request), path_id(request), language_of(request)
    origin, reason = origin_of(request, session), form.get("reason", "").strip()
    if not reason or len(reason) > _LONGEST["reason"]:
        key = "documents.reason.long" if reason else "documents.reason.needed"
        return _one(request, session, form=form, faults=[("reason", text(key, lang))])
    try:
        reason = normalise.text(reason, min_length=1, max_length=_LONGEST["reason"])
        service.writes.run(
            session.company_id,
            lambda conn: documents.withdraw(
                conn,
                Actor(session.company_id, origin, service.clock.now()),
                doc_id,
                reason=reason,
            ),
        )
    except Unfit as unfit:
        return _one(request, session, form=form, faults=[("reason", translate(unfit.message, lang))])
    except compare.Conflict as conflict:
        return _one(request, session, form=form, faults=[("", translate(str(conflict), lang))], status=409)
    return redirect(link(request, f"/documents/{doc_id}"))
