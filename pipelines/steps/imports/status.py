"""What a poll answers, and that a poll brings a stalled import back to the workers' attention."""

from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from psycopg.rows import dict_row

from pipelines.steps.imports import queue
from warehouse.clock import Clock
from warehouse.sessions import Pool

_COUNTS: Final = ("created", "updated", "unchanged", "rejected")
_IMPORT: Final = """
SELECT id, status, dry_run, filename, created_at, started_at, finished_at, heartbeat_at, rows_done, rows_total,
       created, updated, unchanged, rejected, source, failure,
       (SELECT count(*) FROM import_errors WHERE import_id = imports.id) AS faults
FROM imports WHERE id = %s
"""
_PAGE: Final = """
SELECT sheet, line, sku_code, field, "column", value, code, message
FROM import_errors WHERE import_id = %s
ORDER BY sheet_position, line, number LIMIT %s OFFSET %s
"""


def status(
    pool: Pool, company_id: UUID, import_id: UUID, *, limit: int, offset: int, clock: Clock
) -> dict[str, Any] | None:
    """The contract's ImportStatusResponse with one page of the report; None where the company has no such import."""
    with pool.company(company_id) as conn, conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(_IMPORT, (import_id,)).fetchone()
        if row is None:
            return None
        errors = cursor.execute(_PAGE, (import_id, limit, offset)).fetchall() if row["faults"] else []
        alive = row["heartbeat_at"] or row["created_at"]
        if row["status"] in ("queued", "processing") and clock.now() - alive > queue.STALLED_AFTER:
            queue.announce(conn, import_id)
    return {
        "id": str(row["id"]),
        "status": row["status"],
        "dry_run": row["dry_run"],
        "filename": row["filename"],
        **{name: _instant(row[name]) for name in ("created_at", "started_at", "finished_at")},
        "progress": {"done": row["rows_done"], "total": row["rows_total"]},
        "counts": {"total": sum(row[name] for name in _COUNTS), **{name: row[name] for name in _COUNTS}},
        "source": row["source"],
        "failure": row["failure"],
        "errors": errors,
        "pagination": {"limit": limit, "offset": offset, "total": row["faults"]},
    }


def _instant(value: datetime | None) -> str | None:
    """RFC 3339 in UTC with `Z`."""
    return None if value is None else value.astimezone(UTC).isoformat().replace("+00:00", "Z")
