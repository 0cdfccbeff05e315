"""Stores exports and reads them: the list as JSON text, one as its company sees it, and which have expired.

Claims are in `warehouse.exports.claims`. An export whose time has passed is not found, whether its row still exists or
not.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from warehouse import pages
from warehouse.sessions import Connection

_KEPT: Final = "(expires_at IS NULL OR expires_at > %(now)s)"
_FOUND: Final = f"{_KEPT} AND (%(status)s::text IS NULL OR status = %(status)s::text)"
"""What the list is narrowed to; a null `status` is any."""
_SHOWN: Final = f"""
    id, format, source, status, skus_total, skus_done, {pages.instant("as_of")} AS as_of, rows, size_bytes, sha256,
    failure, {pages.instant("created_at")} AS created_at, {pages.instant("finished_at")} AS finished_at,
    {pages.instant("expires_at")} AS expires_at,
    CASE WHEN status = 'completed' THEN '/api/v1/exports/' || id || '/file' END AS file_url"""
ONE: Final = f"""
SELECT row_to_json(shown)::text FROM (SELECT {_SHOWN} FROM exports WHERE id = %(id)s AND {_KEPT}) AS shown"""
"""Export as JSON text, for the parameters `id` and `now`; no row where the session's company has none of that id."""
_FILE: Final = f"""
SELECT object_key, format, size_bytes, sha256, created_at FROM exports
WHERE id = %(id)s AND status = 'completed' AND {_KEPT}"""
_ADD: Final = """
INSERT INTO exports (id, company_id, format, source, status, skus_total, skus_done, object_key, attempts, client_id,
    client_name, created_at)
SELECT %(id)s, %(company_id)s, %(format)s, %(source)s, 'queued', coalesce(max(skus), 0), 0, %(object_key)s, 0,
    %(client_id)s, %(client_name)s, %(at)s FROM company_counters"""
_OPEN: Final = "SELECT count(*) FROM exports WHERE status IN ('queued', 'processing')"
_EXPIRED: Final = "SELECT id, object_key FROM exports WHERE expires_at <= %s ORDER BY expires_at LIMIT %s"
_REMOVE: Final = "DELETE FROM exports WHERE id = ANY(%s)"


class ExportFile(NamedTuple):
    """The file of a completed export."""

    object_key: str
    format: str
    size_bytes: int
    sha256: str
    created_at: datetime


def page(limit: int, offset: int) -> str:
    """Return the query of ExportListResponse as one JSON text, newest first; parameters `now` and `status`."""
    return pages.page(
        _SHOWN,
        "kept",
        order="kept_at DESC, id",
        limit=limit,
        offset=offset,
        rows=f"SELECT *, created_at AS kept_at FROM exports WHERE {_FOUND} ORDER BY created_at DESC, id "
        f"LIMIT {limit:d} OFFSET {offset:d}",
        total=f"(SELECT count(*) FROM exports WHERE {_FOUND})",
    )


def add(connection: Connection, row: Mapping[str, object]) -> None:
    """Queue an export of the session's company; `row` has the parameters of `_ADD`."""
    connection.execute(_ADD, row)


def shown(connection: Connection, export_id: UUID, now: datetime) -> str | None:
    """Return an export as JSON text; None where the session's company has none of that id."""
    row = connection.execute(ONE, {"id": export_id, "now": now}).fetchone()
    return None if row is None else str(row[0])


def file_of(connection: Connection, export_id: UUID, now: datetime) -> ExportFile | None:
    """Return the file of an export; None where the session's company has none of that id, or none that is complete."""
    row = connection.execute(_FILE, {"id": export_id, "now": now}).fetchone()
    return None if row is None else ExportFile(*row)


def open_ones(connection: Connection) -> int:
    """Return how many exports of the session's company have not ended."""
    (found,) = connection.execute(_OPEN).fetchone() or (0,)
    return int(found)


def expired(connection: Connection, now: datetime, *, most: int) -> list[tuple[UUID, str]]:
    """Return the id and the object's key of exports of the session's company whose time has passed."""
    return [(row[0], row[1]) for row in connection.execute(_EXPIRED, [now, most]).fetchall()]


def remove(connection: Connection, export_ids: Sequence[UUID]) -> None:
    """Remove the rows of exports whose files have been removed."""
    connection.execute(_REMOVE, [list(export_ids)])
