"""Finds the SKUs that have changed since a snapshot, so that the next one needs to read only those.

The ledger lists them: every write of a SKU or of a DoC has an entry, and entries have numbers without gaps (decision
0009). Changes by a new day follow from the DoCs' own dates.
"""

from collections.abc import Sequence
from datetime import date
from typing import Final
from uuid import UUID

from schemas.audit import actions_of
from warehouse.sessions import Connection
from warehouse.snapshots.snapshot import Snapshot
from warehouse.snapshots.source import PART_SKUS

_CHANGED: Final = """
WITH entered AS (
    SELECT DISTINCT resource_id, split_part(action, '.', 1) = 'doc' AS is_doc
    FROM audit_entries WHERE id > %(last_entry)s AND action = ANY(%(actions)s)
)
SELECT resource_id::uuid FROM entered WHERE NOT is_doc
UNION
SELECT sku_id FROM docs
WHERE sku_id IS NOT NULL AND (
    id IN (SELECT resource_id::uuid FROM entered WHERE is_doc)
    OR status = 'valid' AND (issued_on > %(since)s AND issued_on <= %(today)s
                             OR expires_on >= %(since)s AND expires_on < %(today)s))
LIMIT %(most)s
"""
_LAST_ENTRY: Final = """
SELECT first_entry + entries - 1 FROM audit_transactions WHERE number = %s AND hash = decode(%s, 'hex')
"""
_ACTIONS: Final = [*actions_of("sku"), *actions_of("sku_volumes"), *actions_of("doc")]


def changed_since(conn: Connection, before: Snapshot, today: date) -> Sequence[UUID] | None:
    """Return the SKUs that were created, changed or removed since a snapshot, or whose DoC status another day changes.

    None where reading all is less work, and where the company's ledger is not the one that the snapshot was made after
    (a backup was restored). `today` is the UTC day of the DoC statuses, not before the snapshot's.
    """
    link = conn.execute(_LAST_ENTRY, (before.number, before.link_hash)).fetchone()
    if link is None:
        return None
    most = min(PART_SKUS, before.rows["skus"] // 2)
    asked = {"last_entry": link[0], "actions": _ACTIONS, "since": before.as_of.date(), "today": today, "most": most + 1}
    found = [row[0] for row in conn.execute(_CHANGED, asked)]
    return None if len(found) > most else found
