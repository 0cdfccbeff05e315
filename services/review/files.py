"""Stores files that wait with an entry, up to a limit for each request, and records them when the entry is accepted.

The id of a file stays the same, so that accepting moves no byte. A file that came with a rejected answer stays with it.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import Refused
from services import technical_files
from warehouse.audit.origin import Origin
from warehouse.review import files
from warehouse.review.entries import Entry
from warehouse.sessions import Connection
from warehouse.technical_files.queries import File

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
    if request_id is not None and files.count_of_request(conn, request_id) >= MOST_FILES:
        sentence = Message(
            "A request takes at most {most} documents; answer with those that are there.", most=MOST_FILES
        )
        raise Refused([Issue("too_long", sentence, "file")])
    files.add(conn, company_id, file, request_id=request_id, entry_id=entry_id, at=now)


def accept(conn: Connection, company_id: UUID, entry: Entry, *, origin: Origin, now: datetime) -> None:
    """Record the entry's files as technical files of its SKU, each with its entry in the ledger."""
    for file in files.of_entry(conn, entry.id):
        assert entry.sku_id is not None, "what comes with files is about a SKU"
        technical_files.record(conn, company_id, entry.sku_id, file, origin=origin, now=now)
