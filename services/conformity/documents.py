"""Declarations of conformity from draft to withdrawal: what REST and pages do to them.

    prepare     files a draft for one item, with its content in every language; nothing is issued
    file_many   files one for each of many items that has none
    prepare_renewal  files a draft that will take the place of an earlier declaration
    issue       makes the draft a declaration, by accepting its entry of the review queue
    withdraw    ends a declaration for a stated reason; its record and PDF stay

A draft is an entry of the review queue (`services.review`). Everything happens in the caller's transaction.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import Final, NamedTuple, cast
from uuid import UUID

from compliance import conformity
from compliance.ruleset import RuleSet
from schemas import texts
from schemas.actors import Actor
from schemas.conformity import Doc, DocDraft
from schemas.issues import Issue
from schemas.json_values import JsonMapping, JsonObject
from schemas.messages import ORIGINAL, Message
from schemas.refusals import NotThere, Refused
from schemas.skus.types import SkuListItem
from services.conformity import drafts, issuing
from services.review import decide, entries
from services.review.compare import conflict
from services.skus import detail
from warehouse import conformity as declarations
from warehouse import review
from warehouse.audit import ledger
from warehouse.operate.sessions import Connection
from warehouse.review import Entry
from warehouse.rules import Rulesets
from warehouse.skus import archive
from warehouse.skus import queries as skus

KIND: Final = "doc_draft"


class Prepared(NamedTuple):
    """A draft as it is filed: for which item, with which content, and what it renews."""

    sku_id: UUID
    sku_code: str
    draft: drafts.Draft
    payload: dict[str, object]


def prepare(
    conn: Connection,
    actor: Actor,
    sku_id: UUID,
    *,
    reference: str | None,
    lang: str,
    rulesets: Rulesets,
    renews: UUID | None = None,
) -> Prepared:
    """Draw a draft for one item from the records, in each language that is offered, at the same instant.

    Raises `NotThere`, and `Refused` for a language that is not offered.
    """
    conformity.load_texts(lang)
    code = skus.code_of(conn, sku_id)
    if code is None:
        raise NotThere(f"There is no SKU {sku_id}.")
    own_reference, rules = texts.plain(reference or f"DoC-{code}"), rulesets.active(conn)
    by_language = {
        language: drafts.draft(conn, actor, sku_id, reference=own_reference, lang=language, rules=rules)
        for language in conformity.offered_languages()
    }
    draft, verdict = by_language.pop(lang)
    payload: dict[str, object] = {
        "reference": own_reference,
        "lang": lang,
        "draft": draft.as_dict(),
        "translations": {language: translation.as_dict() for language, (translation, _) in by_language.items()},
        issuing.AGAINST: bool(verdict.against),
    }
    return Prepared(sku_id, code, draft, payload | ({"renews": str(renews)} if renews else {}))


def prepare_renewal(
    conn: Connection, actor: Actor, doc_id: UUID, *, reference: str | None, lang: str | None, rulesets: Rulesets
) -> Prepared:
    """Draw a draft that renews a declaration, in its language where that is offered, else in English.

    Raises as `prepare`, and `Refused` without an item. The earlier declaration stays as it is: it ends by itself, or is
    withdrawn.
    """
    doc = declarations.lock(conn, doc_id)
    if doc is None:
        raise NotThere(f"There is no declaration {doc_id}.")
    if doc.sku_id is None or skus.code_of(conn, doc.sku_id) is None:
        raise conflict(Message("This declaration names no item. Prepare a draft for the item that it is about."))
    issued = declarations.of_doc(conn, doc_id)
    former = str(issued.content["lang"]) if issued else ORIGINAL
    lang = lang or (former if former in conformity.offered_languages() else ORIGINAL)
    if reference is None and doc.reference:
        reference = f"{doc.reference}-{actor.today}"
    return prepare(conn, actor, doc.sku_id, reference=reference, lang=lang, rulesets=rulesets, renews=doc_id)


def file(conn: Connection, actor: Actor, prepared: Prepared, *, filing_key: bytes | None = None) -> Entry:
    """File a draft for review; once for a `filing_key`."""
    return entries.file(conn, actor, KIND, prepared.payload, sku_id=prepared.sku_id, filing_key=filing_key)


MOST_DRAFTED: Final = 100
"""The most items for which drafts are prepared in one go."""


def file_many(
    conn: Connection, actor: Actor, items: Sequence[SkuListItem], form_key: str, *, lang: str, rulesets: Rulesets
) -> int:
    """File a draft for each item that has neither a valid declaration nor a waiting draft; return how many.

    For a `form_key` an item has one. Raises `Refused` for more than `MOST_DRAFTED` items, or none.
    """
    if not 0 < len(items) <= MOST_DRAFTED:
        raise conflict(Message("Choose 1 to {most} items for which drafts are prepared.", most=MOST_DRAFTED))
    filed = 0
    for item in items:
        sku_id = UUID(str(item["id"]))
        if item["doc_status"] != "valid" and not review.doc_drafts(conn, sku_id=sku_id, limit=1)[1]:
            prepared = prepare(conn, actor, sku_id, reference=None, lang=lang, rulesets=rulesets)
            file(conn, actor, prepared, filing_key=sha256(f"{form_key}/{sku_id}".encode()).digest())
            filed += 1
    return filed


def load_draft(conn: Connection, entry_id: UUID) -> Entry:
    """Return the entry of a draft, in any state. Raises `NotThere`, for entries of another kind too."""
    entry = entries.load_entry(conn, entry_id)
    if entry.kind != KIND:
        raise NotThere
    return entry


def issue(
    conn: Connection,
    actor: Actor,
    entry_id: UUID,
    fields: Mapping[str, str],
    *,
    rulesets: Rulesets,
    reason: str | None = None,
) -> UUID:
    """Issue a draft with the fields of `schemas.conformity`; return the id of the declaration.

    Raises `NotThere`, `Refused`: where it is decided already, `not_conform` where the record contradicts conformity,
    else for the faults of the form.
    """
    load_draft(conn, entry_id)
    decide.accept(conn, actor, entry_id, rulesets=rulesets, reason=reason, issued_with=fields)
    issued = declarations.of_entry(conn, entry_id)
    assert issued is not None, "an accepted draft is issued"
    return issued.doc_id


def would_issue(conn: Connection, actor: Actor, entry: Entry, fields: Mapping[str, str], *, rulesets: Rulesets) -> Doc:
    """Return the declaration that `issue` would make of a draft, without an id. Raises as `issue`."""
    if entry.state != "open":
        raise conflict(Message("This entry was decided already."))
    completed = issuing.complete(conn, actor, entry, fields, rulesets=rulesets)
    form = completed.form
    of_draft = {
        "sku_id": entry.sku_id,
        "sku_code": entry.sku_code,
        "sku_name": entry.sku_name,
        "reference": completed.reference,
        "state": "valid",
        "issued_on": form.issued_on,
        "expires_on": form.expires_on,
        "days_left": None if form.expires_on is None else (form.expires_on - actor.today).days,
        "languages": list(completed.pdfs),
        "renews": entry.payload.get("renews"),
        "created_at": actor.now,
        "updated_at": actor.now,
    }
    return cast(Doc, dict.fromkeys(Doc.__annotations__) | of_draft)


MOST_AT_ONCE: Final = 20
"""The most drafts that are issued together with one: each has its PDFs made."""
_LOOKED_AT: Final = 200
"""How many waiting drafts are looked at for those like one."""


def alike(conn: Connection, entry: Entry) -> list[Entry]:
    """Return the other waiting drafts that differ from one in nothing that matters, at most `MOST_AT_ONCE`.

    What may differ are the number, and code, name and GTIN of the item.
    """
    if (
        entry.kind != KIND
        or "draft" not in entry.payload
        or drafts.is_outdated(drafts.Draft.from_stored(entry.payload["draft"]))
    ):
        return []
    waiting, _ = review.doc_drafts(conn, limit=_LOOKED_AT)
    content = _content(entry)
    others = (other for other in waiting if other.id != entry.id and "draft" in other.payload)
    return [other for other in others if _content(other) == content][:MOST_AT_ONCE]


def _content(entry: Entry) -> tuple[object, ...]:
    """Return what a draft says, without what is the item's own."""
    draft = drafts.Draft.from_stored(entry.payload["draft"])
    words = conformity.load_texts(draft.lang) if draft.lang in conformity.offered_languages() else {}
    own = tuple(f"{words[name]}: " for name in ("sku_code", "name", "gtin") if name in words)
    points = [
        (point.heading, [line for line in point.lines if not line.startswith(own)], point.notes)
        for point in draft.points
        if point.key not in ("number", "identification")
    ]
    return draft.lang, points, entry.payload.get(issuing.AGAINST), sorted(entry.payload.get("translations", ()))


def issue_alike(
    conn: Connection,
    actor: Actor,
    entry: Entry,
    chosen: Collection[str],
    fields: Mapping[str, str],
    *,
    rulesets: Rulesets,
    reason: str | None = None,
) -> None:
    """Issue the chosen drafts of those that are `alike`, by their ids, with the same fields.

    Raises `Refused` where one of them cannot be issued, naming its item, or is none of them: then none is.
    """
    others = {str(other.id): other for other in alike(conn, entry)}
    for entry_id in dict.fromkeys(chosen):
        if (other := others.get(entry_id)) is None:
            raise conflict(Message("A draft that you chose is no longer like this one. Look at them again."))
        try:
            issue(conn, actor, other.id, fields, rulesets=rulesets, reason=reason)
        except Refused as refused:
            sentence = Message("The draft for {sku_code} cannot be issued with this.", sku_code=other.sku_code or "–")
            raise conflict(sentence, refused.issues) from None


def withdraw(conn: Connection, actor: Actor, doc_id: UUID, *, reason: str, dry_run: bool = False) -> Doc:
    """Withdraw a declaration: it covers its item no longer. Return it as it is then, or with `dry_run` would be.

    Raises `NotThere`, and `Refused` where it is withdrawn already or was rejected.
    """
    doc = declarations.lock(conn, doc_id)
    if doc is None:
        raise NotThere(f"There is no declaration {doc_id}.")
    if doc.status == "rejected":
        raise conflict(Message("This declaration was withdrawn or rejected already; prepare a new one for the item."))
    if not dry_run:
        declarations.withdraw(conn, doc_id, reason=reason, at=actor.now)
        before = {"status": doc.status}
        after = {"status": "rejected", "withdrawn_reason": reason}
        ledger.enter(conn, actor.with_reason(reason), "doc.updated", doc_id, before=before, after=after)
        return one(conn, doc_id, actor.today)
    withdrawn: Doc = {**one(conn, doc_id, actor.today), "state": "withdrawn", "withdrawn_reason": reason}
    return {**withdrawn, "withdrawn_at": actor.now, "updated_at": actor.now}


def one(conn: Connection, doc_id: UUID, today: date) -> Doc:
    """Return a declaration as it is listed. Raises `NotThere`."""
    doc = declarations.find_doc(conn, doc_id, today=today)
    if doc is None:
        raise NotThere(f"There is no declaration {doc_id}.")
    return doc


def draft_as_answer(conn: Connection, actor: Actor, entry: Entry, *, rulesets: Rulesets) -> DocDraft:
    """Return a filed draft as its answer: what it says, and what is open.

    One that cannot be issued has no points: an old one with neither content nor item, or with outdated texts.
    """
    issued = declarations.of_entry(conn, entry.id)
    filed = {
        "id": entry.id,
        "sku_id": entry.sku_id,
        "sku_code": entry.sku_code,
        "state": "issued" if issued else "open" if entry.state == "open" else "rejected",
        "doc_id": issued and issued.doc_id,
        "drafted_by": entry.filed_by_name,
        "drafted_at": entry.filed_at,
    }
    try:
        return _draft(filed, issuing.draft_of(conn, actor, entry, rulesets=rulesets), entry.payload)
    except Refused:
        reference = str(entry.payload.get("reference") or "")
        empty: JsonObject = {"lang": "en", "languages": [], "renews": None, "open_points": 0, "points": []}
        return cast(DocDraft, filed | {"reference": reference} | empty)


def prepared_as_answer(prepared: Prepared, actor: Actor) -> DocDraft:
    """Return a draft that was not filed in the form of the answer, without an id."""
    filed = {
        "id": None,
        "sku_id": prepared.sku_id,
        "sku_code": prepared.sku_code,
        "state": "open",
        "doc_id": None,
        "drafted_by": actor.origin.actor_name,
        "drafted_at": actor.now,
    }
    return _draft(filed, prepared.draft, prepared.payload)


def _draft(filed: JsonObject, draft: drafts.Draft, payload: JsonMapping) -> DocDraft:
    open_keys = {point.key for point in drafts.open_points(draft)}
    points = [
        {
            "key": point.key,
            "number": point.number,
            "heading": point.heading,
            "lines": [*(point.lines if point.complete else point.lines[:-1]), *point.notes],
            "open": point.key in open_keys,
            "source": point.source,
        }
        for point in draft.points
        if point.key != drafts.SIGNATURE
    ]
    content = {
        "reference": draft.reference,
        "lang": draft.lang,
        "languages": [draft.lang, *payload.get("translations", {})],
        "renews": payload.get("renews"),
        "open_points": len(open_keys),
        "points": points,
    }
    return cast(DocDraft, filed | content)


_AT_ONCE: Final = 500
"""Declarations whose items are read by one statement."""


@dataclass(frozen=True, slots=True)
class Contradicted:
    """One valid declaration that was issued here, its item, and the facts for which it would be refused today."""

    doc_id: UUID
    reference: str | None
    issued_on: date | None
    sku_id: UUID
    sku_code: str
    facts: tuple[Issue, ...]


def find_contradicted(conn: Connection, rules: RuleSet, today: date) -> Iterator[Contradicted]:
    """Yield those of the session's company, the newest first; the items of some of them may be archived."""
    valid = declarations.valid_of_items(conn, today)
    for first in range(0, len(valid), _AT_ONCE):
        part = valid[first : first + _AT_ONCE]
        ids = list({str(doc.sku_id) for doc in part})
        rows = {row["id"]: row for row, _ in archive.of_ids(conn, ids, today)}
        for doc in part:
            row = rows.get(str(doc.sku_id))
            facts = conformity.against(detail.record(row), rules, on=today) if row else []
            if row and facts:
                yield Contradicted(doc.doc_id, doc.reference, doc.issued_on, doc.sku_id, row["sku_code"], tuple(facts))
