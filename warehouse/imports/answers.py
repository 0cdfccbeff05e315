"""Finds what an answer to an import's questions must not touch, and what it writes whole (decisions §13).

What belongs here: those statements. What does not: which values were held back (`pipelines.imports.answers`).
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from warehouse.sessions import Connection
from warehouse.skus import archive, by_code

_REJECTED: Final = """
SELECT DISTINCT sku_code FROM import_errors
WHERE sku_code IS NOT NULL AND code <> 'version_conflict' AND import_id IN (
    SELECT before.id FROM imports AS before JOIN imports AS answer ON answer.id = %s
    WHERE answer.answers IN (before.id, before.answers) AND before.finished_at <= answer.created_at)"""
_CHANGED_SINCE: Final = """
WITH present AS (
    SELECT sku_code, updated_at, import_id FROM skus WHERE sku_code = ANY(%(codes)s)
    UNION ALL
    SELECT last.sku_code, last.updated_at, last.import_id
    FROM archived_skus AS archived
    JOIN sku_versions AS last ON last.id = archived.sku_id AND last.version = archived.version
    WHERE archived.sku_code = ANY(%(codes)s) AND archived.returned_at IS NULL
)
SELECT present.sku_code FROM present
WHERE present.updated_at > (SELECT created_at FROM imports WHERE id = %(import)s)
AND NOT EXISTS (
    SELECT FROM imports
    WHERE imports.id = present.import_id AND (imports.id = %(import)s OR imports.answers = %(import)s))"""
_LINKED: Final = """
SELECT answers,
    (SELECT id FROM imports AS answer
     WHERE answer.answers = imports.id AND NOT answer.dry_run ORDER BY answer.created_at DESC, answer.id DESC LIMIT 1)
FROM imports WHERE id = %s"""


def rejected_codes(conn: Connection, import_id: UUID) -> set[str]:
    """Return the SKUs that were rejected by the import that one answers, or by earlier answers to it.

    Those that somebody else had changed are not among them. They stay the same while the answer is worked on.
    """
    return {code for (code,) in conn.execute(_REJECTED, [import_id])}


def changed_since(conn: Connection, codes: Sequence[str], import_id: UUID) -> set[str]:
    """Return which of these SKUs somebody has changed or archived since an import was sent; lock all of them.

    What the import itself wrote, and the answers to it, is no change by somebody else.
    """
    by_code.lock_versions(conn, codes)
    archive.lock_versions(conn, codes)
    return {code for (code,) in conn.execute(_CHANGED_SINCE, {"codes": list(codes), "import": import_id})}


def linked(conn: Connection, import_id: UUID) -> tuple[UUID | None, UUID | None]:
    """Return the import that one answers, and the newest that answers it; None for none. A dry run is no answer."""
    return conn.execute(_LINKED, [import_id]).fetchone() or (None, None)
