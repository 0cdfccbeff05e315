"""Files, finds, locks and decides entries of the review queue: their row type and all their statements.

The functions work in the caller's transaction, whose session has the company set. `services.review` decides what may be
filed or decided, and applies a decision.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

import orjson
from psycopg.rows import class_row

from schemas.json_values import JsonObject
from warehouse.review.tables import review_entries
from warehouse.sessions import Connection
from warehouse.skus import queries as skus

RESOURCES: Final[Mapping[str, str]] = {
    "supplier_answer": "supplier_submission",
    "sku_update": "sku_proposal",
    "doc_draft": "doc_draft",
    "supplier_document": "supplier_document",
}
"""Kind of entry → the resource type of its ledger entries."""

State = Literal["open", "decided"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `state` is open, replaced, accepted or rejected; `sku_code` and `sku_name` are null without a SKU.

    `reason` is the decider's, for the company; `note` is the text for the supplier. `decided` is the comparison that
    was decided on, null for entries that write no SKU and for decisions before it was stored.
    """

    id: UUID
    kind: str
    state: str
    sku_id: UUID | None
    request_id: UUID | None
    payload: JsonObject  # its form depends on `kind` (services.review.entries)
    filed_by_type: str
    filed_by_id: str | None
    filed_by_name: str | None
    filed_at: datetime
    decided_by_name: str | None
    decided_at: datetime | None
    reason: str | None
    sku_code: str | None
    sku_name: str | None
    note: str | None = None
    decided: dict[str, object] | None = None

    @property
    def resource(self) -> str:
        """Return the resource type of its ledger entries."""
        return RESOURCES[self.kind]


@dataclass(frozen=True, slots=True)
class Filing:
    """A new entry to file. `filing_key` is a digest that is the same when the filing is repeated."""

    id: UUID
    kind: str
    payload: Mapping[str, object]
    sku_id: UUID | None
    request_id: UUID | None
    filing_key: bytes | None
    filed_by_type: str
    filed_by_id: str | None
    filed_by_name: str | None
    filed_at: datetime


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision: the entry's new state, by whom and when, and the comparison that was decided on."""

    state: str
    by_id: str | None
    by_name: str | None
    at: datetime
    reason: str | None
    note: str | None
    decided: Mapping[str, object] | None


_OF_ENTRY: Final = frozenset(field.name for field in fields(Entry))
_COLUMNS: Final = ", ".join(f"review_entries.{each.name}" for each in review_entries.columns if each.name in _OF_ENTRY)
_SELECT: Final = f"""
SELECT {_COLUMNS}, sku.sku_code, sku.name AS sku_name
FROM {{rows}} AS review_entries
LEFT JOIN LATERAL {skus.named("review_entries.sku_id")} AS sku ON true"""
"""SKUs are looked up one by one: for a page of entries Postgres may estimate that reading all of them is cheaper."""
_PAGES: Final[Mapping[State, tuple[str, str]]] = {
    "open": ("review_entries.state = 'open'", "review_entries.filed_at, review_entries.id"),
    "decided": ("review_entries.decided_at IS NOT NULL", "review_entries.decided_at DESC, review_entries.id"),
}
_ONE: Final = _SELECT.format(rows="(SELECT * FROM review_entries WHERE id = %s)")
_ANSWER: Final = _SELECT.format(
    rows="(SELECT * FROM review_entries WHERE request_id = %s ORDER BY filed_at DESC, id DESC LIMIT 1)"
)
_FILED_BEFORE: Final = _SELECT.format(rows="(SELECT * FROM review_entries WHERE filing_key = %s)")
_WAITING_DRAFTS: Final = """
FROM review_entries WHERE state = 'open' AND kind = 'doc_draft'
    AND (%(sku_id)s::uuid IS NULL OR sku_id = %(sku_id)s::uuid)"""
_NEWEST: Final = "filed_at DESC, id DESC"
_DOC_DRAFTS: Final = (
    _SELECT.format(rows=f"(SELECT * {_WAITING_DRAFTS} ORDER BY {_NEWEST} LIMIT %(limit)s OFFSET %(offset)s)")
    + f" ORDER BY {_NEWEST}"
)
_LOCK: Final = "SELECT FROM review_entries WHERE id = %s FOR UPDATE"
_LOCK_KEY: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_INSERT: Final = """
INSERT INTO review_entries
    (id, company_id, kind, state, sku_id, request_id, payload, filing_key, filed_by_type, filed_by_id, filed_by_name,
     filed_at)
VALUES (%(id)s, %(company_id)s, %(kind)s, 'open', %(sku_id)s, %(request_id)s, %(payload)s::json, %(filing_key)s,
    %(filed_by_type)s, %(filed_by_id)s, %(filed_by_name)s, %(at)s)"""
_DECIDE: Final = """
UPDATE review_entries SET state = %(state)s, decided_by_id = %(by_id)s, decided_by_name = %(by_name)s,
    decided_at = %(at)s, reason = %(reason)s, note = %(note)s, decided = %(decided)s::json WHERE id = %(id)s"""
_REPLACE: Final = "UPDATE review_entries SET state = 'replaced' WHERE request_id = %s AND state = 'open' RETURNING id"


def of(connection: Connection, entry_id: UUID) -> Entry | None:
    """Return one entry of the session's company."""
    return _one(connection, _ONE, entry_id)


def answer_to(connection: Connection, request_id: UUID) -> Entry | None:
    """Return the latest answer to a supplier's request, in any state; None where there is none."""
    return _one(connection, _ANSWER, request_id)


def page(connection: Connection, *, state: State = "open", limit: int = 50, offset: int = 0) -> tuple[list[Entry], int]:
    """Return a page of the queue and how many there are in all.

    `state` is `open` (the one that waits longest first) or `decided` (the latest decision first).
    """
    condition, order = _PAGES[state]
    rows = f"(SELECT * FROM review_entries WHERE {condition} ORDER BY {order} LIMIT %s OFFSET %s)"
    query = f"{_SELECT.format(rows=rows)} ORDER BY {order}"
    with connection.cursor(row_factory=class_row(Entry)) as cursor:
        found = cursor.execute(query, [limit, offset]).fetchall()
    counted = connection.execute(f"SELECT count(*) FROM review_entries WHERE {condition}").fetchone()
    assert counted is not None, "a count is one row"
    return found, counted[0]


def doc_drafts(
    connection: Connection, *, sku_id: UUID | None = None, limit: int = 50, offset: int = 0
) -> tuple[list[Entry], int]:
    """Return a page of the waiting drafts of declarations, of one SKU or all, newest first, and their number."""
    filters = {"sku_id": sku_id, "limit": limit, "offset": offset}
    with connection.cursor(row_factory=class_row(Entry)) as cursor:
        found = cursor.execute(_DOC_DRAFTS, filters).fetchall()
    counted = connection.execute(f"SELECT count(*) {_WAITING_DRAFTS}", filters).fetchone()
    assert counted is not None, "a count is one row"
    return found, counted[0]


def lock_filing(connection: Connection, company_id: UUID, filing_key: bytes) -> None:
    """Make other filings under the same key wait until the transaction ends."""
    connection.execute(_LOCK_KEY, [f"{company_id}/{filing_key.hex()}"])


def filed_as(connection: Connection, filing_key: bytes) -> Entry | None:
    """Return the entry that was filed under a key; None where there is none."""
    return _one(connection, _FILED_BEFORE, filing_key)


def add(connection: Connection, company_id: UUID, filing: Filing) -> None:
    """Add an open entry."""
    connection.execute(
        _INSERT,
        {
            "id": filing.id,
            "company_id": company_id,
            "kind": filing.kind,
            "sku_id": filing.sku_id,
            "request_id": filing.request_id,
            "payload": orjson.dumps(filing.payload).decode(),
            "filing_key": filing.filing_key,
            "filed_by_type": filing.filed_by_type,
            "filed_by_id": filing.filed_by_id,
            "filed_by_name": filing.filed_by_name,
            "at": filing.filed_at,
        },
    )


def lock(connection: Connection, entry_id: UUID) -> None:
    """Lock an entry until the transaction ends."""
    connection.execute(_LOCK, [entry_id])


def decide(connection: Connection, entry_id: UUID, decision: Decision) -> None:
    """Write a decision into its entry."""
    connection.execute(
        _DECIDE,
        {
            "id": entry_id,
            "state": decision.state,
            "by_id": decision.by_id,
            "by_name": decision.by_name,
            "at": decision.at,
            "note": decision.note,
            "decided": None if decision.decided is None else orjson.dumps(decision.decided).decode(),
            "reason": decision.reason,
        },
    )


def replace_open(connection: Connection, request_id: UUID) -> UUID | None:
    """Put the open answer to a request into the state `replaced`; its id, None where none was open."""
    replaced = connection.execute(_REPLACE, [request_id]).fetchone()
    return replaced[0] if replaced else None


def _one(connection: Connection, query: str, key: UUID | bytes) -> Entry | None:
    with connection.cursor(row_factory=class_row(Entry)) as cursor:
        return cursor.execute(query, [key]).fetchone()
