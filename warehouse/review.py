"""Files, finds, locks and decides entries of the review queue, and keeps the files that came with them.

The functions work in the caller's transaction, whose session has the company set. `services.review` decides what may be
filed or decided, and applies a decision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Final, Literal, NamedTuple
from uuid import UUID

import orjson
from psycopg.rows import class_row
from sqlalchemy import ARRAY, JSON, Column, Date, Index, Integer, LargeBinary, Table, Text, UniqueConstraint, Uuid, text

from schemas.json_values import JsonMapping, JsonObject
from schemas.skus.types import Component, PartFacts
from warehouse.base import company, identity, instant, metadata
from warehouse.files import File
from warehouse.operate.sessions import Connection
from warehouse.skus import queries as skus
from warehouse.skus.history import GRAPH_AT

review_entries = Table(
    "review_entries",
    metadata,
    identity(),
    company(),
    Column("kind", Text, nullable=False, comment="supplier_answer, sku_update, doc_draft or supplier_document"),
    Column("state", Text, nullable=False, comment="open, replaced, accepted or rejected"),
    Column("sku_id", Uuid, comment="the SKU that it is about; null for one that is not held yet"),
    Column("request_id", Uuid, comment="of a supplier's answer: the request that it answers"),
    Column("payload", JSON, nullable=False),
    Column("filing_key", LargeBinary, comment="the same for a filing that is repeated, which is then filed once"),
    Column("filed_by_type", Text, nullable=False),
    Column("filed_by_id", Text),
    Column("filed_by_name", Text),
    instant("filed_at"),
    Column("decided_by_id", Text),
    Column("decided_by_name", Text),
    instant("decided_at", nullable=True),
    Column("reason", Text, comment="why it was accepted or rejected, in the decider's words"),
    Column("note", Text, comment="what the supplier is told of a rejection"),
    Column("decided", JSON, comment="what was decided on: fields and grade before and after"),
    UniqueConstraint("company_id", "filing_key", name="uq_review_entries_company_id_filing_key"),
    Index("ix_review_entries_open", "company_id", "filed_at", "id", postgresql_where=text("state = 'open'")),
    Index(
        "ix_review_entries_decided",
        "company_id",
        text("decided_at DESC"),
        "id",
        postgresql_where=text("decided_at IS NOT NULL"),
    ),
    Index(
        "ix_review_entries_answers",
        "request_id",
        text("filed_at DESC"),
        postgresql_where=text("request_id IS NOT NULL"),
    ),
    Index("uq_review_entries_request", "request_id", unique=True, postgresql_where=text("state = 'open'")),
)

review_files = Table(
    "review_files",
    metadata,
    Column("id", Uuid, primary_key=True, comment="the object <company_id>/files/<id> holds the bytes"),
    company(),
    Column("request_id", Uuid, comment="the request that a supplier attached it to"),
    Column("entry_id", Uuid, comment="the entry that it came with; null until the answer is sent"),
    Column("type", Text, nullable=False),
    Column("filename", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("reference", Text),
    Column("issuer", Text),
    Column("issued_on", Date),
    Column("expires_on", Date),
    instant("created_at"),
    Column("enquiry_id", Uuid, comment="the enquiry that a supplier attached it to, for many items at once"),
    Column("row_numbers", ARRAY(Integer), comment="the rows of that enquiry whose parts it is about"),
    Index("ix_review_files_enquiry_id", "enquiry_id", postgresql_where=text("enquiry_id IS NOT NULL")),
    Index(None, "request_id"),
    Index(None, "entry_id"),
)

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
    sku_archived: bool = False

    @property
    def resource(self) -> str:
        """Return the resource type of its ledger entries."""
        return RESOURCES[self.kind]


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
_COLUMNS: Final = ", ".join(
    f"review_entries.{column.name}" for column in review_entries.columns if column.name in _OF_ENTRY
)
_SELECT: Final = f"""
SELECT {_COLUMNS}, sku.sku_code, sku.name AS sku_name,
    {skus.is_archived("review_entries.sku_id")} AS sku_archived
FROM {{rows}} AS review_entries
LEFT JOIN LATERAL {skus.name_query("review_entries.sku_id")} AS sku ON true"""
"""SKUs are looked up one by one: for a page of entries Postgres may estimate that reading all of them is cheaper."""


def find_entry(connection: Connection, entry_id: UUID) -> Entry | None:
    """Return one entry of the session's company."""
    return _one(connection, "(SELECT * FROM review_entries WHERE id = %s)", entry_id)


def answer_to(connection: Connection, request_id: UUID) -> Entry | None:
    """Return the latest answer to a supplier's request, in any state; None where there is none."""
    rows = "(SELECT * FROM review_entries WHERE request_id = %s ORDER BY filed_at DESC, id DESC LIMIT 1)"
    return _one(connection, rows, request_id)


def page(connection: Connection, *, state: State = "open", limit: int = 50, offset: int = 0) -> tuple[list[Entry], int]:
    """Return a page of the queue and how many there are in all.

    `state` is `open` (the one that waits longest first) or `decided` (the latest decision first).
    """
    if state == "open":
        return _page(connection, "state = 'open'", "filed_at, id", limit=limit, offset=offset)
    return _page(connection, "decided_at IS NOT NULL", "decided_at DESC, id", limit=limit, offset=offset)


def answers(
    connection: Connection, *, supplier_name: str | None = None, limit: int = 50, offset: int = 0
) -> tuple[list[Entry], int]:
    """Return a page of the waiting answers of suppliers, of one or of all, the longest waiting first; their number."""
    condition = """state = 'open' AND kind = 'supplier_answer'
        AND (%(name)s::text IS NULL OR lower(filed_by_name) = lower(%(name)s::text))"""
    return _page(connection, condition, "filed_at, id", name=supplier_name, limit=limit, offset=offset)


def doc_drafts(
    connection: Connection, *, sku_id: UUID | None = None, limit: int = 50, offset: int = 0
) -> tuple[list[Entry], int]:
    """Return a page of the waiting drafts of declarations, of one SKU or all, newest first, and their number."""
    condition = "state = 'open' AND kind = 'doc_draft' AND (%(sku_id)s::uuid IS NULL OR sku_id = %(sku_id)s::uuid)"
    return _page(connection, condition, "filed_at DESC, id DESC", sku_id=sku_id, limit=limit, offset=offset)


def _page(
    connection: Connection, condition: str, order: str, *, limit: int, offset: int, **filters: object
) -> tuple[list[Entry], int]:
    rows = f"(SELECT * FROM review_entries WHERE {condition} ORDER BY {order} LIMIT {limit:d} OFFSET {offset:d})"
    with connection.cursor(row_factory=class_row(Entry)) as cursor:
        entries = cursor.execute(f"{_SELECT.format(rows=rows)} ORDER BY {order}", filters).fetchall()
    counted = connection.execute(f"SELECT count(*) FROM review_entries WHERE {condition}", filters).fetchone()
    assert counted is not None, "a count is one row"
    return entries, counted[0]


def lock_filing(connection: Connection, company_id: UUID, filing_key: bytes) -> None:
    """Make other filings under the same key wait until the transaction ends."""
    query = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
    connection.execute(query, [f"{company_id}/{filing_key.hex()}"])


def filed_as(connection: Connection, filing_key: bytes) -> Entry | None:
    """Return the entry that was filed under a key; None where there is none."""
    return _one(connection, "(SELECT * FROM review_entries WHERE filing_key = %s)", filing_key)


def add(connection: Connection, filing: JsonMapping) -> None:
    """Add an open entry; `filing` has its columns, `filing_key` being the same when the filing is repeated."""
    connection.execute(
        """
INSERT INTO review_entries
    (id, company_id, kind, state, sku_id, request_id, payload, filing_key, filed_by_type, filed_by_id, filed_by_name,
     filed_at)
VALUES (%(id)s, %(company_id)s, %(kind)s, 'open', %(sku_id)s, %(request_id)s, %(payload)s::json, %(filing_key)s,
    %(filed_by_type)s, %(filed_by_id)s, %(filed_by_name)s, %(filed_at)s)""",
        {**filing, "payload": orjson.dumps(filing["payload"]).decode()},
    )


def add_answers(connection: Connection, filing: JsonMapping, entries: Sequence[JsonMapping]) -> None:
    """Add an open answer to each of many requests, in place of the one that waits.

    Each of `entries` has its own id, sku_id, request_id and payload; `filing` has the columns that they share.
    """
    requests = [entry["request_id"] for entry in entries]
    connection.execute(
        "UPDATE review_entries SET state = 'replaced' WHERE state = 'open' AND request_id = ANY(%s::uuid[])", [requests]
    )
    connection.execute(
        """
INSERT INTO review_entries
    (id, company_id, kind, state, sku_id, request_id, payload, filed_by_type, filed_by_id, filed_by_name, filed_at)
SELECT entry.id, %(company_id)s, 'supplier_answer', 'open', entry.sku_id, entry.request_id, entry.payload,
    %(filed_by_type)s, %(filed_by_id)s, %(filed_by_name)s, %(filed_at)s
FROM json_to_recordset(%(entries)s::json) AS entry(id uuid, sku_id uuid, request_id uuid, payload json)""",
        {**filing, "entries": orjson.dumps(entries).decode()},
    )
    connection.execute(
        """
UPDATE review_files AS files SET entry_id = entry.id
FROM review_entries AS entry LEFT JOIN review_entries AS before
    ON before.request_id = entry.request_id AND before.state = 'replaced'
WHERE entry.id = ANY(%s::uuid[]) AND files.request_id = entry.request_id
    AND (files.entry_id IS NULL OR files.entry_id = before.id)""",
        [[entry["id"] for entry in entries]],
    )


def lock(connection: Connection, entry_id: UUID) -> None:
    """Lock an entry until the transaction ends."""
    connection.execute("SELECT FROM review_entries WHERE id = %s FOR UPDATE", [entry_id])


def decide(connection: Connection, entry_id: UUID, decision: Decision) -> None:
    """Write a decision into its entry."""
    decided = None if decision.decided is None else orjson.dumps(decision.decided).decode()
    connection.execute(
        """
UPDATE review_entries SET state = %(state)s, decided_by_id = %(by_id)s, decided_by_name = %(by_name)s,
    decided_at = %(at)s, reason = %(reason)s, note = %(note)s, decided = %(decided)s::json WHERE id = %(id)s""",
        {**asdict(decision), "decided": decided, "id": entry_id},
    )


def replace_open(connection: Connection, request_id: UUID) -> UUID | None:
    """Put the open answer to a request into the state `replaced`; its id, None where none was open."""
    query = "UPDATE review_entries SET state = 'replaced' WHERE request_id = %s AND state = 'open' RETURNING id"
    replaced = connection.execute(query, [request_id]).fetchone()
    return replaced[0] if replaced else None


def _one(connection: Connection, rows: str, key: UUID | bytes) -> Entry | None:
    with connection.cursor(row_factory=class_row(Entry)) as cursor:
        return cursor.execute(_SELECT.format(rows=rows), [key]).fetchone()


_KEPT: Final = tuple(field.name for field in fields(File))
_FILES: Final = f"""
SELECT {", ".join(f"review_files.{name}" for name in _KEPT)}
FROM review_files LEFT JOIN review_entries AS entry ON entry.id = review_files.entry_id
WHERE {{condition}} ORDER BY review_files.created_at, review_files.id"""


def add_file(connection: Connection, file: File, belongs_to: JsonMapping) -> None:
    """Add the record of a file; `belongs_to` has `company_id`, `request_id`, `entry_id`, and `created_at`."""
    row = {**asdict(file), **belongs_to}
    values = ", ".join(f"%({name})s" for name in row)
    connection.execute(f"INSERT INTO review_files ({', '.join(row)}) VALUES ({values})", row)


def count_of_request(connection: Connection, request_id: UUID) -> int:
    """Count the files of a request, those of rejected answers included."""
    counted = connection.execute("SELECT count(*) FROM review_files WHERE request_id = %s", [request_id]).fetchone()
    assert counted is not None, "a count is one row"
    return int(counted[0])


class Evidence(NamedTuple):
    """A file that came with an entry, and the parts that it is about; None for the whole SKU."""

    file: File
    component_ids: list[UUID] | None


_SHARED: Final = f"""
SELECT {", ".join(f"files.{name}" for name in _KEPT)}, ARRAY(
    SELECT requests.component_ids[at] FROM generate_subscripts(requests.row_numbers, 1) AS at
    WHERE requests.row_numbers[at] = ANY(files.row_numbers))
FROM review_entries AS entry JOIN supplier_requests AS requests ON requests.id = entry.request_id
JOIN review_files AS files ON files.enquiry_id = requests.enquiry_id AND files.row_numbers && requests.row_numbers
WHERE entry.id = %s ORDER BY files.created_at, files.id"""


def evidence_of(connection: Connection, entry_id: UUID) -> list[Evidence]:
    """Return the files that came with an entry, then those that its enquiry has for the same parts."""
    own = [Evidence(file, None) for file in _files(connection, "review_files.entry_id = %s", entry_id)]
    shared = connection.execute(_SHARED, [entry_id]).fetchall()
    return [*own, *(Evidence(File(*row[:-1]), row[-1]) for row in shared)]


def of_entry(connection: Connection, entry_id: UUID) -> list[File]:
    """Return the files that came with an entry and with its enquiry, in the order of arrival."""
    return [evidence.file for evidence in evidence_of(connection, entry_id)]


class Shared(NamedTuple):
    """A file that a supplier attached to many items at once: to these rows of the enquiry."""

    file: File
    row_numbers: list[int]


def of_enquiry(connection: Connection, enquiry_id: UUID) -> list[Shared]:
    """Return the files that were attached to rows of an enquiry, in the order of arrival."""
    query = f"SELECT {', '.join(_KEPT)}, row_numbers FROM review_files WHERE enquiry_id = %s ORDER BY created_at, id"
    return [Shared(File(*row[:-1]), row[-1]) for row in connection.execute(query, [enquiry_id])]


def of_request(connection: Connection, request_id: UUID) -> list[File]:
    """Return the files of the next answer to a request: attached since the last, or with the answer that waits."""
    return _files(connection, "review_files.request_id = %s AND coalesce(entry.state, 'open') = 'open'", request_id)


def take(connection: Connection, request_id: UUID, entry_id: UUID, *, replaced: UUID | None) -> None:
    """Give an answer the files attached since the last one, and those of the answer that it replaces."""
    query = "UPDATE review_files SET entry_id = %s WHERE request_id = %s AND (entry_id IS NULL OR entry_id = %s)"
    connection.execute(query, [entry_id, request_id, replaced])


def _files(connection: Connection, condition: str, key: UUID) -> list[File]:
    with connection.cursor(row_factory=class_row(File)) as cursor:
        return cursor.execute(_FILES.format(condition=condition), [key]).fetchall()


_APPLIED: Final = f"""
SELECT entries.id, entries.kind, entries.sku_id, sku.sku_code, entries.payload, requests.asked,
    ({GRAPH_AT.format(sku="entries.sku_id", until="<= coalesce(requests.created_at, entries.filed_at)")}),
    ({GRAPH_AT.format(sku="entries.sku_id", until="< entries.decided_at")}),
    entries.filed_by_name, entries.decided_by_name, entries.decided_at
FROM review_entries AS entries
LEFT JOIN supplier_requests AS requests ON requests.id = entries.request_id
LEFT JOIN LATERAL {skus.name_query("entries.sku_id")} AS sku ON true
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
