"""Accepts a file that was read: checks it against the plan, stores it, queues it. A run writes its rows later.

The bytes and the parsed table are in the object store before the row that names them is committed, so that a queued
import never misses its file. Housekeeping removes what a crash between the two leaves behind. Reading the file is not
part of this: it needs no database and may take seconds.
"""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Json
from uuid_utils import uuid7

from pipelines.reading.packed import PackedUpload
from pipelines.writing import plans, quota
from schemas.messages import templates
from schemas.report import ImportAccepted
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.imports import queries
from warehouse.objects import Objects
from warehouse.sessions import Connection


def submit(
    conn: Connection,
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
) -> ImportAccepted:
    """Queue a file that was read, in the caller's transaction, and return the contract's ImportAccepted.

    `upload` is a reader's result for `data` (`pipelines.sandbox`). Raises `plans.PlanLimitReached` where its new codes
    would exceed the plan's limit, or its bytes the plan's storage (neither for a dry run).
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
    queries.insert(conn, row)
    after = {name: row[name] for name in ("filename", "size_bytes", "sha256", "dry_run")} | {"rows": upload.rows}
    ledger.enter(conn, company_id, "import.submitted", import_id, origin=origin, now=now, before=None, after=after)
    return _accepted(import_id, upload, filename=filename, dry_run=dry_run)


def _accepted(import_id: UUID, upload: PackedUpload, *, filename: str, dry_run: bool) -> ImportAccepted:
    return {
        "id": str(import_id),
        "status": "queued",
        "poll_url": f"/api/v1/imports/{import_id}",
        "dry_run": dry_run,
        "filename": filename,
        "rows": upload.rows,
        "source": upload.source,
    }
