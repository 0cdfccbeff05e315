"""Accepts or rejects an entry: the write, the state of the entry and of its request, and the ledger entry together.

Everything happens in the caller's transaction, which must not commit where one of these raises. Of two people who
decide at the same time the second finds the entry decided. Locks are taken in one order: request, entry, SKU.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Final, NamedTuple
from uuid import UUID

from pipelines.writing import write
from schemas.actors import Actor
from schemas.messages import Message, message_of
from services.conformity import issuing
from services.review import compare as compare_review
from services.review.compare import OTHER_PARTS, REFUSED, Comparison, compare, comparison_of, conflict, load_current
from services.review.entries import accept_files, asked_parts, load_entry
from services.skus.write import write_records
from warehouse import enquiries, review, supplier_mails, suppliers
from warehouse.audit import ledger
from warehouse.operate.sessions import Connection
from warehouse.review import Decision, Entry
from warehouse.rules import Rulesets
from warehouse.suppliers import Sold

_MAILED_AFTER: Final = timedelta(minutes=5)
"""How long a rejection waits for others to the same supplier: one mail names them all."""
_ALREADY_DECIDED: Final = {
    "replaced": Message("A newer answer has taken the place of this one. Decide on the newer one."),
    "accepted": Message("This entry was accepted already."),
    "rejected": Message("This entry was rejected already."),
}


class PartDecision(NamedTuple):
    """A person's decision on a part whose answer contradicts the record: whether the answer is taken, and why."""

    is_taken: bool
    reason: str


def accept_answer(
    conn: Connection, actor: Actor, entry_id: UUID, decided: Mapping[str, PartDecision], *, rulesets: Rulesets
) -> bool:
    """Accept a supplier's answer that agrees with the record, or whose every dispute is decided by its key.

    Return False, and change nothing, where it is not so as the record stands now. Raises `Refused` where another
    person has decided.
    """
    entry = _lock_open(conn, entry_id)
    [judgement] = compare_review.judge(conn, actor, [entry], rulesets=rulesets)
    if judgement.against or any(dispute.key not in decided for dispute in judgement.disputes):
        return False
    decisions = {dispute.line["id"]: decided[dispute.key] for dispute in judgement.disputes}
    reasons = "; ".join(dict.fromkeys(decision.reason for decision in decisions.values()))
    accept(conn, actor, entry_id, rulesets=rulesets, reason=reasons or None, decisions=decisions)
    return True


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
    decisions: Mapping[str, PartDecision] = MappingProxyType({}),
) -> Entry:
    """Accept an open entry, do what it says, and return the entry after the decision.

    A supplier's answer and a proposal are written through the one write path, a draft becomes a valid declaration of
    conformity with the fields of the issuing form (`issued_with`), files become technical files. The actor is the
    person; `seen_version` the version of the SKU that the person was shown; `parts_compared` says that the person has
    compared the parts that were asked about and are others now; `decisions` are on the parts of an answer that
    contradict the record, by their id. Raises `NotThere` and `Refused`: a `conflict`, or as `issuing.issue`.
    """
    entry = _lock_open(conn, entry_id)
    writer = actor.with_reason(f"{entry.resource} {entry.id} accepted" + (f": {reason}" if reason else ""))
    comparison: Comparison | None = None
    left = [part for part, decision in decisions.items() if not decision.is_taken]
    if entry.sku_id is not None:
        compare_review.lock_present(conn, entry.sku_id)
    if compare_review.writes_sku(entry):
        comparison = _write_sku(
            conn,
            writer,
            entry,
            rulesets=rulesets,
            seen_version=seen_version,
            parts_compared=parts_compared,
            kept=left,
        )
        reasons = tuple((part, decision.reason) for part, decision in decisions.items())
        comparison = replace(comparison, reasons=reasons)
    elif entry.kind == "doc_draft":
        issuing.issue(conn, writer, entry, issued_with or {}, rulesets=rulesets)
    renumbered = _keep_articles(conn, actor, entry, [*left, *(comparison.gone if comparison else ())])
    accept_files(conn, writer, entry)
    return _record_decision(conn, actor.with_reason(reason), entry, "accepted", comparison, renumbered=renumbered)


def _keep_articles(
    conn: Connection, actor: Actor, entry: Entry, left: Collection[str]
) -> dict[str, tuple[str | None, str]]:
    """Keep the article numbers of a supplier's answer; return those that change, before and after, by the part's id.

    Those of the parts `left` are not kept.
    """
    articles: Mapping[str, str] = entry.payload.get("articles") or {}
    if entry.kind != "supplier_answer" or not entry.filed_by_name or not articles:
        return {}
    sold = [Sold(part, entry.filed_by_name, article) for part, article in articles.items() if part not in left]
    before = suppliers.numbers_of(conn, sold)
    suppliers.keep_articles(conn, actor.company_id, sold)
    pairs = zip(sold, before, strict=True)
    return {each.component_id: (old, each.article) for each, old in pairs if old != each.article}


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

    `reason` is for the ledger, `note` for the supplier. Raises `NotThere` and `Refused`.
    """
    entry = _lock_open(conn, entry_id)
    comparison = compare(conn, actor, entry, rulesets=rulesets) if compare_review.writes_sku(entry) else None
    if entry.request_id is not None:
        supplier_mails.add_rejected(conn, entry.request_id, due_at=actor.now + _MAILED_AFTER, at=actor.now)
    return _record_decision(conn, actor.with_reason(reason), entry, "rejected", comparison, note=note)


def _lock_open(conn: Connection, entry_id: UUID) -> Entry:
    """Return the open entry, locked until the transaction ends. Raises `Refused` for a decided one."""
    if (request_id := load_entry(conn, entry_id).request_id) is not None:
        suppliers.lock_request(conn, request_id)
    review.lock(conn, entry_id)
    entry = load_entry(conn, entry_id)
    if entry.state != "open":
        raise conflict(_ALREADY_DECIDED[entry.state])
    return entry


def _write_sku(
    conn: Connection,
    actor: Actor,
    entry: Entry,
    *,
    rulesets: Rulesets,
    seen_version: int | None,
    parts_compared: bool,
    kept: Collection[str],
) -> Comparison:
    """Write what the entry says, and return what that changed."""
    record = compare_review.build_record(conn, entry, seen_version=seen_version, kept=kept)
    before = load_current(conn, entry.sku_id, rulesets, actor.today)
    entry_parts = asked_parts(conn, entry, before["components"] if before else ())
    if any(part.differs for part in entry_parts) and not parts_compared:
        raise conflict(OTHER_PARTS)
    try:
        [result] = write_records(conn, actor, {0: record}, rulesets=rulesets, dry_run=False).values()
    except write.PlanLimitReached as reached:
        raise conflict(message_of(str(reached))) from None
    if result.outcome == "rejected":
        raise conflict(REFUSED, result.errors)
    return replace(comparison_of(before, result, entry, entry_parts), kept=tuple(kept))


def _record_decision(
    conn: Connection,
    actor: Actor,
    entry: Entry,
    state: str,
    comparison: Comparison | None,
    *,
    note: str | None = None,
    renumbered: Mapping[str, tuple[str | None, str]] | None = None,
) -> Entry:
    """Store the decision for the actor's reason, move the request, and enter it into the ledger.

    `comparison` is what was decided on, `renumbered` are the article numbers that changed with it (`_keep_articles`).
    """
    decided = comparison.as_dict() if comparison and not comparison.refused else None
    by = actor.origin
    review.decide(conn, entry.id, Decision(state, by.actor_id, by.actor_name, actor.now, by.reason, note, decided))
    if entry.request_id is not None:
        moved_to = "closed" if state == "accepted" else "open"
        suppliers.move_request(conn, entry.request_id, moved_to, at=actor.now)
        if state == "rejected":
            enquiries.reopen_rows(conn, entry.request_id, note)
    before: dict[str, object] = {"state": "open"}
    after: dict[str, object] = {"state": state, **({"note": note} if note else {})}
    if state == "accepted" and comparison is not None and comparison.gone:
        after["not_taken_over"] = comparison.gone
    if renumbered:
        before["articles"] = {part: old for part, (old, _) in renumbered.items()}
        after["articles"] = {part: new for part, (_, new) in renumbered.items()}
    ledger.enter(conn, actor, f"{entry.resource}.{state}", entry.id, before=before, after=after)
    return load_entry(conn, entry.id)
