"""Files that wait with an entry: their bytes lie where technical files lie, their record here until the acceptance.

The id stays the same, so that accepting moves no byte. A file that came with a rejected answer stays with it.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from services import technical_files
from services.review.entries import Entry
from services.technical_files import Received
from warehouse.audit.origin import Origin

MOST_FILES: Final = 20
"""Files that a supplier may attach to one request."""

_FIELDS: Final = ("type", "reference", "issuer", "issued_on", "expires_on")
_BYTES: Final = ("id", "filename", "media_type", "size_bytes", "sha256")
_KEPT: Final = (*_BYTES, *_FIELDS)
_ADD: Final = f"""
INSERT INTO review_files (company_id, request_id, entry_id, created_at, {", ".join(_KEPT)})
VALUES (%(company_id)s, %(request_id)s, %(entry_id)s, %(at)s, {", ".join(f"%({name})s" for name in _KEPT)})"""
_COUNT: Final = "SELECT count(*) FROM review_files WHERE request_id = %s"
_SELECT: Final = f"""
SELECT {", ".join(f"review_files.{name}" for name in _KEPT)}
FROM review_files LEFT JOIN review_entries AS entry ON entry.id = review_files.entry_id
WHERE {{of}} ORDER BY review_files.created_at, review_files.id"""
_OF_ENTRY: Final = _SELECT.format(of="review_files.entry_id = %s")
_OF_REQUEST: Final = _SELECT.format(of="review_files.request_id = %s AND coalesce(entry.state, 'open') = 'open'")
_TAKE: Final = """
UPDATE review_files SET entry_id = %(entry_id)s
WHERE request_id = %(request_id)s AND (entry_id IS NULL OR entry_id = %(replaced)s)"""


class TooManyFiles(Exception):  # noqa: N818  (an answer, not a fault)
    """The request has as many files as it may have."""

    code = "too_long"


def attach(
    conn: psycopg.Connection[Any], company_id: UUID, file: Received, *, now: datetime, request_id: UUID | None = None,
    entry_id: UUID | None = None,
) -> None:  # fmt: skip
    """Keep the record of a file whose bytes have arrived, for a supplier's request or an entry that is filed already.

    Of a request's files two at once are counted one after the other: the caller has the request locked. Raises
    `TooManyFiles`.
    """
    if request_id is not None:
        counted = conn.execute(_COUNT, [request_id]).fetchone()
        assert counted is not None, "a count is one row"
        if counted[0] >= MOST_FILES:
            raise TooManyFiles(f"A request takes at most {MOST_FILES} documents; answer with those that are there.")
    about = {name: getattr(file, name) for name in _BYTES} | {name: file.fields[name] for name in _FIELDS}
    about |= {"company_id": company_id, "request_id": request_id, "entry_id": entry_id, "at": now}
    conn.execute(_ADD, about)


def of_entry(conn: psycopg.Connection[Any], entry_id: UUID) -> list[dict[str, Any]]:
    """The files that came with an entry, in the order in which they came."""
    return _all(conn, _OF_ENTRY, entry_id)


def of_request(conn: psycopg.Connection[Any], request_id: UUID) -> list[dict[str, Any]]:
    """The files that go with the next answer to a request: attached since, or with the answer that waits."""
    return _all(conn, _OF_REQUEST, request_id)


def take(conn: psycopg.Connection[Any], request_id: UUID, entry_id: UUID, *, replaced: UUID | None) -> None:
    """Give an answer the files attached since the last one, and those of the answer that it replaces."""
    conn.execute(_TAKE, {"request_id": request_id, "entry_id": entry_id, "replaced": replaced})


def accept(conn: psycopg.Connection[Any], company_id: UUID, entry: Entry, *, origin: Origin, now: datetime) -> None:
    """Record the entry's files as technical files of its SKU, each with its entry in the ledger."""
    for held in of_entry(conn, entry.id):
        assert entry.sku_id is not None, "what comes with files is about a SKU"
        technical_files.record(conn, company_id, received(held, entry.sku_id), origin=origin, now=now)


def received(held: Mapping[str, Any], sku_id: UUID) -> Received:
    """A file of an entry as the technical file that it would be."""
    about = {name: held[name] for name in _BYTES}
    return Received(sku_id=sku_id, fields={name: held[name] for name in _FIELDS}, **about)


def _all(conn: psycopg.Connection[Any], query: str, of: UUID) -> list[dict[str, Any]]:
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, [of]).fetchall()
