"""Which imports a portfolio came with: the way from a snapshot back to the files that a company sent.

Names of files are `warehouse.skus.origins`.
"""

from typing import Final
from uuid import UUID

from warehouse.analytics.reader import reader
from warehouse.snapshots import Snapshot

_BY_IMPORT: Final = """
SELECT import_id, count(*) FROM skus WHERE import_id IS NOT NULL GROUP BY import_id ORDER BY count(*) DESC, import_id
"""


def imports(snapshot: Snapshot) -> dict[UUID, int]:
    """SKUs by the import that wrote them last, most first; those that single writes left are in none."""
    with reader(snapshot) as found:
        return {UUID(import_id): skus for import_id, skus in found.rows(_BY_IMPORT)}
