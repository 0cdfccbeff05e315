"""The review queue for the people who decide: what waits, one entry as a comparison, and the decision.

What a decision does is `pipelines.steps.review`; here it is shown and asked for. A conflict is told on the page, and
nothing was written then.
"""

from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api.errors import InvalidBody
from api.origin import acting
from api.pages import changes
from api.pages.forms import Form, posted
from api.pages.refusals import PageRefused
from api.pages.render import language_of, page
from api.pages.sessions import Session, SignedIn
from api.pages.texts import text
from api.parameters import OFFSET
from api.service import service_of
from pipelines.steps import review
from pipelines.steps.files import key_of
from pipelines.steps.review import files, proposed
from pipelines.steps.review.compare import REFUSED
from schemas import texts
from schemas.issues import Issue
from schemas.sentences import told
from schemas.technical_files import CONTENTS
from warehouse.sessions import Connection

router = APIRouter(prefix="/review")

PAGE_SIZE: Final = 50
_LONGEST_REASON: Final = 2_000
_SENT_AS: Final = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'",
                   "Cache-Control": "no-store"}  # fmt: skip
"""Of a file that somebody else has sent: kept and never shown as a page of ours."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the form says."""

    accepts: bool
    reason: str | None
    seen_version: int | None
    expires_on: date | None


@router.get("")
async def get_queue(request: Request, session: SignedIn) -> Response:
    """What waits, the longest first; with `?state=decided` what was decided, the latest first."""
    state = "decided" if request.query_params.get("state") == "decided" else "open"
    try:
        offset = OFFSET.of(request)
    except InvalidBody:
        offset = 0

    def read() -> tuple[list[review.Entry], int]:
        with service_of(request).writes.company(session.company_id) as conn:
            return review.entries(conn, state=state, limit=PAGE_SIZE, offset=offset)

    entries, total = await run_in_threadpool(read)
    return page(request, "review_queue.html", session=session, state=state, entries=entries, total=total,
                offset=offset, size=PAGE_SIZE)  # fmt: skip


@router.get("/{id}")
async def get_entry(request: Request, session: SignedIn) -> Response:
    """One entry: now and then, field by field, with the grade before and after."""
    return await run_in_threadpool(_shown, request, session)


@router.post("/{id}")
async def post_decision(request: Request, session: SignedIn) -> Response:
    """Accept or reject; the entry comes back as it then stands, or with what is in the way."""
    form = await posted(request, session)
    return await run_in_threadpool(_decided, request, session, form)


@router.get("/{id}/files/{file_id}")
async def get_file(request: Request, session: SignedIn) -> Response:
    """A file that came with the entry, to be kept and looked at."""
    entry_id, file_id = _id(request, "id"), _id(request, "file_id")

    def read() -> tuple[dict[str, Any], bytes]:
        service = service_of(request)
        with service.writes.company(session.company_id) as conn:
            held = {file["id"]: file for file in files.of_entry(conn, entry_id)}
        if file_id not in held:
            raise PageRefused(404, "refused.gone")
        return held[file_id], service.objects.get(key_of(session.company_id, file_id))

    file, data = await run_in_threadpool(read)
    disposition = f"attachment; filename*=UTF-8''{quote(file['filename'], safe='')}"
    return Response(data, media_type=file["media_type"], headers={**_SENT_AS, "Content-Disposition": disposition})


def _decided(request: Request, session: Session, form: Form) -> Response:
    service, entry_id = service_of(request), _id(request, "id")
    origin = acting(request, "user", str(session.user_id), session.email)
    decision = _decision(form)

    def work(conn: Connection) -> review.Entry:
        now = service.clock.now()
        if not decision.accepts:
            return review.reject(conn, session.company_id, entry_id, origin=origin, now=now, reason=decision.reason)
        return review.accept(
            conn, session.company_id, entry_id, origin=origin, now=now, rulesets=service.rulesets,
            reason=decision.reason, seen_version=decision.seen_version, expires_on=decision.expires_on,
        )  # fmt: skip

    try:
        service.writes.run(session.company_id, work)
    except review.EntryUnknown:
        raise PageRefused(404, "refused.gone") from None
    except review.Conflict as conflict:
        return _shown(request, session, conflict=conflict)
    return RedirectResponse(f"/review/{entry_id}?lang={language_of(request)}", 303)


def _decision(form: Form) -> Decision:
    """Raises `PageRefused` for what our form never sends."""
    version, day = form.get("seen_version", ""), form.get("expires_on", "")
    try:
        expires_on = date.fromisoformat(day) if day else None
    except ValueError:
        raise PageRefused(400, "review.no_day") from None
    if form.get("decision") not in ("accept", "reject") or not (version == "" or version.isdecimal()):
        raise PageRefused(400, "refused.unreadable")
    reason = texts.shown(form.get("reason", ""))[:_LONGEST_REASON]
    return Decision(form["decision"] == "accept", reason or None, int(version[:9]) if version else None, expires_on)


def _shown(request: Request, session: Session, *, conflict: review.Conflict | None = None) -> Response:
    service, lang, entry_id = service_of(request), language_of(request), _id(request, "id")
    comparison = None
    with service.writes.company(session.company_id) as conn:
        try:
            entry = review.entry(conn, entry_id)
        except review.EntryUnknown:
            raise PageRefused(404, "refused.gone") from None
        attached = files.of_entry(conn, entry.id)
        if entry.state == "open" and proposed.writes(entry):
            comparison = review.compare(
                conn, session.company_id, entry, now=service.clock.now(), rulesets=service.rulesets
            )  # fmt: skip
    rows = changes.told(comparison.changes, comparison.parts, lang) if comparison else []
    return page(
        request, "review_entry.html", session=session, status=409 if conflict else 200, entry=entry,
        attached=attached, types=CONTENTS[lang], comparison=comparison, rows=rows,
        payload=[_row(name, held, lang) for name, held in entry.payload.items() if name != "draft"],
        conflict=_sentences(str(conflict), conflict.issues, lang) if conflict else [],
        refused=_sentences(comparison.refused, comparison.issues, lang) if comparison and comparison.refused else [],
        warnings=[told(warning.message, lang) for warning in comparison.warnings] if comparison else [],
    )  # fmt: skip


def _row(name: str, held: object, lang: str) -> tuple[str, str]:
    """A member of what was filed in words; one that no table has a word for stays as it came."""
    try:
        named = text(f"review.payload.{name}", lang)
    except KeyError:
        named = name
    if name == "type" and isinstance(held, str):
        return named, CONTENTS[lang].get(held, held)
    return named, changes.value(held, None, lang)


def _sentences(message: str, issues: tuple[Issue, ...], lang: str) -> list[str]:
    """What is in the way, sentence by sentence in the person's language."""
    said = dict.fromkeys((REFUSED, *(issue.message for issue in issues)) if issues else (message,))
    return [told(sentence, lang) for sentence in said]


def _id(request: Request, name: str) -> UUID:
    try:
        return UUID(request.path_params[name])
    except ValueError:
        raise PageRefused(404, "refused.gone") from None
