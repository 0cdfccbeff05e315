"""Reads the limits of a company's plan and their use: SKUs, and bytes of technical files and uploads.

What belongs here: the limits, the amounts compared with them, and the uploads that may be removed to make room. What
does not: refusals (`pipelines.writing.plans` and `pipelines.writing.quota`).

A company's counters are one row. The transaction that locks it decides alone, until its commit, whether more fits.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from warehouse.sessions import Connection

_OF_PLAN: Final = (
    "FROM companies JOIN plans USING (plan) "
    "JOIN company_counters AS counters ON counters.company_id = companies.id WHERE companies.id = %s"
)
_LOCKING: Final = "FOR UPDATE OF counters"
_ARCHIVED: Final = "EXISTS (SELECT FROM archived_skus WHERE returned_at IS NULL)"
_SKUS: Final = f"SELECT plans.sku_limit, counters.skus, {_ARCHIVED} {_OF_PLAN}"
_STORAGE: Final = f"SELECT plans.storage_bytes {_OF_PLAN} {_LOCKING}"
_STORED: Final = """
SELECT (SELECT coalesce(sum(size_bytes), 0) FROM imports WHERE upload_removed_at IS NULL)
     + (SELECT coalesce(sum(size_bytes), 0) FROM exports)
     + (SELECT coalesce(sum(size_bytes), 0)
        FROM (SELECT id, size_bytes FROM technical_files UNION SELECT id, size_bytes FROM review_files) AS files)
"""
"""A document that a review accepted is in both tables of files, under one id and once on the disk."""
_REPLACEABLE: Final = """
SELECT id, object_key, size_bytes, 'export' AS kind, created_at FROM exports WHERE status = 'completed'
UNION ALL SELECT id, upload_key, size_bytes, 'upload', created_at FROM imports
WHERE dry_run AND upload_removed_at IS NULL AND status IN ('completed', 'failed') ORDER BY kind, created_at, id
"""
_UPLOADS_REMOVED: Final = "UPDATE imports SET upload_removed_at = %s WHERE id = ANY(%s)"
_EXPORTS_REMOVED: Final = "DELETE FROM exports WHERE id = ANY(%s)"


class Skus(NamedTuple):
    """The plan's limit of SKUs, null for no limit, and the number of SKUs that the company has.

    `has_archived` says whether it also has archived SKUs, which the number leaves out.
    """

    limit: int | None
    held: int
    has_archived: bool


class Replaceable(NamedTuple):
    """A stored file that can be had again: its key in the object store, and its size.

    `kind` is upload, of the import of the id, or export.
    """

    id: UUID
    key: str
    size_bytes: int
    kind: str


def skus(connection: Connection, company_id: UUID) -> Skus | None:
    """Return the session's company's SKUs and their limit; None for any other company."""
    row = connection.execute(_SKUS, [company_id]).fetchone()
    return None if row is None else Skus(*row)


def skus_locked(connection: Connection, company_id: UUID) -> Skus | None:
    """Return the same, and lock the counters until the transaction ends."""
    row = connection.execute(f"{_SKUS} {_LOCKING}", [company_id]).fetchone()
    return None if row is None else Skus(*row)


def storage_locked(connection: Connection, company_id: UUID) -> int | None:
    """Return the plan's limit of bytes for the session's company, null for no limit; locks the counters."""
    row = connection.execute(_STORAGE, [company_id]).fetchone()
    assert row is not None, "a session's company has a row and a counter"
    limit: int | None = row[0]
    return limit


def stored_bytes(connection: Connection) -> int:
    """Return the bytes of the company's technical files, uploads and exports; other derived files are not counted."""
    (total,) = connection.execute(_STORED).fetchone() or (0,)
    return int(total)


def replaceable(connection: Connection) -> list[Replaceable]:
    """Return the company's exports, then the uploads of its dry runs that have ended, each the oldest first."""
    return [Replaceable(*row[:4]) for row in connection.execute(_REPLACEABLE).fetchall()]


def removed(connection: Connection, files: Sequence[Replaceable], at: datetime) -> None:
    """Record that these files have been removed."""
    connection.execute(_UPLOADS_REMOVED, [at, [file.id for file in files if file.kind == "upload"]])
    connection.execute(_EXPORTS_REMOVED, [[file.id for file in files if file.kind == "export"]])
