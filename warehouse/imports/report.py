"""Adds the rows of an import's error report, which a run writes and polls and pages read.

What belongs here: adding rows. What does not: their content (`pipelines.imports.report`) and reading reports
(`warehouse.imports.queries`, `warehouse.imports.queries`).
"""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import orjson
from psycopg.types.json import Json

from schemas.imports.types import ForeseenGrades, ImportWarnings
from warehouse.imports.tables import import_errors
from warehouse.operate.sessions import Connection
from warehouse.skus import archive, portfolio

COLUMNS: Final = (
    "sheet_position",
    "line",
    "number",
    "sheet",
    "sku_code",
    "field",
    "column",
    "value",
    "code",
    "message",
    "template",
)
"""The columns of a report row that the caller gives in each row; import and company are given once."""

_NAMES: Final = ", ".join(f'"{name}"' for name in COLUMNS)
_TYPED: Final = ", ".join(f'"{name}" {import_errors.c[name].type}' for name in COLUMNS)
_INSERT: Final = (
    f"INSERT INTO import_errors (company_id, import_id, {_NAMES}) "
    f"SELECT %s, %s, {_NAMES} FROM json_to_recordset(%s) AS report ({_TYPED})"
)


def insert(conn: Connection, company_id: UUID, import_id: UUID, rows: Sequence[Mapping[str, object]]) -> None:
    """Add report rows, each with every column of `COLUMNS`, in the caller's transaction."""
    conn.execute(_INSERT, (company_id, import_id, orjson.dumps(rows).decode()))


_STORED: Final = "SELECT warnings FROM imports WHERE id = %s"
_STORE: Final = """
UPDATE imports SET warnings = %s, templates = (coalesce(templates::jsonb, '{}') || %s::jsonb)::json WHERE id = %s"""


def stored(conn: Connection, import_id: UUID) -> ImportWarnings | None:
    """Return the warnings of the chunks so far; None before the first warning."""
    row = conn.execute(_STORED, [import_id]).fetchone()
    return None if row is None else row[0]


def store(conn: Connection, import_id: UUID, warnings: ImportWarnings, templates: Mapping[str, str]) -> None:
    """Store the warnings of an import in the transaction of a chunk; `templates` are those of new messages."""
    conn.execute(_STORE, [Json(warnings), Json(dict(templates)), import_id])


_STORED_PREVIEW: Final = "SELECT preview FROM imports WHERE id = %s"
_STORE_PREVIEW: Final = "UPDATE imports SET preview = %s WHERE id = %s"


def stored_preview(conn: Connection, import_id: UUID) -> ForeseenGrades | None:
    """Return what the chunks so far foresee; None before the first."""
    row = conn.execute(_STORED_PREVIEW, [import_id]).fetchone()
    return None if row is None else row[0]


def store_preview(conn: Connection, import_id: UUID, foreseen: ForeseenGrades) -> None:
    """Store what an import foresees, in the transaction of a chunk."""
    conn.execute(_STORE_PREVIEW, [Json(foreseen), import_id])


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
    portfolio.lock_versions(conn, codes)
    archive.lock_versions(conn, codes)
    return {code for (code,) in conn.execute(_CHANGED_SINCE, {"codes": list(codes), "import": import_id})}


def linked(conn: Connection, import_id: UUID) -> tuple[UUID | None, UUID | None]:
    """Return the import that one answers, and the newest that answers it; None for none. A dry run is no answer."""
    return conn.execute(_LINKED, [import_id]).fetchone() or (None, None)
