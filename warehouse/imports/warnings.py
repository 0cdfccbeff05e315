"""Stores the warnings of an import, in its row: how many there are by code, and the first of them.

What belongs here: the statements. What does not: which warnings there are (`pipelines.imports.report`).
"""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from psycopg.types.json import Json

from schemas.report import ImportWarnings
from warehouse.sessions import Connection

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
