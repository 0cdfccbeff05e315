"""Accepting a file that was read: held against the plan, kept, queued. Its rows are written later, by a run.

The bytes and the parsed table are in the object store before the row that names them is committed, so that a queued
import never misses its file. What a crash between the two leaves behind belongs to no import and is swept with
housekeeping. Reading the file is no part of this: it needs no database and may take seconds.
"""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Json
from uuid_utils import uuid7

from pipelines.reading.packed import PackedUpload
from pipelines.writing import plans, quota
from schemas.messages import templates
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.imports import queries
from warehouse.objects import Objects


def submit(
    conn: psycopg.Connection[Any],
    objects: Objects,
    company_id: UUID,
    upload: PackedUpload,
    *,
    data: bytes,
    filename: str,
    dry_run: bool,
    origin: Origin,
    key_id: UUID,
    now: datetime,
) -> dict[str, Any]:
    """Queue a file that was read, in the caller's transaction; the answer is the contract's ImportAccepted.

    `upload` is what a reader made of `data` (`pipelines.sandbox`). Raises `plans.PlanLimitReached` where its new
    codes would pass the plan's limit, or its bytes the plan's storage (neither for a dry run).
    """
    if not dry_run:
        plans.check_codes(conn, company_id, upload.codes)
    quota.admit(conn, objects, company_id, new_bytes=len(data), now=now, dry_run=dry_run)
    import_id = UUID(str(uuid7()))
    upload_key, table_key = f"{company_id}/imports/{import_id}/upload", f"{company_id}/imports/{import_id}/table"
    with ThreadPoolExecutor(1, thread_name_prefix="upload") as beside:
        kept = beside.submit(objects.put, upload_key, data)  # both wait for the disk
        objects.put(table_key, upload.table)
        kept.result()
    row = {
        "id": import_id,
        "company_id": company_id,
        "status": "queued",
        "dry_run": dry_run,
        "filename": filename,
        "size_bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "upload_key": upload_key,
        "table_key": table_key,
        "default_year": now.year,
        "source": Json(upload.source),
        "templates": Json(templates(upload.source)),
        "rows_total": upload.rows,
        "key_id": key_id,
        "key_name": origin.actor_name or "",
        "correlation_id": origin.correlation_id,
        "ip": origin.ip,
        "user_agent": origin.user_agent,
        "created_at": now,
    }
    _enqueue(conn, row, origin, now)
    return _accepted(import_id, upload, filename=filename, dry_run=dry_run)


def _enqueue(conn: psycopg.Connection[Any], row: dict[str, Any], origin: Origin, now: datetime) -> None:
    queries.insert(conn, row)
    after = {name: row[name] for name in ("filename", "size_bytes", "sha256", "dry_run")} | {"rows": row["rows_total"]}
    ledger.enter(
        conn, row["company_id"], "import.submitted", row["id"], origin=origin, now=now, before=None, after=after
    )


def _accepted(import_id: UUID, upload: PackedUpload, *, filename: str, dry_run: bool) -> dict[str, Any]:
    return {
        "id": str(import_id),
        "status": "queued",
        "poll_url": f"/api/v1/imports/{import_id}",
        "dry_run": dry_run,
        "filename": filename,
        "rows": upload.rows,
        "source": upload.source,
    }
