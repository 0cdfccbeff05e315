"""Accepts or rejects an entry: the write, the state of the entry and of its request, and the ledger entry together.

Everything happens in the caller's transaction, which must not commit where one of these raises. Of two people who
decide at the same time the second finds the entry decided. Locks are taken in one order: request, entry, SKU.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from pipelines.writing import write
from schemas.actors import Actor
from schemas.messages import Message
from services.conformity import issuing
from services.review import compare as compare_review
from services.review import entries as entries_review
from services.review.compare import Comparison, Conflict, compare, comparison_of, conflict_of, load_current
from services.review.entries import load_entry
from services.skus.write import write_records
from services.suppliers import parts
from warehouse.audit import ledger
from warehouse.operate.sessions import Connection
from warehouse.review import entries
from warehouse.review.entries import Decision, Entry
from warehouse.rules import Rulesets
from warehouse.suppliers import enquiries, requests

_MAILED_AFTER: Final = timedelta(minutes=5)
"""How long a rejection waits for others to the same supplier: one mail names them all."""
_ALREADY_DECIDED: Final = {
    "replaced": Message("A newer answer has taken the place of this one. Decide on the newer one."),
    "accepted": Message("This entry was accepted already."),
    "rejected": Message("This entry was rejected already."),
}
_OTHER_PARTS: Final = Message(
    "A part is not what it was when it was asked about. Compare the two, and say that you have before you accept."
)


def accept(
    conn: Connection,
    actor: Actor,
    entry_id: UUID,
    *,
    rulesets: Rulesets,
    reason: str | None = None,
    seen_version: int | None = None,
    parts_compared: bool = False,
    issued_with: Mapping[str, str] | None = None,
) -> Entry:
    """Accept an open entry, do what it says, and return the entry after the decision.

    A supplier's answer and a proposal are written through the one write path, a draft becomes a valid declaration of
    conformity with the fields of the issuing form (`issued_with`), files become technical files. `origin` is the
    person; `seen_version` the version of the SKU that the person was shown; `parts_compared` says that the person
    has compared the parts that were asked about and are others now. Raises `NotThere`, `Conflict` and
    `Refused` as `issuing.issue`.
    """
    entry = _lock_open(conn, entry_id)
    writer = replace(actor.origin, reason=f"{entry.resource} {entry.id} accepted" + (f": {reason}" if reason else ""))
    comparison: Comparison | None = None
    if entry.sku_id is not None:
        compare_review.lock_present(conn, entry.sku_id)
    if compare_review.writes_sku(entry):
        comparison = _write_sku(
            conn,
            Actor(actor.company_id, writer, actor.now),
            entry,
            rulesets=rulesets,
            seen_version=seen_version,
            parts_compared=parts_compared,
        )
    elif entry.kind == "doc_draft":
        issuing.issue(conn, Actor(actor.company_id, writer, actor.now), entry, issued_with or {}, rulesets=rulesets)
    entries_review.accept(
        conn,
        Actor(actor.company_id, writer, actor.now),
        entry,
    )
    return _record_decision(
        conn,
        actor,
        entry,
        "accepted",
        reason=reason,
        request_state="closed",
        comparison=comparison,
    )


def reject(
    conn: Connection,
    actor: Actor,
    entry_id: UUID,
    *,
    rulesets: Rulesets,
    reason: str | None = None,
    note: str | None = None,
) -> Entry:
    """Reject an open entry: nothing of it is applied, and a supplier's request is open again.

    `reason` is for the ledger, `note` for the supplier. Raises `NotThere` and `Conflict`.
    """
    entry = _lock_open(conn, entry_id)
    comparison = (
        compare(conn, actor.company_id, entry, now=actor.now, rulesets=rulesets)
        if compare_review.writes_sku(entry)
        else None
    )
    if entry.request_id is not None:
        enquiries.add_rejected(conn, entry.request_id, due_at=actor.now + _MAILED_AFTER, at=actor.now)
    return _record_decision(
        conn,
        actor,
        entry,
        "rejected",
        reason=reason,
        note=note,
        request_state="open",
        comparison=comparison,
    )


def _lock_open(conn: Connection, entry_id: UUID) -> Entry:
    """Return the open entry, locked until the transaction ends. Raises `Conflict` for a decided one."""
    if (request_id := load_entry(conn, entry_id).request_id) is not None:
        requests.lock(conn, request_id)
    entries.lock(conn, entry_id)
    entry = load_entry(conn, entry_id)
    if entry.state != "open":
        raise Conflict(_ALREADY_DECIDED[entry.state])
    return entry


def _write_sku(
    conn: Connection,
    actor: Actor,
    entry: Entry,
    *,
    rulesets: Rulesets,
    seen_version: int | None,
    parts_compared: bool,
) -> Comparison:
    """Write what the entry says, and return what that changed."""
    record = compare_review.build_record(conn, entry, seen_version=seen_version)
    before = load_current(conn, entry.sku_id, rulesets, actor.now.date())
    asked = parts.asked_parts(conn, entry, before.detail["components"] if before else ())
    if any(part.differs for part in asked) and not parts_compared:
        raise Conflict(_OTHER_PARTS)
    try:
        [result] = write_records(conn, actor, {0: record}, rulesets=rulesets, dry_run=False).values()
    except write.PlanLimitReached as reached:
        raise Conflict(str(reached)) from None
    if result.outcome == "rejected":
        raise conflict_of(result.errors)
    return comparison_of(before, result, entry, asked)


def _record_decision(
    conn: Connection,
    actor: Actor,
    entry: Entry,
    state: str,
    *,
    reason: str | None,
    request_state: str,
    comparison: Comparison | None,
    note: str | None = None,
) -> Entry:
    """Store the decision, move the request, and enter it into the ledger; `comparison` is what was decided on."""
    decision = Decision(
        state=state,
        by_id=actor.origin.actor_id,
        by_name=actor.origin.actor_name,
        at=actor.now,
        reason=reason,
        note=note,
        decided=comparison.as_dict() if comparison and not comparison.refused else None,
    )
    entries.decide(conn, entry.id, decision)
    if entry.request_id is not None:
        requests.move(conn, entry.request_id, request_state, at=actor.now)
    ledger.enter(
        conn,
        Actor(actor.company_id, replace(actor.origin, reason=reason), actor.now),
        f"{entry.resource}.{state}",
        entry.id,
        before={"state": "open"},
        after={"state": state} | ({"note": note} if note else {}),
    )
    return load_entry(conn, entry.id)
