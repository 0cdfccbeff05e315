"""Filing an entry of the review queue, once however often it is repeated, and finding one.

A payload is JSON, and by kind it is:

    supplier_answer      {"components", "contact", "comment"}: `schemas.supplier`, with `request_id` beside it
    sku_update           {"changes"}: the fields of `schemas.models.SkuInput` that shall change
    doc_draft            {"reference", …}: what the declaration of conformity is called, and what was prepared for it
    supplier_document    {"type", "filename", "sha256", …}: what the document is (`schemas.technical_file_form`)

The rows and the pages of the queue are `warehouse.review.entries`.
"""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from uuid_utils import uuid7

from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.review import entries
from warehouse.review.entries import Entry, Filing
from warehouse.sessions import Connection


class EntryUnknown(LookupError):  # noqa: N818  (an answer, not a fault)
    """The company has no such entry."""

    code = "not_found"


def file(
    conn: Connection,
    company_id: UUID,
    kind: str,
    payload: Mapping[str, object],
    *,
    origin: Origin,
    now: datetime,
    sku_id: UUID | None = None,
    request_id: UUID | None = None,
    filing_key: bytes | None = None,
) -> Entry:
    """File an entry in the caller's transaction, whose session has the company set, and enter it into the ledger.

    A second filing under the same `filing_key` (a digest of what is filed and by whom) gives back the first entry, as
    it stands now, and files nothing.
    """
    if filing_key is not None:
        entries.lock_filing(conn, company_id, filing_key)
        if before := entries.filed_as(conn, filing_key):
            return before
    filing = Filing(
        id=UUID(str(uuid7())),
        kind=kind,
        payload=payload,
        sku_id=sku_id,
        request_id=request_id,
        filing_key=filing_key,
        filed_by_type=origin.actor_type,
        filed_by_id=origin.actor_id,
        filed_by_name=origin.actor_name,
        filed_at=now,
    )
    entries.add(conn, company_id, filing)
    filed = entry(conn, filing.id)
    after = {"kind": kind, "sku_id": sku_id, "request_id": request_id, "payload": payload}
    given = {name: value for name, value in after.items() if value is not None}
    action = f"{filed.resource}.filed"
    ledger.enter(conn, company_id, action, filed.id, origin=origin, now=now, before=None, after=given)
    return filed


def entry(conn: Connection, entry_id: UUID) -> Entry:
    """One entry of the session's company. Raises `EntryUnknown`."""
    found = entries.of(conn, entry_id)
    if found is None:
        raise EntryUnknown(f"There is no entry {entry_id}.")
    return found
