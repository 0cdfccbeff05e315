"""Declarations of conformity from draft to withdrawal: what REST and pages do to them.

    prepare     files a draft for one item, with its content in every language; nothing is issued
    prepare_renewal  files a draft that will take the place of an earlier declaration
    issue       makes the draft a declaration, by accepting its entry of the review queue
    withdraw    ends a declaration for a stated reason; its record and PDF stay

A draft is an entry of the review queue (`services.review`). Everything happens in the caller's transaction.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final, cast
from uuid import UUID

import orjson

from compliance import conformity
from compliance.ruleset import RuleSet
from schemas import texts
from schemas.actors import Actor, Origin
from schemas.issues import Issue
from schemas.messages import LANGUAGES, Message
from schemas.refusals import NotThere
from services.conformity import drafts, issuing
from services.review import decide, entries
from services.review.compare import Conflict
from services.skus import detail
from warehouse import conformity as declarations
from warehouse.audit import ledger
from warehouse.operate.sessions import Connection
from warehouse.review.entries import Entry
from warehouse.rules import Rulesets
from warehouse.skus import archive
from warehouse.skus import queries as skus

KIND: Final = "doc_draft"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A draft as it is filed: for which item, with which content, and what it renews."""

    sku_id: UUID
    sku_code: str
    draft: drafts.Draft
    payload: dict[str, object]


def prepare(
    conn: Connection,
    sku_id: UUID,
    *,
    reference: str | None,
    lang: str,
    now: datetime,
    rulesets: Rulesets,
    renews: UUID | None = None,
) -> Prepared:
    """Draw a draft for one item from the records, in each language at the same instant. Raises `NotThere`."""
    code = skus.code_of(conn, sku_id)
    if code is None:
        raise NotThere(f"There is no SKU {sku_id}.")
    named, rules = texts.plain(reference or f"DoC-{code}"), rulesets.active(conn)
    drawn = {each: drafts.draft(conn, sku_id, reference=named, lang=each, now=now, rules=rules) for each in LANGUAGES}
    made = drawn.pop(lang)
    payload: dict[str, object] = {
        "reference": named,
        "lang": lang,
        "draft": made.draft.as_dict(),
        "translations": {each: translation.draft.as_dict() for each, translation in drawn.items()},
        issuing.AGAINST: bool(made.verdict.against),
    }
    return Prepared(sku_id, code, made.draft, payload | ({"renews": str(renews)} if renews else {}))


def prepare_renewal(
    conn: Connection,
    doc_id: UUID,
    *,
    reference: str | None,
    lang: str | None,
    now: datetime,
    rulesets: Rulesets,
) -> Prepared:
    """Draw a draft that renews a declaration, in its language. Raises `NotThere`, and `Conflict` without an item.

    The earlier declaration stays as it is: it ends by itself, or is withdrawn.
    """
    doc = declarations.lock(conn, doc_id, today=now.date())
    if doc is None:
        raise NotThere(f"There is no declaration {doc_id}.")
    if doc.sku_id is None or skus.code_of(conn, doc.sku_id) is None:
        raise Conflict(Message("This declaration names no item. Prepare a draft for the item that it is about."))
    issued = declarations.of_doc(conn, doc_id)
    spoken = lang or (str(issued.content["lang"]) if issued else "en")
    named = reference or (f"{doc.reference}-{now:%Y-%m-%d}" if doc.reference else None)
    return prepare(conn, doc.sku_id, reference=named, lang=spoken, now=now, rulesets=rulesets, renews=doc_id)


def file(
    conn: Connection,
    actor: Actor,
    prepared: Prepared,
    *,
    filing_key: bytes | None = None,
) -> Entry:
    """File a draft for review; once for a `filing_key`."""
    return entries.file(
        conn,
        actor,
        KIND,
        prepared.payload,
        sku_id=prepared.sku_id,
        filing_key=filing_key,
    )


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

    Raises `NotThere`, `Conflict` where it is decided already, and `Refused`: `not_conform` where the record
    contradicts conformity, else for the faults of the form.
    """
    load_draft(conn, entry_id)
    decide.accept(conn, actor, entry_id, rulesets=rulesets, reason=reason, issued_with=fields)
    issued = declarations.of_entry(conn, entry_id)
    assert issued is not None, "an accepted draft is issued"
    return issued.doc_id


def would_issue(
    conn: Connection, entry_id: UUID, fields: Mapping[str, str], *, now: datetime, rulesets: Rulesets
) -> issuing.Completed:
    """Return what `issue` would make of a draft, and write nothing. Raises as `issue`."""
    entry = load_draft(conn, entry_id)
    if entry.state != "open":
        raise Conflict(Message("This entry was decided already."))
    return issuing.complete(conn, entry, fields, now=now, rulesets=rulesets)


def withdraw(
    conn: Connection,
    actor: Actor,
    doc_id: UUID,
    *,
    reason: str,
    dry_run: bool = False,
) -> declarations.Doc:
    """Withdraw a declaration: it covers its item no longer. Return the record as it was.

    Raises `NotThere`, and `Conflict` where it is withdrawn already or was rejected.
    """
    doc = declarations.lock(conn, doc_id, today=actor.now.date())
    if doc is None:
        raise NotThere(f"There is no declaration {doc_id}.")
    if doc.status == "rejected":
        raise Conflict(Message("This declaration was withdrawn or rejected already; prepare a new one for the item."))
    if not dry_run:
        declarations.withdraw(conn, doc_id, reason=reason, at=actor.now)
        ledger.enter(
            conn,
            Actor(actor.company_id, replace(actor.origin, reason=reason), actor.now),
            "doc.updated",
            doc_id,
            before={"status": doc.status},
            after={"status": "rejected", "withdrawn_reason": reason},
        )
    return doc


def one(conn: Connection, doc_id: UUID, now: datetime) -> dict[str, object]:
    """Return a declaration as it is listed. Raises `NotThere`."""
    row = conn.execute(declarations.one_query(), {"doc_id": doc_id, "today": now.date()}).fetchone()
    if row is None:
        raise NotThere(f"There is no declaration {doc_id}.")
    found: dict[str, object] = orjson.loads(row[0])
    return found


def draft_as_answer(conn: Connection, entry: Entry, *, now: datetime, rulesets: Rulesets) -> dict[str, object]:
    """Return a filed draft as its answer: what it says, and what is open.

    An old draft with neither content nor item has no points; it cannot be issued.
    """
    issued = declarations.of_entry(conn, entry.id)
    filed: dict[str, object] = {
        "id": entry.id,
        "sku_id": entry.sku_id,
        "sku_code": entry.sku_code,
        "state": "issued" if issued else "open" if entry.state == "open" else "rejected",
        "doc_id": issued and issued.doc_id,
        "drafted_by": entry.filed_by_name,
        "drafted_at": _instant(entry.filed_at),
    }
    try:
        return filed | _content(issuing.draft_of(conn, entry, now=now, rulesets=rulesets), entry.payload)
    except Conflict:
        reference = str(entry.payload.get("reference") or "")
        empty: dict[str, object] = {"lang": "en", "languages": [], "renews": None, "open_points": 0, "points": []}
        return filed | {"reference": reference} | empty


def prepared_as_answer(prepared: Prepared, origin: Origin, now: datetime) -> dict[str, object]:
    """Return a draft that was not filed in the form of the answer, without an id."""
    filed = {
        "id": None,
        "sku_id": prepared.sku_id,
        "sku_code": prepared.sku_code,
        "state": "open",
        "doc_id": None,
        "drafted_by": origin.actor_name,
        "drafted_at": _instant(now),
    }
    return filed | _content(prepared.draft, prepared.payload)


def _content(draft: drafts.Draft, payload: Mapping[str, object]) -> dict[str, object]:
    further = cast(dict[str, object], payload.get("translations", {}))
    asked = {point.key for point in drafts.open_points(draft)}
    points = [
        {
            "key": point.key,
            "number": point.number,
            "heading": point.heading,
            "lines": [*(point.lines if point.complete else point.lines[:-1]), *point.notes],
            "open": point.key in asked,
            "source": point.source,
        }
        for point in draft.points
        if point.key != drafts.SIGNATURE
    ]
    return {
        "reference": draft.reference,
        "lang": draft.lang,
        "languages": [draft.lang, *further],
        "renews": payload.get("renews"),
        "open_points": len(asked),
        "points": points,
    }


def _instant(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


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
