"""Accepts a file that was read: checks it against the plan, stores it, queues it. A run writes its rows later.

The bytes and the parsed table are in the object store before the transaction begins that names them, so that a queued
import never misses its file, and a store that hangs holds no lock. Housekeeping removes what a crash between the two
leaves behind. Reading the file is not part of this: it needs no database and may take seconds.
"""

import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, NamedTuple  # Any: a column of an import's row
from uuid import UUID

from psycopg.types.json import Json
from uuid_utils import uuid7

from pipelines.imports.report import before_key
from pipelines.reading.upload import PackedUpload
from pipelines.writing import write
from schemas.actors import Actor, Origin
from schemas.imports.types import ImportAccepted, ImportSource
from schemas.issues import Issue
from schemas.messages import templates
from warehouse.audit import ledger
from warehouse.imports import queries
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import Connection


class Answered(NamedTuple):
    """The import that an answer is about, its file as that import has read it, packed, and its default year."""

    import_id: UUID
    table: bytes
    year: int


class KeptFile(NamedTuple):
    """A file in the object store, under the id of the import that will name it."""

    company_id: UUID
    import_id: UUID
    size_bytes: int
    sha256: str

    @property
    def upload_key(self) -> str:
        """Return the key of the file as it was sent."""
        return f"{self.company_id}/imports/{self.import_id}/upload"

    @property
    def table_key(self) -> str:
        """Return the key of the table that was read from it."""
        return f"{self.company_id}/imports/{self.import_id}/table"

    def remove(self, objects: Objects) -> None:
        """Remove the objects, where no import names them."""
        objects.remove(self.upload_key, self.table_key, before_key(self.table_key))


def keep_file(
    objects: Objects, company_id: UUID, data: bytes, table: bytes | None = None, answers: Answered | None = None
) -> KeptFile:
    """Store a file and the tables that were read from it, before the transaction of `submit` or `ask_columns`."""
    kept = KeptFile(company_id, UUID(str(uuid7())), len(data), hashlib.sha256(data).hexdigest())
    with ThreadPoolExecutor(1, thread_name_prefix="upload") as beside:
        upload = beside.submit(objects.put, kept.upload_key, data)  # both wait for the disk
        if table is not None:
            objects.put(kept.table_key, table)
        if answers is not None:
            objects.put(before_key(kept.table_key), answers.table)
        upload.result()
    return kept


def submit(
    conn: Connection,
    objects: Objects,
    kept: KeptFile,
    upload: PackedUpload,
    *,
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
    """Queue a file that was read and kept, in the caller's transaction, and return the contract's ImportAccepted.

    `upload` is a reader's result for the file (`pipelines.readers`) with this `mapping`, which was told `taken_codes`.
    With `keep_archived` rows of archived SKUs will be rejected instead of bringing them back. Raises
    `plans.PlanLimitReached` where its new codes would exceed the plan's limit, or its bytes the plan's storage (neither
    for a dry run).
    """
    if not dry_run:
        write.check_codes(conn, kept.company_id, upload.codes, keep_archived=keep_archived)
    write.admit(conn, objects, kept.company_id, new_bytes=kept.size_bytes, now=now, dry_run=dry_run)
    row = _row(
        kept,
        upload.source,
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
    row["taken_codes"] = Json(list(taken_codes)) if taken_codes else None
    row |= {"status": "queued", "rows_total": upload.rows, "templates": Json(templates(upload.source))}
    queries.insert(conn, row)
    _enter(conn, row, origin)
    return _accepted(kept.import_id, upload, filename=filename, dry_run=dry_run)


def ask_columns(
    conn: Connection,
    objects: Objects,
    kept: KeptFile,
    outline: ImportSource,
    issues: Sequence[Issue],
    *,
    filename: str,
    origin: Origin,
    key_id: UUID,
    now: datetime,
    mapping: Mapping[str, object] | None = None,
) -> UUID:
    """Record a kept file that was refused for `issues` as a dry run that failed for the first; return its id.

    `outline` describes its columns (`pipelines.reading.published`). With a mapping of them the file is read again, as
    that of any import. Raises as `submit` does.
    """
    write.admit(conn, objects, kept.company_id, new_bytes=kept.size_bytes, now=now, dry_run=True)
    row = _row(
        kept,
        outline,
        filename=filename,
        dry_run=True,
        origin=origin,
        key_id=key_id,
        now=now,
        mapping=mapping,
    )
    failure = issues[0].as_dict() | {"correlationId": origin.correlation_id}
    row |= {"status": "failed", "rows_total": 0, "templates": Json(templates([issue.message for issue in issues]))}
    queries.insert(conn, row)
    queries.fail_at_once(conn, kept.import_id, failure, now)
    _enter(conn, row, origin)
    after = {"status": "failed", "failure": failure}
    ledger.enter(conn, Actor(kept.company_id, origin, now), "import.failed", kept.import_id, before=None, after=after)
    return kept.import_id


def _row(
    kept: KeptFile,
    source: ImportSource,
    *,
    filename: str,
    dry_run: bool,
    origin: Origin,
    key_id: UUID,
    now: datetime,
    mapping: Mapping[str, object] | None,
) -> dict[str, Any]:
    """Return the columns of a new import's row that every import has."""
    return {
        "id": kept.import_id,
        "company_id": kept.company_id,
        "dry_run": dry_run,
        "keep_archived": False,
        "filename": filename,
        "size_bytes": kept.size_bytes,
        "sha256": kept.sha256,
        "upload_key": kept.upload_key,
        "table_key": kept.table_key,
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
        Actor(row["company_id"], origin, row["created_at"]),
        "import.submitted",
        row["id"],
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
