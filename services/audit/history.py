"""What became of one SKU: its newest versions with who wrote them, when and why, and the fields that they changed.

Found by the SKU's own versions, so that it costs the same in a ledger of any length.
"""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from services.audit.page import VERSION, difference

_VERSIONS: Final = f"""
WITH chosen AS MATERIALIZED (
    SELECT id AS sku_id, version, transaction_id FROM (
        SELECT id, version, transaction_id FROM skus WHERE id = %(id)s
        UNION ALL SELECT id, version, transaction_id FROM sku_versions WHERE id = %(id)s
    ) AS held ORDER BY version DESC LIMIT %(limit)s
)
SELECT chosen.version, t.at, t.actor_type, t.actor_name, t.reason,
       {VERSION.format(ago=1)} AS version_before, {VERSION.format(ago=0)} AS version_after
FROM chosen CROSS JOIN LATERAL (SELECT * FROM audit_transactions AS t WHERE t.id = chosen.transaction_id OFFSET 0) AS t
ORDER BY chosen.version DESC"""
_INCLUDED: Final = "SELECT plans.audit_log FROM companies JOIN plans USING (plan)"


def of_sku(conn: psycopg.Connection[Any], sku_id: UUID, *, limit: int) -> list[dict[str, Any]] | None:
    """Its newest versions in a session of its company, the newest first; None where the plan has no audit log.

    Each has `version`, `at`, `actor_type`, `actor_name`, `reason`, and `before` and `after` of the changed fields;
    `before` is None for the first.
    """
    row = conn.execute(_INCLUDED).fetchone()
    if row is None or not row[0]:
        return None
    with conn.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(_VERSIONS, {"id": sku_id, "limit": limit}).fetchall()
    return [_entry(row, row.pop("version_before"), row.pop("version_after")) for row in found]


def _entry(row: dict[str, Any], old: Sequence[Any] | None, new: Sequence[Any]) -> dict[str, Any]:
    before, after = difference(old, new)
    return {**row, "before": before, "after": after}
