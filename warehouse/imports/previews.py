"""Stores what a dry run would do to grades, in the row of its import."""

from typing import Final
from uuid import UUID

from psycopg.types.json import Json

from schemas.report import ForeseenGrades
from warehouse.sessions import Connection

_STORED: Final = "SELECT preview FROM imports WHERE id = %s"
_STORE: Final = "UPDATE imports SET preview = %s WHERE id = %s"


def stored(conn: Connection, import_id: UUID) -> ForeseenGrades | None:
    """Return what the chunks so far foresee; None before the first."""
    row = conn.execute(_STORED, [import_id]).fetchone()
    return None if row is None else row[0]


def store(conn: Connection, import_id: UUID, foreseen: ForeseenGrades) -> None:
    """Store what an import foresees, in the transaction of a chunk."""
    conn.execute(_STORE, [Json(foreseen), import_id])
