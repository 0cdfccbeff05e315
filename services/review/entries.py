"""Files an entry of the review queue, once however often that is repeated, and loads one.

A payload is JSON, and by kind it is:

    supplier_answer      {"components", "contact", "comment"}: `schemas.suppliers`, with `request_id` beside it
    sku_update           {"changes", "component_changes"}: the fields of `schemas.skus.inputs.SkuInput` that are to
    change,
                         and fields of single components by their `id`
    doc_draft            {"reference", …}: the name of the declaration of conformity, and its prepared content
    supplier_document    {"type", "filename", "sha256", …}: the document's metadata (`schemas.files`)

The first two keep in `asked` what the parts that they name were (`services.suppliers.parts`). The rows and the pages of
the
queue are `warehouse.review.entries`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from uuid_utils import uuid7

from schemas.actors import Actor
from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import NotThere, Refused
from services import files as files_services
from services.suppliers.parts import facts_by_id, named_ids
from warehouse.audit import ledger
from warehouse.files import File
from warehouse.operate.sessions import Connection
from warehouse.review import entries
from warehouse.review.entries import Entry, Filing
from warehouse.skus import store


def file(
    conn: Connection,
    actor: Actor,
    kind: str,
    payload: Mapping[str, object],
    *,
    sku_id: UUID | None = None,
    request_id: UUID | None = None,
    filing_key: bytes | None = None,
) -> Entry:
    """File an entry in the caller's transaction, whose session has the company set, and enter it into the ledger.

    A second filing under the same `filing_key` (a digest of what is filed and by whom) returns the first entry, as
    it stands now, and files nothing.
    """
    if filing_key is not None:
        entries.lock_filing(conn, actor.company_id, filing_key)
        if already_filed := entries.filed_as(conn, filing_key):
            return already_filed
    if kind == "sku_update" and sku_id is not None and (ids := named_ids(kind, payload)):
        payload = {**payload, "asked": facts_by_id(store.of_id(conn, sku_id) or (), ids)}
    filing = Filing(
        id=UUID(str(uuid7())),
        kind=kind,
        payload=payload,
        sku_id=sku_id,
        request_id=request_id,
        filing_key=filing_key,
        filed_by_type=actor.origin.actor_type,
        filed_by_id=actor.origin.actor_id,
        filed_by_name=actor.origin.actor_name,
        filed_at=actor.now,
    )
    entries.add(conn, actor.company_id, filing)
    filed = load_entry(conn, filing.id)
    values = {"kind": kind, "sku_id": sku_id, "request_id": request_id, "payload": payload}
    stored_values = {name: value for name, value in values.items() if value is not None}
    action = f"{filed.resource}.filed"
    ledger.enter(conn, actor, action, filed.id, before=None, after=stored_values)
    return filed


def load_entry(conn: Connection, entry_id: UUID) -> Entry:
    """Return an entry of the session's company. Raises `NotThere`."""
    found = entries.of(conn, entry_id)
    if found is None:
        raise NotThere
    return found


MOST_FILES: Final = 20
"""Files that a supplier may attach to one request."""


def attach(
    conn: Connection,
    company_id: UUID,
    file: File,
    *,
    now: datetime,
    request_id: UUID | None = None,
    entry_id: UUID | None = None,
) -> None:
    """Store the record of a file whose bytes have arrived, for a supplier's request or an entry that is filed already.

    The caller has the request locked, so that concurrent files are counted one after the other. Raises
    `Refused`.
    """
    if request_id is not None and entries.count_of_request(conn, request_id) >= MOST_FILES:
        sentence = Message(
            "A request takes at most {most} documents; answer with those that are there.", most=MOST_FILES
        )
        raise Refused([Issue("too_long", sentence, "file")])
    entries.add_file(conn, company_id, file, request_id=request_id, entry_id=entry_id, at=now)


def accept(
    conn: Connection,
    actor: Actor,
    entry: Entry,
) -> None:
    """Record the entry's files as technical files of its SKU, each with its entry in the ledger."""
    for file in entries.of_entry(conn, entry.id):
        assert entry.sku_id is not None, "what comes with files is about a SKU"
        files_services.record(
            conn,
            actor,
            entry.sku_id,
            file,
        )
