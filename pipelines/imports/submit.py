"""Accepts a file that was read: checks it against the plan, stores it, queues it. A run writes its rows later.

The bytes and the parsed table are in the object store before the row that names them is committed, so that a queued
import never misses its file. Housekeeping removes what a crash between the two leaves behind. Reading the file is not
part of this: it needs no database and may take seconds.
"""

import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, NamedTuple  # Any: a column of an import's row
from uuid import UUID

from psycopg.types.json import Json
from uuid_utils import uuid7

from pipelines.imports.work import before_key
from pipelines.reading.packed import PackedUpload
from pipelines.writing import plans, quota
from schemas.issues import Issue
from schemas.messages import templates
from schemas.report import ImportAccepted, ImportSource
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.imports import queries
from warehouse.objects import Objects
from warehouse.sessions import Connection


class Answered(NamedTuple):
    """The import that an answer is about, its file as that import has read it, packed, and its default year."""

    import_id: UUID
    table: bytes
    year: int


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
    keep_archived: bool = False,
    taken_codes: Sequence[str] = (),
    mapping: Mapping[str, object] | None = None,
    answers: Answered | None = None,
) -> ImportAccepted:
    """Queue a file that was read, in the caller's transaction, and return the contract's ImportAccepted.

    `upload` is a reader's result for `data` (`pipelines.sandbox`) with this `mapping`, which was told `taken_codes`.
    With `keep_archived` rows of archived SKUs will be rejected instead of bringing them back. Raises
    `plans.PlanLimitReached` where its new codes would exceed the plan's limit, or its bytes the plan's storage (neither
    for a dry run).
    """
    if not dry_run:
        plans.check_codes(conn, company_id, upload.codes, keep_archived=keep_archived)
    quota.admit(conn, objects, company_id, new_bytes=len(data), now=now, dry_run=dry_run)
    import_id, row = _row(
        company_id,
        upload.source,
        data=data,
        filename=filename,
        dry_run=dry_run,
        origin=origin,
        key_id=key_id,
        now=now,
        mapping=mapping,
    )
    if answers is not None:
        row |= {"answers": answers.import_id, "default_year": answers.year}
    row["keep_archived"] = keep_archived
    with ThreadPoolExecutor(1, thread_name_prefix="upload") as beside:
        kept = beside.submit(objects.put, row["upload_key"], data)  # both wait for the disk
        objects.put(row["table_key"], upload.table)
        if answers is not None:
            objects.put(before_key(row["table_key"]), answers.table)
        kept.result()
    row["taken_codes"] = Json(list(taken_codes)) if taken_codes else None
    row |= {"status": "queued", "rows_total": upload.rows, "templates": Json(templates(upload.source))}
    queries.insert(conn, row)
    _enter(conn, row, origin)
    return _accepted(import_id, upload, filename=filename, dry_run=dry_run)


def ask_columns(
    conn: Connection,
    objects: Objects,
    company_id: UUID,
    outline: ImportSource,
    issues: Sequence[Issue],
    *,
    data: bytes,
    filename: str,
    origin: Origin,
    key_id: UUID,
    now: datetime,
    mapping: Mapping[str, object] | None = None,
) -> UUID:
    """Store a file that was refused for `issues` as a dry run that failed for the first of them, and return its id.

    `outline` describes its columns (`pipelines.reading.outline`). With a mapping of them the file is read again, as
    that of any import. Raises as `submit` does.
    """
    quota.admit(conn, objects, company_id, new_bytes=len(data), now=now, dry_run=True)
    import_id, row = _row(
        company_id,
        outline,
        data=data,
        filename=filename,
        dry_run=True,
        origin=origin,
        key_id=key_id,
        now=now,
        mapping=mapping,
    )
    objects.put(row["upload_key"], data)
    failure = issues[0].as_dict() | {"correlationId": origin.correlation_id}
    row |= {"status": "failed", "rows_total": 0, "templates": Json(templates([issue.message for issue in issues]))}
    queries.insert(conn, row)
    queries.fail_at_once(conn, import_id, failure, now)
    _enter(conn, row, origin)
    after = {"status": "failed", "failure": failure}
    ledger.enter(conn, company_id, "import.failed", import_id, origin=origin, now=now, before=None, after=after)
    return import_id


def _row(
    company_id: UUID,
    source: ImportSource,
    *,
    data: bytes,
    filename: str,
    dry_run: bool,
    origin: Origin,
    key_id: UUID,
    now: datetime,
    mapping: Mapping[str, object] | None,
) -> tuple[UUID, dict[str, Any]]:
    """Return the id of a new import and the columns of its row that every import has."""
    import_id = UUID(str(uuid7()))
    return import_id, {
        "id": import_id,
        "company_id": company_id,
        "dry_run": dry_run,
        "keep_archived": False,
        "filename": filename,
        "size_bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "upload_key": f"{company_id}/imports/{import_id}/upload",
        "table_key": f"{company_id}/imports/{import_id}/table",
        "default_year": now.year,
        "source": Json(source),
        "taken_codes": None,
        "mapping": Json(dict(mapping or {})),
        "answers": None,
        "key_id": key_id,
        "key_name": origin.actor_name or "",
        "correlation_id": origin.correlation_id,
        "ip": origin.ip,
        "user_agent": origin.user_agent,
        "created_at": now,
    }


def _enter(conn: Connection, row: Mapping[str, Any], origin: Origin) -> None:
    """Enter a new import in the audit log."""
    after = {name: row[name] for name in ("filename", "size_bytes", "sha256", "dry_run")} | {"rows": row["rows_total"]}
    ledger.enter(
        conn,
        row["company_id"],
        "import.submitted",
        row["id"],
        origin=origin,
        now=row["created_at"],
        before=None,
        after=after,
    )


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
