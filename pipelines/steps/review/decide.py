"""A person's decision: what it writes, the state of the entry and of the request behind it, and the ledger, at once.

Everything happens in the caller's transaction, which must not commit where one of these raises. Of two people who
decide at once the second finds the entry decided. Locks are taken in one order: request, entry, SKU.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

import psycopg
from uuid_utils import uuid7

from pipelines.steps import ledger, plans
from pipelines.steps.origin import Origin
from pipelines.steps.records import write_records
from pipelines.steps.review import files, proposed
from pipelines.steps.review.compare import refused_by
from pipelines.steps.review.entries import Entry, entry
from pipelines.steps.review.proposed import Conflict
from warehouse.queries import docs
from warehouse.rulesets import Rulesets

_LOCK_REQUEST: Final = "SELECT FROM supplier_requests WHERE id = %s FOR UPDATE"
_LOCK_ENTRY: Final = "SELECT FROM review_entries WHERE id = %s FOR UPDATE"
_DECIDE: Final = """
UPDATE review_entries SET state = %(state)s, decided_by_id = %(by_id)s, decided_by_name = %(by_name)s,
    decided_at = %(at)s, reason = %(reason)s WHERE id = %(id)s"""
_MOVE_REQUEST: Final = "UPDATE supplier_requests SET state = %s, updated_at = %s WHERE id = %s"
_DECIDED: Final = {
    "replaced": "A newer answer has taken the place of this one. Decide on the newer one.",
    "accepted": "This entry was accepted already.",
    "rejected": "This entry was rejected already.",
}


def accept(
    conn: psycopg.Connection[Any], company_id: UUID, entry_id: UUID, *, origin: Origin, now: datetime,
    rulesets: Rulesets, reason: str | None = None, seen_version: int | None = None, expires_on: date | None = None,
) -> Entry:  # fmt: skip
    """Accept an open entry and do what it says; the entry as it then stands.

    A supplier's answer and a proposal are written through the one write path, a draft becomes a valid declaration of
    conformity issued today (until `expires_on`), files become technical files. `origin` is the person; `seen_version`
    the version of the SKU that the person was shown. Raises `EntryUnknown` and `Conflict`.
    """
    held = _locked(conn, entry_id)
    named = replace(origin, reason=f"{held.resource} {held.id} accepted" + (f": {reason}" if reason else ""))
    if proposed.writes(held):
        _write(conn, company_id, held, origin=named, now=now, rulesets=rulesets, seen_version=seen_version)
    elif held.kind == "doc_draft":
        _issue(conn, company_id, held, origin=named, now=now, expires_on=expires_on)
    files.accept(conn, company_id, held, origin=named, now=now)
    return _decided(conn, company_id, held, "accepted", origin=origin, now=now, reason=reason, request="closed")


def reject(
    conn: psycopg.Connection[Any], company_id: UUID, entry_id: UUID, *, origin: Origin, now: datetime,
    reason: str | None = None,
) -> Entry:  # fmt: skip
    """Reject an open entry: nothing of it is applied, and a supplier's request is open again.

    Raises `EntryUnknown` and `Conflict`.
    """
    held = _locked(conn, entry_id)
    return _decided(conn, company_id, held, "rejected", origin=origin, now=now, reason=reason, request="open")


def _locked(conn: psycopg.Connection[Any], entry_id: UUID) -> Entry:
    """The open entry, whose state nobody else changes until the transaction ends."""
    if (request_id := entry(conn, entry_id).request_id) is not None:
        conn.execute(_LOCK_REQUEST, [request_id])
    conn.execute(_LOCK_ENTRY, [entry_id])
    held = entry(conn, entry_id)
    if held.state != "open":
        raise Conflict(_DECIDED[held.state])
    return held


def _write(
    conn: psycopg.Connection[Any], company_id: UUID, held: Entry, *, origin: Origin, now: datetime,
    rulesets: Rulesets, seen_version: int | None,
) -> None:  # fmt: skip
    record = proposed.record(conn, held, seen_version=seen_version)
    try:
        [result] = write_records(
            conn, company_id, {0: record}, origin=origin, now=now, rulesets=rulesets, dry_run=False
        ).values()  # fmt: skip
    except plans.PlanLimitReached as reached:
        raise Conflict(str(reached)) from None
    if result.outcome == "rejected":
        raise refused_by(result.errors)


def _issue(
    conn: psycopg.Connection[Any], company_id: UUID, held: Entry, *, origin: Origin, now: datetime,
    expires_on: date | None,
) -> None:  # fmt: skip
    """The declaration that a draft prepared, valid from today (UTC)."""
    if expires_on is not None and expires_on < now.date():
        raise Conflict(f"A declaration issued today cannot expire on {expires_on}; name a later day or none.")
    doc_id = UUID(str(uuid7()))
    values: dict[str, Any] = {
        "sku_id": held.sku_id, "reference": held.payload["reference"], "supplier_name": None, "status": "valid",
        "issued_on": now.date(), "expires_on": expires_on,
    }  # fmt: skip
    docs.add(conn, company_id, doc_id, values=values, at=now)
    ledger.enter(
        conn, company_id, "doc.created", doc_id, origin=origin, now=now, before=None, after=_given(values)
    )  # fmt: skip


def _given(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None}


def _decided(
    conn: psycopg.Connection[Any], company_id: UUID, held: Entry, state: str, *, origin: Origin, now: datetime,
    reason: str | None, request: str,
) -> Entry:  # fmt: skip
    """Write the decision down, move the request, and enter it into the ledger."""
    decision = {"id": held.id, "state": state, "by_id": origin.actor_id, "by_name": origin.actor_name, "at": now}
    conn.execute(_DECIDE, {**decision, "reason": reason})
    if held.request_id is not None:
        conn.execute(_MOVE_REQUEST, [request, now, held.request_id])
    ledger.enter(
        conn, company_id, f"{held.resource}.{state}", held.id, origin=replace(origin, reason=reason), now=now,
        before={"state": "open"}, after={"state": state},
    )  # fmt: skip
    return entry(conn, held.id)
