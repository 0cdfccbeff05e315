"""Stores the mappings that a company keeps under names. The reader of a mapping checks its content."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from psycopg.types.json import Json

from warehouse import pages
from warehouse.sessions import Connection

_KEEP: Final = (
    "INSERT INTO import_mappings (company_id, name, mapping, updated_at) VALUES (%s, %s, %s, %s) "
    "ON CONFLICT (company_id, name) DO UPDATE SET mapping = excluded.mapping, updated_at = excluded.updated_at"
)
_RECALL: Final = "SELECT mapping FROM import_mappings WHERE company_id = %s AND name = %s"
_SHOWN: Final = f"id, name, mapping, {pages.instant('updated_at')} AS updated_at"
_FIND: Final = f"SELECT {_SHOWN} FROM import_mappings WHERE id = %s FOR UPDATE"
_LAST: Final = f"SELECT {_SHOWN} FROM import_mappings ORDER BY import_mappings.updated_at DESC, id LIMIT %s"
_REMOVE: Final = "DELETE FROM import_mappings WHERE id = %s"
_NAMES: Final = "SELECT name FROM import_mappings WHERE company_id = %s ORDER BY updated_at DESC, name LIMIT %s"


class KeptMapping(NamedTuple):
    """A mapping as it was last sent, under the name that recalls it."""

    id: UUID
    name: str
    mapping: Mapping[str, object]
    updated_at: str


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


def page(limit: int, offset: int) -> str:
    """Build a page of the company's mappings as one JSON text, `page`, the last kept first."""
    return pages.page(_SHOWN, "import_mappings", order="updated_at DESC, id", limit=limit, offset=offset)


def last_kept(conn: Connection, most: int) -> list[KeptMapping]:
    """Return the mappings of the session's company, the last kept first."""
    return [KeptMapping(*row) for row in conn.execute(_LAST, (most,))]


def find(conn: Connection, mapping_id: UUID) -> KeptMapping | None:
    """Return and lock a mapping of the session's company."""
    found = conn.execute(_FIND, (mapping_id,)).fetchone()
    return None if found is None else KeptMapping(*found)


def remove(conn: Connection, mapping_id: UUID) -> None:
    """Remove a mapping of the session's company."""
    conn.execute(_REMOVE, (mapping_id,))
