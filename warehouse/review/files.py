"""Records files that wait with an entry of the review queue or with a supplier's request.

Their bytes are stored like the bytes of technical files, under the same id. `services.review.files` limits how many a
request takes, and moves a file when its entry is decided.
"""

from dataclasses import asdict, fields
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.rows import class_row

from warehouse.sessions import Connection
from warehouse.technical_files.queries import File

_KEPT: Final = tuple(field.name for field in fields(File))
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


def add(
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
    return _all(connection, _OF_ENTRY, entry_id)


def of_request(connection: Connection, request_id: UUID) -> list[File]:
    """Return the files of the next answer to a request: attached since the last, or with the answer that waits."""
    return _all(connection, _OF_REQUEST, request_id)


def take(connection: Connection, request_id: UUID, entry_id: UUID, *, replaced: UUID | None) -> None:
    """Give an answer the files attached since the last one, and those of the answer that it replaces."""
    connection.execute(_TAKE, {"request_id": request_id, "entry_id": entry_id, "replaced": replaced})


def _all(connection: Connection, query: str, key: UUID) -> list[File]:
    with connection.cursor(row_factory=class_row(File)) as cursor:
        return cursor.execute(query, [key]).fetchall()
