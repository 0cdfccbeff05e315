"""The plan's storage: how many bytes of technical files and uploads a company keeps, and the refusal above its quota.

A dry run is never refused (decisions §12): uploads of dry runs that have ended make room for whatever comes, the oldest
first. Derived files (tables read from uploads, snapshots, figures) are not counted.
"""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg

from pipelines.writing.plans import PlanLimitReached
from warehouse.objects import Objects

_LIMIT: Final = (
    "SELECT plans.storage_bytes FROM companies JOIN plans USING (plan) "
    "JOIN company_counters AS counters ON counters.company_id = companies.id WHERE companies.id = %s "
    "FOR UPDATE OF counters"
)
"""Locks the counter, so that two files at once cannot both take the last bytes."""
_HELD: Final = """
SELECT (SELECT coalesce(sum(size_bytes), 0) FROM imports WHERE upload_removed_at IS NULL)
     + (SELECT coalesce(sum(size_bytes), 0)
        FROM (SELECT id, size_bytes FROM technical_files UNION SELECT id, size_bytes FROM review_files) AS files)
"""
"""A document that a review accepted is in both tables of files, under one id and once on the disk."""
_TRIED: Final = """
SELECT id, upload_key, size_bytes FROM imports
WHERE dry_run AND upload_removed_at IS NULL AND status IN ('completed', 'failed') ORDER BY created_at, id
"""
_REMOVED: Final = "UPDATE imports SET upload_removed_at = %s WHERE id = ANY(%s)"


class StorageFull(PlanLimitReached):
    """The file would pass the plan's storage; nothing was stored. `limit`, `held` and `new` are bytes."""

    def __init__(self, limit: int, held: int, new: int) -> None:
        """Says what an operator can do."""
        super().__init__(limit, held, new)
        sentence = f"The plan stores {limit} bytes of technical files and uploads; {held} are held and this would add"
        self.args = (f"{sentence} {new}. Ask the operator for a larger plan.",)


def admit(
    conn: psycopg.Connection[Any], objects: Objects, company_id: UUID, *, new_bytes: int, now: datetime,
    dry_run: bool = False,
) -> None:  # fmt: skip
    """Make room for a file of so many bytes in the company's session; raises `StorageFull` where there is none.

    What is removed to make room is removed for good, also where the caller's transaction is undone: it was a dry run's.
    """
    row = conn.execute(_LIMIT, [company_id]).fetchone()
    assert row is not None, "a session's company has a row and a counter"
    if (limit := row[0]) is None:
        return
    (held,) = conn.execute(_HELD).fetchone() or (0,)
    held = int(held)
    if held + new_bytes > limit:
        held -= _make_room(conn, objects, held + new_bytes - limit, now)
    if held + new_bytes > limit and not dry_run:
        raise StorageFull(limit, held, new_bytes)


def _make_room(conn: psycopg.Connection[Any], objects: Objects, wanted: int, now: datetime) -> int:
    """Remove uploads of dry runs until so many bytes are free or none is left; the bytes that were."""
    freed, removed = 0, []
    for import_id, key, size in conn.execute(_TRIED).fetchall():
        if freed >= wanted:
            break
        objects.delete(key)
        removed.append(import_id)
        freed += size
    conn.execute(_REMOVED, [now, removed])
    return freed
