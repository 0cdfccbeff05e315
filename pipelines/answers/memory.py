"""What the parts of a supplier's request, an answer or a proposal were when they were asked about.

Requests and entries keep it. Those from before they did have it from the versions of their SKU: the one that stood at
the time. Where no version tells, it is not known.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from pipelines.answers.parts import AskedPart, facts_by_id, facts_of, named_ids
from schemas.sku import Component, PartFacts
from warehouse.review import supplier_requests
from warehouse.review.entries import Entry
from warehouse.review.supplier_requests import Request
from warehouse.sessions import Connection
from warehouse.skus import earlier

Memory = dict[str, PartFacts]
"""What parts were, by id."""


def of_request(conn: Connection, request: Request) -> Memory:
    """Return what the parts of a request were when it was made."""
    if request.asked is not None:
        return request.asked
    return _at(conn, request.sku_id, request.created_at, [str(each) for each in request.component_ids])


def of_entry(conn: Connection, entry: Entry) -> Memory:
    """Return what the parts of an entry were when they were asked about; of a proposal, when it was filed."""
    if (kept := entry.payload.get("asked")) is not None:
        memory: Memory = kept
        return memory
    request = supplier_requests.of(conn, entry.request_id) if entry.request_id else None
    if request is not None:
        return of_request(conn, request)
    ids = named_ids(entry.kind, entry.payload)
    return _at(conn, entry.sku_id, entry.filed_at, ids) if entry.sku_id and ids else {}


def _at(conn: Connection, sku_id: UUID, at: datetime, ids: Sequence[str]) -> Memory:
    return facts_by_id(earlier.lines_at(conn, sku_id, at) or (), ids)


def asked_parts(conn: Connection, entry: Entry, lines: Sequence[Component]) -> tuple[AskedPart, ...]:
    """Return each part that an entry is about, as it was asked about and as it is among these lines."""
    if not (ids := named_ids(entry.kind, entry.payload)):
        return ()
    memory, now = of_entry(conn, entry), {line["id"]: facts_of(line) for line in lines}
    return tuple(AskedPart(each, memory.get(each), now.get(each)) for each in ids)
