"""Files, finds, locks and decides entries of the review queue: their row type and all their statements.

The functions work in the caller's transaction, whose session has the company set. `services.review` decides what may be
filed or decided, and applies a decision.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Final, Literal, NamedTuple
from uuid import UUID

import orjson
from psycopg.rows import class_row

from schemas.json_values import JsonObject
from schemas.skus.types import Component, PartFacts
from warehouse.files import File
from warehouse.operate.sessions import Connection
from warehouse.review.tables import review_entries
from warehouse.skus import queries as skus
from warehouse.skus.earlier import GRAPH_AT

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


_KEPT: Final = tuple(field.name for field in fields(File))
_ADD: Final = f"""
INSERT INTO review_files (company_id, request_id, entry_id, created_at, {", ".join(_KEPT)})
VALUES (%(company_id)s, %(request_id)s, %(entry_id)s, %(at)s, {", ".join(f"%({name})s" for name in _KEPT)})"""
_COUNT: Final = "SELECT count(*) FROM review_files WHERE request_id = %s"
_SELECT_FILES: Final = f"""
SELECT {", ".join(f"review_files.{name}" for name in _KEPT)}
FROM review_files LEFT JOIN review_entries AS entry ON entry.id = review_files.entry_id
WHERE {{of}} ORDER BY review_files.created_at, review_files.id"""
_FILES_OF_ENTRY: Final = _SELECT_FILES.format(of="review_files.entry_id = %s")
_OF_REQUEST: Final = _SELECT_FILES.format(of="review_files.request_id = %s AND coalesce(entry.state, 'open') = 'open'")
_TAKE: Final = """
UPDATE review_files SET entry_id = %(entry_id)s
WHERE request_id = %(request_id)s AND (entry_id IS NULL OR entry_id = %(replaced)s)"""


def add_file(
    connection: Connection,
    company_id: UUID,
    file: File,
    *,
    request_id: UUID | None,
    entry_id: UUID | None,
    at: datetime,
) -> None:
    """Add the record of a file of a request, of an entry, or of both."""
    belongs_to = {"company_id": company_id, "request_id": request_id, "entry_id": entry_id, "at": at}
    connection.execute(_ADD, asdict(file) | belongs_to)


def count_of_request(connection: Connection, request_id: UUID) -> int:
    """Count the files of a request, those of rejected answers included."""
    counted = connection.execute(_COUNT, [request_id]).fetchone()
    assert counted is not None, "a count is one row"
    return int(counted[0])


def of_entry(connection: Connection, entry_id: UUID) -> list[File]:
    """Return the files that came with an entry, in the order of arrival."""
    return _all(connection, _FILES_OF_ENTRY, entry_id)


def of_request(connection: Connection, request_id: UUID) -> list[File]:
    """Return the files of the next answer to a request: attached since the last, or with the answer that waits."""
    return _all(connection, _OF_REQUEST, request_id)


def take(connection: Connection, request_id: UUID, entry_id: UUID, *, replaced: UUID | None) -> None:
    """Give an answer the files attached since the last one, and those of the answer that it replaces."""
    connection.execute(_TAKE, {"request_id": request_id, "entry_id": entry_id, "replaced": replaced})


def _all(connection: Connection, query: str, key: UUID) -> list[File]:
    with connection.cursor(row_factory=class_row(File)) as cursor:
        return cursor.execute(query, [key]).fetchall()


_APPLIED: Final = f"""
SELECT entries.id, entries.kind, entries.sku_id, sku.sku_code, entries.payload, requests.asked,
    ({GRAPH_AT.format(sku="entries.sku_id", until="<= coalesce(requests.created_at, entries.filed_at)")}),
    ({GRAPH_AT.format(sku="entries.sku_id", until="< entries.decided_at")}),
    entries.filed_by_name, entries.decided_by_name, entries.decided_at
FROM review_entries AS entries
LEFT JOIN supplier_requests AS requests ON requests.id = entries.request_id
LEFT JOIN LATERAL {skus.named("entries.sku_id")} AS sku ON true
WHERE entries.state = 'accepted' AND entries.kind IN ('supplier_answer', 'sku_update')
    AND entries.sku_id IS NOT NULL AND entries.decided -> 'asked' IS NULL
ORDER BY entries.decided_at DESC, entries.id"""
"""A decision that kept what was asked about was made by a person who was shown it."""


class Applied(NamedTuple):
    """An accepted entry: its payload (`services.review.entries`), and what its request kept of the parts, if anything.

    `lines_asked` is the graph at the time of asking, `lines_met` the one that the write met.
    """

    entry_id: UUID
    kind: str
    sku_id: UUID
    sku_code: str | None
    payload: JsonObject
    asked: dict[str, PartFacts] | None
    lines_asked: list[Component]
    lines_met: list[Component]
    filed_by: str | None
    decided_by: str | None
    decided_at: datetime


def of_company(conn: Connection) -> list[Applied]:
    """Return those of the session's company that were decided before decisions kept it, the latest first."""
    rows = conn.execute(_APPLIED).fetchall()
    return [Applied(*row[:6], *(orjson.loads(graph or "[]") for graph in row[6:8]), *row[8:]) for row in rows]
