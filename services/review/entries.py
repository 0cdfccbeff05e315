"""Entries of the review queue: what was filed, by whom, and what became of it.

A payload is JSON, and by kind it is:

    supplier_answer      {"components", "contact", "comment"}: `schemas.supplier`, with `request_id` beside it
    sku_update           {"changes"}: the fields of `schemas.models.SkuInput` that shall change
    doc_draft            {"reference", …}: what the declaration of conformity is called, and what was prepared for it
    supplier_document    {"type", "filename", "sha256", …}: what the document is (`schemas.technical_file_form`)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson
import psycopg
from psycopg.rows import class_row
from uuid_utils import uuid7

from warehouse.audit import ledger
from warehouse.audit.origin import Origin

RESOURCES: Final[Mapping[str, str]] = {
    "supplier_answer": "supplier_submission",
    "sku_update": "sku_proposal",
    "doc_draft": "doc_draft",
    "supplier_document": "supplier_document",
}
"""Kind of entry → what the ledger calls it."""

_COLUMNS: Final = (
    "id", "kind", "state", "sku_id", "request_id", "payload", "filed_by_type", "filed_by_id", "filed_by_name",
    "filed_at", "decided_by_name", "decided_at", "reason", "note", "decided",
)  # fmt: skip
_SELECT: Final = f"""
SELECT {", ".join(f"review_entries.{name}" for name in _COLUMNS)}, sku.sku_code, sku.name AS sku_name
FROM {{rows}} AS review_entries
LEFT JOIN LATERAL (SELECT sku_code, name FROM skus WHERE skus.id = review_entries.sku_id LIMIT 1) AS sku ON true"""
"""SKUs are looked up one by one: for a page of entries Postgres may think that reading all of them is cheaper."""
_PAGES: Final = {
    "open": ("review_entries.state = 'open'", "review_entries.filed_at, review_entries.id"),
    "decided": ("review_entries.decided_at IS NOT NULL", "review_entries.decided_at DESC, review_entries.id"),
}
_ONE: Final = _SELECT.format(rows="(SELECT * FROM review_entries WHERE id = %s)")
_ANSWER: Final = _SELECT.format(
    rows="(SELECT * FROM review_entries WHERE request_id = %s ORDER BY filed_at DESC, id DESC LIMIT 1)"
)
_FILED_BEFORE: Final = _SELECT.format(rows="(SELECT * FROM review_entries WHERE filing_key = %s)")
_LOCK_KEY: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_INSERT: Final = """
INSERT INTO review_entries
    (id, company_id, kind, state, sku_id, request_id, payload, filing_key, filed_by_type, filed_by_id, filed_by_name,
     filed_at)
VALUES (%(id)s, %(company_id)s, %(kind)s, 'open', %(sku_id)s, %(request_id)s, %(payload)s::json, %(filing_key)s,
    %(filed_by_type)s, %(filed_by_id)s, %(filed_by_name)s, %(at)s)"""


class EntryUnknown(LookupError):  # noqa: N818  (an answer, not a fault)
    """The company has no such entry."""

    code = "not_found"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `state` is open, replaced, accepted or rejected; `sku_code` and `sku_name` are null without a SKU.

    `reason` is the decider's, for the company; `note` is what the supplier is told. `decided` is the comparison that
    was decided on, null for what writes no SKU and for what was decided before it was kept.
    """

    id: UUID
    kind: str
    state: str
    sku_id: UUID | None
    request_id: UUID | None
    payload: dict[str, Any]
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
    decided: dict[str, Any] | None = None

    @property
    def resource(self) -> str:
        """What the ledger calls it."""
        return RESOURCES[self.kind]


def file(
    conn: psycopg.Connection[Any], company_id: UUID, kind: str, payload: Mapping[str, Any], *, origin: Origin,
    now: datetime, sku_id: UUID | None = None, request_id: UUID | None = None, filing_key: bytes | None = None,
) -> Entry:  # fmt: skip
    """File an entry in the caller's transaction, whose session has the company set, and enter it into the ledger.

    A second filing under the same `filing_key` (a digest of what is filed and by whom) gives back the first entry, as
    it stands now, and files nothing.
    """
    if filing_key is not None:
        conn.execute(_LOCK_KEY, [f"{company_id}/{filing_key.hex()}"])
        if before := _one(conn, _FILED_BEFORE, [filing_key]):
            return before
    entry_id = UUID(str(uuid7()))
    conn.execute(_INSERT, {
        "id": entry_id, "company_id": company_id, "kind": kind, "sku_id": sku_id, "request_id": request_id,
        "payload": orjson.dumps(payload).decode(), "filing_key": filing_key, "filed_by_type": origin.actor_type,
        "filed_by_id": origin.actor_id, "filed_by_name": origin.actor_name, "at": now,
    })  # fmt: skip
    filed = entry(conn, entry_id)
    after = {"kind": kind, "sku_id": sku_id, "request_id": request_id, "payload": payload}
    given = {name: value for name, value in after.items() if value is not None}
    ledger.enter(
        conn, company_id, f"{filed.resource}.filed", entry_id, origin=origin, now=now, before=None, after=given
    )  # fmt: skip
    return filed


def entry(conn: psycopg.Connection[Any], entry_id: UUID) -> Entry:
    """One entry of the session's company. Raises `EntryUnknown`."""
    found = _one(conn, _ONE, [entry_id])
    if found is None:
        raise EntryUnknown(f"There is no entry {entry_id}.")
    return found


def answer_to(conn: psycopg.Connection[Any], request_id: UUID) -> Entry | None:
    """The latest answer to a supplier's request, whatever became of it; None where there is none."""
    return _one(conn, _ANSWER, [request_id])


def entries(
    conn: psycopg.Connection[Any], *, state: str = "open", limit: int = 50, offset: int = 0
) -> tuple[list[Entry], int]:
    """A page of the queue and how many there are in all.

    `state` is `open` (the one that waits longest first) or `decided` (the latest decision first).
    """
    condition, order = _PAGES[state]
    rows = f"(SELECT * FROM review_entries WHERE {condition} ORDER BY {order} LIMIT %s OFFSET %s)"
    query = f"{_SELECT.format(rows=rows)} ORDER BY {order}"
    with conn.cursor(row_factory=class_row(Entry)) as cursor:
        page = cursor.execute(query, [limit, offset]).fetchall()
    counted = conn.execute(f"SELECT count(*) FROM review_entries WHERE {condition}").fetchone()
    assert counted is not None, "a count is one row"
    return page, counted[0]


def _one(conn: psycopg.Connection[Any], query: str, parameters: list[object]) -> Entry | None:
    with conn.cursor(row_factory=class_row(Entry)) as cursor:
        return cursor.execute(query, parameters).fetchone()
