"""Files an entry of the review queue, once however often that is repeated, and loads one.

A payload is JSON, and by kind it is:

    supplier_answer      {"components", "contact", "comment"}: `schemas.supplier`, with `request_id` beside it
    sku_update           {"changes", "component_changes"}: the fields of `schemas.models.SkuInput` that are to change,
                         and fields of single components by their `id`
    doc_draft            {"reference", …}: the name of the declaration of conformity, and its prepared content
    supplier_document    {"type", "filename", "sha256", …}: the document's metadata (`schemas.technical_file_form`)

The first two keep in `asked` what the parts that they name were (`pipelines.answers`). The rows and the pages of the
queue are `warehouse.review.entries`.
"""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from uuid_utils import uuid7

from pipelines.answers.parts import facts_by_id, named_ids
from schemas.refusals import NotThere
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.review import entries
from warehouse.review.entries import Entry, Filing
from warehouse.sessions import Connection
from warehouse.skus import graphs


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

    A second filing under the same `filing_key` (a digest of what is filed and by whom) returns the first entry, as
    it stands now, and files nothing.
    """
    if filing_key is not None:
        entries.lock_filing(conn, company_id, filing_key)
        if already_filed := entries.filed_as(conn, filing_key):
            return already_filed
    if kind == "sku_update" and sku_id is not None and (ids := named_ids(kind, payload)):
        payload = {**payload, "asked": facts_by_id(graphs.of_id(conn, sku_id) or (), ids)}
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
    filed = load_entry(conn, filing.id)
    values = {"kind": kind, "sku_id": sku_id, "request_id": request_id, "payload": payload}
    stored_values = {name: value for name, value in values.items() if value is not None}
    action = f"{filed.resource}.filed"
    ledger.enter(conn, company_id, action, filed.id, origin=origin, now=now, before=None, after=stored_values)
    return filed


def load_entry(conn: Connection, entry_id: UUID) -> Entry:
    """Return an entry of the session's company. Raises `NotThere`."""
    found = entries.of(conn, entry_id)
    if found is None:
        raise NotThere
    return found
