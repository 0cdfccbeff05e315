"""Accepts a file that was read: checks it against the plan, stores it, queues it. A run writes its rows later.

The bytes and the parsed table are in the object store before the transaction begins that names them, so that a queued
import never misses its file, and a store that hangs holds no lock. Housekeeping removes what a crash between the two
leaves behind. Reading the file is not part of this: it needs no database and may take seconds.

Rows that are not sent yet are merged and graded as an import of them would be, and nothing is stored (`preview`).
"""

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, NamedTuple, cast  # Any: a column of an import's row
from uuid import UUID

import orjson
import polars as pl
from psycopg.types.json import Json
from uuid_utils import uuid7

from pipelines.imports import report
from pipelines.imports.beside import write_rows
from pipelines.imports.report import Work, before_key
from pipelines.readers.requests import ReadRequest, preview_request
from pipelines.reading.mapping import Words
from pipelines.reading.rows import TypedRows
from pipelines.reading.upload import PackedUpload, Upload
from pipelines.writing import write
from pipelines.writing.patch import Patch, from_typed
from pipelines.writing.refuse import warnings_of
from schemas.actors import Actor
from schemas.imports.types import ImportAccepted, ImportPreview, ImportRowError, ImportSource
from schemas.issues import Issue
from schemas.messages import Message, templates
from schemas.refusals import Refused
from warehouse.audit import ledger
from warehouse.imports import queries, words
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import Connection
from warehouse.rules import Rulesets


@dataclass(frozen=True, slots=True)
class Earlier:
    """How an import that wrote has read its file: its mapping, the own words that it met, and the day.

    `import_id` is the first import of the file, also where it is an answer that is answered.
    """

    import_id: UUID
    mapping: Mapping[str, object]
    words: Words
    day: date


@dataclass(frozen=True, slots=True)
class Submission:
    """A file to import. `mapping` applies to it; with `keeps_mapping` it is also stored under `mapping_name`.

    With `asks_columns` a dry run of a file whose columns are not known ends with them instead of being refused, so that
    a person can say what they are. `fingerprint` is the SHA-256 of everything that was sent. With `keep_archived` rows
    of archived SKUs are rejected instead of bringing them back. `taken_codes` are those that no row may have. `answers`
    is the import that wrote the file already, with the mapping of then: only what it held back is written. Of a file
    that restates the parts of SKUs, `shown` is the dry run that was seen: nobody may have changed them since.
    """

    data: bytes
    filename: str
    dry_run: bool
    mapping: Mapping[str, object] | None = None
    mapping_name: str | None = None
    keeps_mapping: bool = False
    fingerprint: bytes = b""
    asks_columns: bool = False
    keep_archived: bool = False
    taken_codes: Sequence[str] = ()
    answers: Earlier | None = None
    shown: UUID | None = None


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
    objects: Objects,
    company_id: UUID,
    data: bytes,
    table: bytes | None = None,
    answers: Answered | None = None,
    *,
    import_id: UUID | None = None,
) -> KeptFile:
    """Store a file and the tables that were read from it, before the transaction of `submit` or `ask_columns`."""
    kept = KeptFile(company_id, import_id or UUID(str(uuid7())), len(data), hashlib.sha256(data).hexdigest())
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
    actor: Actor,
    objects: Objects,
    kept: KeptFile,
    sent: Submission,
    *,
    upload: PackedUpload,
    answers: Answered | None = None,
) -> ImportAccepted:
    """Queue a file that was read and kept, in the caller's transaction.

    `upload` is a reader's result for the file (`pipelines.readers`), read as `sent` says. Raises
    `PlanLimitReached` where its new codes would exceed the plan's limit, or its bytes the plan's storage (neither
    for a dry run), and `Refused` where SKUs have changed since they were shown.
    """
    if sent.shown is not None and (changed := queries.changed_since(conn, upload.codes, sent.shown)):
        sentence = Message(
            "Somebody has changed items of this file since it was shown: {count}. Choose the items and set it again, "
            "so that nothing of theirs is lost.",
            count=len(changed),
        )
        raise Refused([Issue("version_conflict", sentence, "sku_code")])
    if sent.keeps_mapping and sent.mapping is not None and sent.mapping_name is not None and not sent.dry_run:
        words.keep_mapping(conn, actor.company_id, sent.mapping_name, sent.mapping, actor.now)
    if not sent.dry_run:
        write.check_codes(conn, actor.company_id, upload.codes, keep_archived=sent.keep_archived)
    _store(conn, actor, objects, kept, sent, source=upload.source, rows=upload.rows, answers=answers)
    return {
        "id": kept.import_id,
        "status": "queued",
        "poll_url": f"/api/v1/imports/{kept.import_id}",
        "dry_run": sent.dry_run,
        "filename": sent.filename,
        "rows": upload.rows,
        "source": upload.source,
    }


def ask_columns(
    conn: Connection,
    actor: Actor,
    objects: Objects,
    kept: KeptFile,
    sent: Submission,
    *,
    outline: ImportSource,
    issues: Sequence[Issue],
) -> None:
    """Record a kept file that was refused for `issues` as a dry run that failed for the first.

    `outline` describes its columns (`pipelines.reading.questions`). With a mapping of them the file is read again, as
    that of any import. Raises as `submit` does.
    """
    failure = issues[0].as_dict() | {"correlationId": actor.origin.correlation_id}
    _store(conn, actor, objects, kept, sent, source=outline, failure=failure, says=[issue.message for issue in issues])
    after = {"status": "failed", "failure": failure}
    ledger.enter(conn, actor, "import.failed", kept.import_id, before=None, after=after)


def _store(
    conn: Connection,
    actor: Actor,
    objects: Objects,
    kept: KeptFile,
    sent: Submission,
    *,
    source: ImportSource,
    rows: int = 0,
    answers: Answered | None = None,
    failure: Mapping[str, object] | None = None,
    says: Sequence[str] = (),
) -> None:
    """Store a new import, queued or at once failed, and enter it in the audit log; `says` are a failure's messages."""
    write.admit(
        conn, objects, actor.company_id, new_bytes=kept.size_bytes, now=actor.now, dry_run=sent.dry_run or bool(failure)
    )
    row: dict[str, Any] = {
        "id": kept.import_id,
        "company_id": actor.company_id,
        "status": "failed" if failure else "queued",
        "dry_run": sent.dry_run,
        "keep_archived": sent.keep_archived,
        "filename": sent.filename,
        "size_bytes": kept.size_bytes,
        "sha256": kept.sha256,
        "upload_key": kept.upload_key,
        "table_key": kept.table_key,
        "default_year": actor.now.year if answers is None else answers.year,
        "source": Json(source),
        "templates": Json(templates(says or source)),
        "rows_total": rows,
        "failure": Json(dict(failure)) if failure else None,
        "finished_at": actor.now if failure else None,
        "taken_codes": Json(list(sent.taken_codes)) if sent.taken_codes else None,
        "mapping": Json(dict(sent.mapping or {})),
        "answers": answers and answers.import_id,
        "key_id": UUID(str(actor.origin.actor_id)),
        "key_name": actor.origin.actor_name or "",
        "correlation_id": actor.origin.correlation_id,
        "ip": actor.origin.ip,
        "user_agent": actor.origin.user_agent,
        "created_at": actor.now,
    }
    queries.insert(conn, row)
    after = {name: row[name] for name in ("filename", "size_bytes", "sha256", "dry_run")} | {"rows": rows}
    ledger.enter(conn, actor, "import.submitted", kept.import_id, before=None, after=after)


FILENAME: Final = "rows.csv"
_REPORTED: Final = ("sheet", "line", "sku_code", "field", "column", "value", "code", "message")


def csv_of(rows: Sequence[Mapping[str, object]]) -> str:
    """Write rows of import columns as a CSV text: an omitted name is an empty cell, null the word that clears.

    The header is line 1, so that the first row is line 2. Raises `TypeError` for a value that does not fit into a cell.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([_cell(row[name]) if name in row else "" for name in columns] for row in rows)
    return out.getvalue()


def _cell(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool() | int() | float():
            return orjson.dumps(value).decode()
        case str():
            return value
        case list() if all(isinstance(part, str) for part in value):
            return ";".join(value)
    raise TypeError("A cell holds a text, a number, true, false, null, or a list of texts.")


def reading_order(
    text: str, *, now: datetime, served_markets: Set[str], words: Words, mapping: Mapping[str, object] | None = None
) -> ReadRequest[tuple[Upload, TypedRows]]:
    """Return the reader's order for a CSV text; it raises `pipelines.reading.grid.ReadingRefused` as an import would.

    `served_markets` are the codes that volumes may be of, `words` the company's own, `mapping` the caller's.
    """
    return preview_request(
        text.encode(),
        FILENAME,
        mapping=None if mapping is None else dict(mapping),
        default_year=now.year,
        served_markets=served_markets,
        words=words,
        today=now.date(),
    )


def preview(
    conn: Connection,
    actor: Actor,
    upload: Upload,
    typed: TypedRows,
    rulesets: Rulesets,
    *,
    mapping: Mapping[str, object] | None = None,
) -> ImportPreview:
    """Return counts, source and faults of an import of these rows, in a session that has the company set.

    It takes the steps of a dry run, in one piece and one transaction, so that its answer is that of one. `mapping` is
    the caller's, by which the rows were read. It is meant for tables that fit into one request; files are imports.
    """
    work = Work(
        id=UUID(str(uuid7())),
        company_id=actor.company_id,
        filename=FILENAME,
        dry_run=True,
        default_year=actor.now.year,
        source=upload.source,
        rows_total=upload.rows,
        mapping=mapping,
    )
    rules = rulesets.active(conn)
    rows = from_typed(typed.values, typed.presence, rules)
    patch = Patch.from_frames(rows.values, rows.presence).without([fault.row for fault in rows.issues])
    outcome, counts, unkept = write_rows(conn, work, actor, patch, typed.values, rule_set=rules, unfit=rows.issues)
    written = report.writer_faults([*rows.issues, *outcome.errors], typed.values, upload, work)
    faults = report.reader_faults(typed, work)
    unnamed = report.missing_names(conn, typed, faults)
    warned = report.listed([*warnings_of(outcome), *unkept], typed.values, upload, work, report.MOST_LISTED)
    errors = pl.concat([faults.select(written.columns), unnamed, written])
    errors = errors.sort("sheet_position", "line", maintain_order=True)
    accepted = len(outcome.merged)
    rejected = typed.rejected + typed.values.height - accepted
    return {
        "rows": upload.rows,
        "counts": {
            "total": accepted + rejected,
            "created": counts["created"],
            "updated": counts["updated"],
            "unchanged": counts["unchanged"],
            "rejected": rejected,
        },
        "source": upload.source,
        "errors": cast(list[ImportRowError], errors.select(_REPORTED).to_dicts()),
        **report.together([report.of_source(upload.source), warned]),
    }
