"""Stores the mappings that a company keeps under names. The reader of a mapping checks its content."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.types.json import Json

from warehouse.sessions import Connection

_KEEP: Final = (
    "INSERT INTO import_mappings (company_id, name, mapping, updated_at) VALUES (%s, %s, %s, %s) "
    "ON CONFLICT (company_id, name) DO UPDATE SET mapping = excluded.mapping, updated_at = excluded.updated_at"
)
_RECALL: Final = "SELECT mapping FROM import_mappings WHERE company_id = %s AND name = %s"
_NAMES: Final = "SELECT name FROM import_mappings WHERE company_id = %s ORDER BY updated_at DESC, name LIMIT %s"


def keep(conn: Connection, company_id: UUID, name: str, mapping: Mapping[str, object], now: datetime) -> None:
    """Store a mapping under a name, in the caller's transaction; replaces an earlier one of that name."""
    conn.execute(_KEEP, (company_id, name, Json(dict(mapping)), now))


def recall(conn: Connection, company_id: UUID, name: str) -> dict[str, object] | None:
    """Return the mapping that the company keeps under a name, or None."""
    found = conn.execute(_RECALL, (company_id, name)).fetchone()
    return None if found is None else dict(found[0])


def names(conn: Connection, company_id: UUID, most: int) -> list[str]:
    """Return the names of a company's mappings, the last kept first."""
    return [str(row[0]) for row in conn.execute(_NAMES, (company_id, most))]
