"""A person's decision: what it writes, the state of the entry and of the request behind it, and the ledger, at once.

Everything happens in the caller's transaction, which must not commit where one of these raises. Of two people who
decide at once the second finds the entry decided. Locks are taken in one order: request, entry, SKU.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from pipelines.writing import plans
from pipelines.writing.records import write_records
from schemas.messages import Message
from services.review import files, issuing, proposed
from services.review.compare import Comparison, between, compare, held_of, refused_by
from services.review.entries import entry
from services.review.proposed import Conflict
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.review import entries, supplier_requests
from warehouse.review.entries import Decision, Entry
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection

_DECIDED: Final = {
    "replaced": Message("A newer answer has taken the place of this one. Decide on the newer one."),
    "accepted": Message("This entry was accepted already."),
    "rejected": Message("This entry was rejected already."),
}


def accept(
    conn: Connection,
    company_id: UUID,
    entry_id: UUID,
    *,
    origin: Origin,
    now: datetime,
    rulesets: Rulesets,
    reason: str | None = None,
    seen_version: int | None = None,
    issued_with: Mapping[str, str] | None = None,
) -> Entry:
    """Accept an open entry and do what it says; the entry as it then stands.

    A supplier's answer and a proposal are written through the one write path, a draft becomes a valid declaration of
    conformity with what the form of issuing holds (`issued_with`), files become technical files. `origin` is the
    person; `seen_version` the version of the SKU that the person was shown. Raises `EntryUnknown`, `Conflict` and
    `issuing.Incomplete`.
    """
    held = _locked(conn, entry_id)
    named = replace(origin, reason=f"{held.resource} {held.id} accepted" + (f": {reason}" if reason else ""))
    done: Comparison | None = None
    if proposed.writes(held):
        done = _write(conn, company_id, held, origin=named, now=now, rulesets=rulesets, seen_version=seen_version)
    elif held.kind == "doc_draft":
        issuing.issue(conn, company_id, held, issued_with or {}, origin=named, now=now, rulesets=rulesets)
    files.accept(conn, company_id, held, origin=named, now=now)
    return _decided(
        conn, company_id, held, "accepted", origin=origin, now=now, reason=reason, request="closed", done=done
    )


def reject(
    conn: Connection,
    company_id: UUID,
    entry_id: UUID,
    *,
    origin: Origin,
    now: datetime,
    rulesets: Rulesets,
    reason: str | None = None,
    note: str | None = None,
) -> Entry:
    """Reject an open entry: nothing of it is applied, and a supplier's request is open again.

    `reason` is for the ledger, `note` for the supplier. Raises `EntryUnknown` and `Conflict`.
    """
    held = _locked(conn, entry_id)
    left = compare(conn, company_id, held, now=now, rulesets=rulesets) if proposed.writes(held) else None
    return _decided(
        conn, company_id, held, "rejected", origin=origin, now=now, reason=reason, note=note, request="open", done=left
    )


def _locked(conn: Connection, entry_id: UUID) -> Entry:
    """The open entry, whose state nobody else changes until the transaction ends."""
    if (request_id := entry(conn, entry_id).request_id) is not None:
        supplier_requests.lock(conn, request_id)
    entries.lock(conn, entry_id)
    held = entry(conn, entry_id)
    if held.state != "open":
        raise Conflict(_DECIDED[held.state])
    return held


def _write(
    conn: Connection,
    company_id: UUID,
    held: Entry,
    *,
    origin: Origin,
    now: datetime,
    rulesets: Rulesets,
    seen_version: int | None,
) -> Comparison:
    """Write what the entry says; what that changed, as the comparison showed it."""
    record = proposed.record(conn, held, seen_version=seen_version)
    before = held_of(conn, held.sku_id, rulesets, now.date())
    try:
        [result] = write_records(
            conn, company_id, {0: record}, origin=origin, now=now, rulesets=rulesets, dry_run=False
        ).values()
    except plans.PlanLimitReached as reached:
        raise Conflict(str(reached)) from None
    if result.outcome == "rejected":
        raise refused_by(result.errors)
    return between(before, result, held)


def _decided(
    conn: Connection,
    company_id: UUID,
    held: Entry,
    state: str,
    *,
    origin: Origin,
    now: datetime,
    reason: str | None,
    request: str,
    done: Comparison | None,
    note: str | None = None,
) -> Entry:
    """Write the decision down, move the request, and enter it into the ledger; `done` is what was decided on."""
    decision = Decision(
        state=state,
        by_id=origin.actor_id,
        by_name=origin.actor_name,
        at=now,
        reason=reason,
        note=note,
        decided=done.as_dict() if done and not done.refused else None,
    )
    entries.decide(conn, held.id, decision)
    if held.request_id is not None:
        supplier_requests.move(conn, held.request_id, request, at=now)
    ledger.enter(
        conn,
        company_id,
        f"{held.resource}.{state}",
        held.id,
        origin=replace(origin, reason=reason),
        now=now,
        before={"state": "open"},
        after={"state": state} | ({"note": note} if note else {}),
    )
    return entry(conn, held.id)
