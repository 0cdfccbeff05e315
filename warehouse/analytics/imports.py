"""Counts SKUs by import, to lead from a snapshot back to the files that a company sent.

`warehouse.skus.origins` has the names of files.
"""

from typing import Final
from uuid import UUID

from warehouse.analytics.reader import reader
from warehouse.snapshots import Snapshot

_BY_IMPORT: Final = """
SELECT import_id, count(*) FROM skus WHERE import_id IS NOT NULL GROUP BY import_id ORDER BY count(*) DESC, import_id
"""


def imports(snapshot: Snapshot) -> dict[UUID, int]:
    """Count SKUs by the import that wrote them last, most first; SKUs last written singly are in none."""
    with reader(snapshot) as found:
        return {UUID(import_id): skus for import_id, skus in found.rows(_BY_IMPORT)}
