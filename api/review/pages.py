"""Review queue pages: the waiting entries, one entry as a comparison, and the decision.

`services.review` carries out a decision; this module shows the entry and asks. The page reports a conflict; in that
case nothing was written.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Final, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.audit import words
from api.conformity import pages as issuing
from api.http import stored_files
from api.http.service import service_of
from api.pages.forms import Form, SentForm, offset_of, path_id, write_of
from api.pages.refusals import PageRefused
from api.pages.render import PANELS, language_of, link, page, redirect, said, text
from api.pages.sessions import Approver, Session, Viewer
from compliance.annex_v import translated_reason
from schemas import texts
from schemas.conformity import POINT, SIGNATORY
from schemas.files import visible
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.refusals import NotThere, Refused, require
from schemas.vocabularies import CONTENTS
from services.conformity import documents
from services.conformity.issuing import suggestions
from services.review import compare, decide, entries
from warehouse import review
from warehouse.files import key_of
from warehouse.operate.objects import NoSuchObject
from warehouse.operate.sessions import Connection
from warehouse.review import Entry, State

router = APIRouter(prefix="/review")

PAGE_SIZE: Final = 50
_LONGEST: Final = 2_000
"""Characters of a reason or a note that are used."""
_DOWNLOAD_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cache-Control": "no-store",
}
"""Headers of a file from an outsider: it is downloaded and never shown as a page of ours."""


@router.get("")
def get_queue(request: Request, session: Viewer) -> Response:
    """List the waiting entries, the oldest first; with `?state=decided` the decided ones, the latest first."""
    state: State = "decided" if request.query_params.get("state") == "decided" else "open"
    offset = offset_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        listed, total = review.page(conn, state=state, limit=PAGE_SIZE, offset=offset)
    return page(
        request,
        "review_queue.html",
        session=session,
        state=state,
        entries=listed,
        total=total,
        offset=offset,
        size=PAGE_SIZE,
    )


ANSWERS: Final = 200
"""Answers of suppliers that a page judges, the longest waiting first."""
_BUSY_SECONDS: Final = 20.0
"""From then on a click accepts no further answer; the page says how many wait."""


class _Disputed(NamedTuple):
    """A contradiction and the answers that have it."""

    dispute: compare.Dispute
    entries: list[Entry]


@router.get("/answers")
def get_answers(request: Request, session: Viewer) -> Response:
    """Show what waiting answers of suppliers contradict, one under another; all others are accepted by one click."""
    return _answers_page(request, session)


@router.post("/answers")
def post_answers(request: Request, session: Approver, form: SentForm) -> Response:
    """Accept the answers that agree with the record or fill it, and those whose disputes are decided, each by itself.

    Each is a transaction of its own: what was accepted stays, whatever happens after it.
    """
    write, service = write_of(request, session), service_of(request)
    decided = {}
    for name in form:
        choice, _, key = name.partition(".")
        reason = texts.from_form(form.get(f"reason.{key}", ""))[:_LONGEST]
        if choice == "choice" and form[name] in ("take", "keep"):
            if not reason:
                faults = [(f"reason.{key}", text("review.reason.needed", language_of(request)))]
                return _answers_page(request, session, form=form, faults=faults)
            decided[key] = decide.PartDecision(form[name] == "take", reason)
    with service.writes.company(session.company_id) as conn:
        waiting, _ = review.answers(conn, supplier_name=_supplier_name(request), limit=ANSWERS)
    accepted, until = 0, monotonic() + _BUSY_SECONDS
    for entry in waiting:
        if monotonic() > until:
            break
        accept = partial(
            decide.accept_answer, actor=write.actor, entry_id=entry.id, decided=decided, rulesets=service.rulesets
        )
        try:
            accepted += write.do(accept)
        except Refused:
            continue  # another person has decided, or the plan is full: it is as it was, and shown again
    return redirect(link(request, "/review/answers", supplier=_supplier_name(request), accepted=accepted))


def _supplier_name(request: Request) -> str | None:
    return texts.from_form(request.query_params.get("supplier", ""))[:_LONGEST] or None


def _answers_page(
    request: Request, session: Session, *, form: Form | None = None, faults: Sequence[tuple[str, str]] = ()
) -> Response:
    service, lang, supplier_name = service_of(request), language_of(request), _supplier_name(request)
    with service.writes.company(session.company_id) as conn:
        waiting, total = review.answers(conn, supplier_name=supplier_name, limit=ANSWERS)
        actor = write_of(request, session).actor
        judgements = compare.judge(conn, actor, waiting, rulesets=service.rulesets)
    disputed: dict[str, _Disputed] = {}
    for judgement in judgements:
        for dispute in judgement.disputes if not judgement.against else ():
            disputed.setdefault(dispute.key, _Disputed(dispute, [])).entries.append(judgement.entry)
    return page(
        request,
        "review_answers.html",
        session=session,
        supplier_name=supplier_name,
        own_path=link(request, "/review/answers", supplier=supplier_name),
        accepted=request.query_params.get("accepted", ""),
        total=total,
        agreeing=sum(not judgement.disputes and not judgement.against for judgement in judgements),
        disputed=[
            {
                "key": key,
                "entries": entries,
                "part": words.part_in_words(dispute.line, lang),
                "rows": words.change_rows(dispute.changes, (), lang),
            }
            for key, (dispute, entries) in disputed.items()
        ],
        apart=[(judgement.entry, _sentences(judgement.against, lang)) for judgement in judgements if judgement.against],
        given=form or Form(),
        faults=faults,
    )


@router.get("/{id}")
def get_entry(request: Request, session: Viewer) -> Response:
    """Show one entry: now and then, field by field, with the grade before and after."""
    return _entry_page(request, session)


@router.get("/{id}/files/{file_id}")
def get_file(request: Request, session: Viewer) -> Response:
    """Return a file that came with the entry, for download."""
    service, entry_id, file_id = service_of(request), path_id(request), path_id(request, "file_id")
    with service.writes.company(session.company_id) as conn:
        attached = {file.id: file for file in review.of_entry(conn, entry_id)}
    file = require(attached.get(file_id))
    try:
        data = stored_files.read(service.objects, key_of(session.company_id, file_id), file.sha256)
    except NoSuchObject:
        raise NotThere from None
    disposition = f"attachment; filename*=UTF-8''{quote(visible(file.filename), safe='')}"
    return Response(data, media_type=file.media_type, headers={**_DOWNLOAD_HEADERS, "Content-Disposition": disposition})


@router.post("/{id}")
def post_decision(request: Request, session: Approver, form: SentForm) -> Response:
    """Accept or reject; show the entry after the decision, or with what prevents it."""
    write, entry_id, rulesets = write_of(request, session), path_id(request), service_of(request).rulesets
    version = form.get("seen_version", "")
    if form.get("decision") not in ("accept", "reject") or not (version == "" or version.isdecimal()):
        raise PageRefused(400, "refused.unreadable")
    reason, note = (texts.from_form(form.get(name, ""))[:_LONGEST] or None for name in ("reason", "note"))

    if form["decision"] == "reject" and not (reason or note):
        return _entry_page(request, session, form=form, is_unexplained=True)

    def decide_on(conn: Connection) -> Entry:
        if form["decision"] == "reject":
            return decide.reject(conn, write.actor, entry_id, rulesets=rulesets, reason=reason, note=note)
        fields = {**form, "languages": " ".join(form.getlist("languages"))}
        entry = decide.accept(
            conn,
            write.actor,
            entry_id,
            rulesets=rulesets,
            reason=reason,
            seen_version=int(version[:9]) if version else None,
            parts_compared=form.get("parts_compared") == "yes",
            issued_with=fields,
        )
        if also := form.getlist("also"):
            documents.issue_alike(conn, write.actor, entry, also, fields, rulesets=rulesets, reason=reason)
        return entry

    try:
        write.do(decide_on)
    except Refused as refused:
        return _entry_page(request, session, form=form, refused=refused)
    return redirect(link(request, f"/review/{entry_id}"))


def _entry_page(
    request: Request,
    session: Session,
    *,
    form: Form | None = None,
    refused: Refused | None = None,
    is_unexplained: bool = False,
) -> Response:
    """Show the entry; with `form` as it was sent and why nothing was written: a rejection says its reason."""
    service, lang, entry_id = service_of(request), language_of(request), path_id(request)
    conflict = refused.issues if refused and compare.is_conflict(refused) else ()
    against = refused.issues if refused and refused.code == "not_conform" else ()
    faults = refused.issues if refused and not conflict and not against else ()
    with service.writes.company(session.company_id) as conn:
        entry = entries.load_entry(conn, entry_id)
        attached = review.of_entry(conn, entry.id)
        comparison = _comparison(request, session, conn, entry)
        issuing_form = issuing.form_of_entry(request, session, conn, entry)
        is_issued_here = issuing_form is not None and entry.state == "open"
        defaults = suggestions(conn, entry) if is_issued_here else {}
        alike = documents.alike(conn, entry) if is_issued_here else []
        panels = _panels(request, session, conn, entry) if is_issued_here else []
        rules = service.rulesets.active(conn)
    impossible = _sentences(comparison.refusal, lang) if comparison else []
    is_compared = comparison is not None and not impossible
    return page(
        request,
        "review_entry.html",
        session=session,
        status=409 if conflict or against else 400 if is_unexplained else None,
        entry=entry,
        attached=attached,
        types=CONTENTS[lang],
        comparison=comparison if is_compared else None,
        refused=impossible,
        **_parts_shown(comparison, entry, lang, is_compared=is_compared),
        rows=_rows(comparison, lang) if comparison else [],
        payload=[] if is_compared else words.payload_rows(entry.kind, entry.payload, lang),
        given=form or Form(defaults),
        panels=panels,
        alike=[(str(other.id), f"{other.sku_name or '–'} ({other.sku_code or '–'})") for other in alike],
        gaps=_gaps(form or defaults, issuing_form, lang) if is_issued_here else [],
        issue=issuing_form,
        further=[
            (language, text(f"lang.{language}", lang)) for language in (issuing_form.further if issuing_form else ())
        ],
        faults=[("reason", text("review.reason.needed", lang))]
        if is_unexplained
        else issuing.faults_of_form(faults, issuing_form, lang),
        fault_title="review.not_rejected" if is_unexplained else "issuing.refused",
        conflict=_sentences(conflict, lang),
        against=issuing.sentences_of(against or (issuing_form.verdict.against if issuing_form else ()), lang),
        open_points=issuing.sentences_of(issuing_form.verdict.open if issuing_form else (), lang),
        is_refused=bool(against),
        reason=partial(words.grade_reason, lang=lang, rules=rules),
        ban=partial(translated_reason, rules=rules, lang=lang),
        warnings=[said(warning.message, lang) for warning in comparison.warnings] if comparison else [],
    )


def _panels(request: Request, session: Session, conn: Connection, entry: Entry) -> list[tuple[str, JsonObject]]:
    """Return what other subjects show of a draft's item."""
    actor = write_of(request, session).actor
    return [(template, fill(conn, actor, entry.sku_id)) for template, fill in PANELS["draft"] if entry.sku_id]


def _gaps(filled: Mapping[str, str], form: issuing.IssuingForm | None, lang: str) -> list[tuple[str, str]]:
    """Return the inputs of an issuing form that are needed and that nobody has filled in yet, by name and label."""
    needed = [point for point in form.points if not point.complete] if form else []
    points = [(f"{POINT}{point.key}", f"{point.number}. {point.heading}") for point in needed]
    signed = [(name, text(f"issuing.{name}", lang)) for name in SIGNATORY if name != "on_behalf_of"]
    return [(name, label) for name, label in (*points, *signed) if not filled.get(name, "").strip()]


def _parts_shown(comparison: compare.Comparison | None, entry: Entry, lang: str, *, is_compared: bool) -> JsonObject:
    """Return what the page shows of the parts that an entry is about: those that are gone beside a comparison alone."""
    if comparison is None:
        return {"asked": [], "gone": [], "facts": [], "reasons": []}
    articles = entry.payload.get("articles") or {}
    return {
        "asked": words.asked_rows(comparison.asked, articles, lang),
        "gone": words.gone_rows(entry.payload, comparison.asked, lang) if is_compared else [],
        "facts": words.fact_names(lang),
        "reasons": _reasons(comparison, lang),
    }


def _rows(comparison: compare.Comparison, lang: str) -> list[words.ChangeRow]:
    """Return what the entry changes, each part by its type and material."""
    parts = words.parts_in_words(comparison.parts, comparison.materials, lang)
    return words.change_rows(comparison.changes, parts, lang)


def _reasons(comparison: compare.Comparison, lang: str) -> list[tuple[str, str, bool]]:
    """Return each part that contradicted the record, why it was decided so, and whether the record was kept."""
    parts = {part.id: part.asked or part.now for part in comparison.asked}
    return [
        (words.part_in_words(facts, lang) if (facts := parts.get(part)) else part, why, part in comparison.kept)
        for part, why in comparison.reasons
    ]


def _comparison(request: Request, session: Session, conn: Connection, entry: Entry) -> compare.Comparison | None:
    """Return what accepting an open entry would change, or what was decided; None where the entry writes no SKU."""
    if entry.decided:
        return compare.Comparison.from_stored(entry.decided)
    if entry.state != "open" or not compare.writes_sku(entry):
        return None
    return compare.compare(conn, write_of(request, session).actor, entry, rulesets=service_of(request).rulesets)


def _sentences(issues: Sequence[Issue], lang: str) -> list[str]:
    """Return what prevents the decision, sentence by sentence in the person's language."""
    return [said(sentence, lang) for sentence in dict.fromkeys(issue.message for issue in issues)]
