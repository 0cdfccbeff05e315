"""Stores imports with the rows of their reports, and reads them: polls, the list, the report of one by its reasons.

What belongs here: rows. What does not: their content (`pipelines.imports.report`), and the claims of runs
(`warehouse.imports.claims`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeVar, cast  # Any: columns of a new import's row
from uuid import UUID

import orjson
from psycopg.rows import class_row, dict_row
from psycopg.types.json import Json
from sqlalchemy import JSON, Boolean, Column, DateTime, Index, Integer, PrimaryKeyConstraint, Table, Text, Uuid, text

from schemas.imports.types import (
    Foreseen,
    ImportListItem,
    ImportSource,
    ImportWarnings,
    PolledReport,
    RecentImport,
    StoredRowError,
)
from warehouse import pages
from warehouse.base import company, identity, instant, metadata
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing
from warehouse.skus import archive, portfolio
from warehouse.skus.tables import resting

imports = Table(
    "imports",
    metadata,
    identity(),
    company(),
    Column("status", Text, nullable=False),
    Column("dry_run", Boolean, nullable=False),
    Column("filename", Text, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("sha256", Text, nullable=False, comment="of the uploaded bytes, hexadecimal"),
    Column("upload_key", Text, nullable=False, comment="the uploaded bytes in the object store"),
    Column("table_key", Text, nullable=False, comment="the table read from them, in the object store"),
    Column("default_year", Integer, nullable=False, comment="of volume columns that name no year"),
    Column("source", JSON, nullable=False, comment="ImportSource"),
    Column("rows_total", Integer, nullable=False, comment="data lines"),
    Column("rows_done", Integer, nullable=False, server_default="0"),
    Column("position", Integer, nullable=False, server_default="0", comment="typed rows committed"),
    Column("created", Integer, nullable=False, server_default="0"),
    Column("updated", Integer, nullable=False, server_default="0"),
    Column("unchanged", Integer, nullable=False, server_default="0"),
    Column("rejected", Integer, nullable=False, server_default="0"),
    Column("failure", JSON, comment="Issue"),
    Column("templates", JSON, comment="templates of messages in source, failure and warnings, by their English"),
    Column("claim", Uuid, comment="of the run that may write the next chunk"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("run_id", Text, comment="the Dagster run that holds or held the claim"),
    Column("key_id", Uuid, nullable=False),
    Column("key_name", Text, nullable=False),
    Column("correlation_id", Text, nullable=False),
    Column("ip", Text),
    Column("user_agent", Text),
    instant("created_at"),
    instant("started_at", nullable=True),
    instant("heartbeat_at", nullable=True),
    instant("finished_at", nullable=True),
    Column(
        "upload_removed_at", DateTime(timezone=True), comment="of a dry run whose upload made room for another file"
    ),
    Column(
        "keep_archived",
        Boolean,
        nullable=False,
        server_default="false",
        comment="whether rows of archived SKUs are rejected, not brought back",
    ),
    Column("undone_at", DateTime(timezone=True), comment="when its writes were last taken back"),
    Column("preview", JSON, comment="Foreseen, of a dry run"),
    Column("taken_codes", JSON, comment="codes that no row of this file of corrections may have; null where none"),
    Column("warnings", JSON, comment="ImportWarnings; null where there are none"),
    Column("mapping", JSON, comment="the caller's, an earlier one merged with its answers"),
    Column("answers", Uuid, comment="the import whose held-back values this one writes; null where none"),
    Index("ix_imports_open", "created_at", postgresql_where=text("status IN ('queued', 'processing')")),
    Index("ix_imports_started", "company_id", "started_at"),
)

import_errors = Table(
    "import_errors",
    metadata,
    company(),
    Column("import_id", Uuid, nullable=False),
    Column("sheet_position", Integer, nullable=False, comment="0 the main table, 1 the components sheet"),
    Column("line", Integer, nullable=False, comment="of the caller's file, from 1"),
    Column("number", Integer, nullable=False, comment="among the faults of one line"),
    Column("sheet", Text),
    Column("sku_code", Text),
    Column("field", Text),
    Column("column", Text),
    Column("value", Text),
    Column("code", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("template", Text, comment="the message's template and parameters; null where the text is the template"),
    PrimaryKeyConstraint("import_id", "sheet_position", "line", "number"),
)

_REASONS: Final = """
SELECT code, field, count(*) AS faults, min(message) AS message
FROM import_errors WHERE import_id = %s GROUP BY code, field ORDER BY faults DESC, code, field"""
_FAULTS: Final = """
SELECT sheet, line, sku_code, field, "column", value, code, message, template
FROM import_errors WHERE import_id = %(id)s
    AND (%(code)s::text IS NULL OR code = %(code)s AND field IS NOT DISTINCT FROM %(field)s::text)
ORDER BY sheet_position, line, number LIMIT %(limit)s OFFSET %(offset)s"""
_UNKNOWN_VALUES: Final = """
SELECT field, value, count(*) AS rows
FROM import_errors WHERE import_id = %s AND code = 'not_in_vocabulary' AND field IS NOT NULL AND value IS NOT NULL
GROUP BY field, value ORDER BY rows DESC, field, value LIMIT %s"""
_WITH_COMPANY: Final = """
(SELECT imports.*, companies.name AS company_name FROM imports JOIN companies ON companies.id = imports.company_id)
AS named"""

_NEXT_WAITING: Final = """
SELECT id FROM imports
WHERE status IN ('queued', 'processing') AND (claim IS NULL OR heartbeat_at < %s)
ORDER BY created_at, id LIMIT 1"""
_TURN: Final = "SELECT pg_try_advisory_xact_lock(hashtextextended('undo ' || %s, 0))"
_UNDONE: Final = "UPDATE imports SET undone_at = %s WHERE id = %s"

Row = TypeVar("Row")


def insert(connection: Connection, row: Mapping[str, Any]) -> None:
    """Add an import's row in the caller's transaction; `row` has every column that a new import has."""
    values = ", ".join(f"%({name})s" for name in row)
    connection.execute(f"INSERT INTO imports ({', '.join(row)}) VALUES ({values})", row)


def one(connection: Connection, import_id: UUID, kind: type[Row], columns: Sequence[str]) -> Row | None:
    """Return an import of the session's company as `kind`, a class that takes these columns.

    None where there is none.
    """
    with connection.cursor(row_factory=class_row(kind)) as cursor:
        query = f"SELECT {', '.join(columns)} FROM {_WITH_COMPANY} WHERE id = %s"
        return cursor.execute(query, (import_id,)).fetchone()


_LAST_OF_NAME: Final = """
SELECT id, sha256, status = 'completed' AND undone_at IS NULL FROM imports
WHERE key_id = %s AND filename = %s ORDER BY created_at DESC, id DESC LIMIT 1"""


class Sent(NamedTuple):
    """A file that was sent: its name, who sent it, and what has become of it."""

    filename: str
    sender: str
    status: str


def sent(connection: Connection, import_ids: Sequence[UUID]) -> dict[str, Sent]:
    """Return these imports of the session's company, by id."""
    query = "SELECT id::text, filename, key_name, status FROM imports WHERE id = ANY(%s)"
    return {import_id: Sent(*row) for import_id, *row in connection.execute(query, [list(import_ids)])}


def last_written(connection: Connection, sender_id: UUID, filename: str) -> tuple[UUID, str] | None:
    """Return the last import of a sender's file of this name, and the file's SHA-256; None where it does not stand."""
    row = connection.execute(_LAST_OF_NAME, (sender_id, filename)).fetchone()
    return (row[0], row[1]) if row is not None and row[2] else None


def take_undo_turn(connection: Connection, company_id: UUID) -> bool:
    """Return whether nobody else undoes an import of the company; nobody else begins to until the commit."""
    return connection.execute(_TURN, [str(company_id)]).fetchone() == (True,)


def undone(connection: Connection, import_id: UUID, at: datetime) -> None:
    """Record that the writes of an import were taken back."""
    connection.execute(_UNDONE, [at, import_id])


def next_waiting(connection: Connection, *, stalled_before: datetime) -> UUID | None:
    """Return the oldest import of the session's company that no run works on; None where none waits."""
    row = connection.execute(_NEXT_WAITING, [stalled_before]).fetchone()
    return None if row is None else row[0]


@dataclass(frozen=True, slots=True)
class StoredUpload:
    """The file of an import, and the mapping that it was read with; as far as `source` tells it in an earlier release.

    `taken_codes` are codes that none of its rows may have; None where there are none. `mapping` is the one it was read
    with, None of an import of an earlier release. `answers` is the import whose held-back values it wrote, if any.
    """

    id: UUID
    status: str
    upload_key: str
    filename: str
    sha256: str
    source: ImportSource
    dry_run: bool
    keep_archived: bool
    taken_codes: list[str] | None
    mapping: dict[str, object] | None
    answers: UUID | None
    undone_at: datetime | None
    created_at: datetime


class Reason(NamedTuple):
    """The faults of one code and field, and the sentence of one of them in English."""

    code: str
    field: str | None
    faults: int
    message: str


def reasons(connection: Connection, import_id: UUID) -> list[Reason]:
    """Return the faults of an import's report by code and field, most frequent first."""
    with connection.cursor(row_factory=class_row(Reason)) as cursor:
        return cursor.execute(_REASONS, [import_id]).fetchall()


class UnknownValue(NamedTuple):
    """A text that is none of its field's codes, and in how many rows it stands."""

    field: str
    value: str
    rows: int


def unknown_values(connection: Connection, import_id: UUID, *, limit: int) -> list[UnknownValue]:
    """Return the texts of an import that are no codes of their fields, most frequent first."""
    with connection.cursor(row_factory=class_row(UnknownValue)) as cursor:
        return cursor.execute(_UNKNOWN_VALUES, [import_id, limit]).fetchall()


def faults(
    connection: Connection, import_id: UUID, reason: Reason | None = None, *, limit: int | None = None, offset: int = 0
) -> list[StoredRowError]:
    """Return the faults of an import's report, or a page of those of one reason, in the order of the file."""
    code, field = (None, None) if reason is None else (reason.code, reason.field)
    parameters = {"id": import_id, "code": code, "field": field, "limit": limit, "offset": offset}
    with connection.cursor(row_factory=dict_row) as cursor:
        return cast(list[StoredRowError], cursor.execute(_FAULTS, parameters).fetchall())


_COUNTS: Final = ("created", "updated", "unchanged", "rejected")
_STATE: Final = f"""
    id, status, dry_run, filename, created_at, started_at, finished_at,
    json_build_object('done', rows_done, 'total', rows_total) AS progress,
    json_build_object('total', {" + ".join(_COUNTS)}, {", ".join(f"'{name}', {name}" for name in _COUNTS)}) AS counts"""
_TEMPLATES: Final = """,
    coalesce(templates::jsonb, '{{}}') || coalesce((
        SELECT jsonb_object_agg(message, template) FROM (SELECT message, template {page}) AS error
        WHERE template IS NOT NULL), '{{}}') AS templates"""


def poll_query(limit: int, offset: int, *, with_templates: bool = False) -> str:
    """Build the query of one poll, for the parameter `import_id`; no row where the company has no such import.

    Its row is what `polled` takes. `with_templates`, for another language than English, adds what is stored beside its
    messages, by their English.
    """
    page = f"""FROM import_errors WHERE import_id = %(import_id)s
        ORDER BY sheet_position, line, number LIMIT {limit:d} OFFSET {offset:d}"""
    return f"""
SELECT {_STATE}, source, failure,
    coalesce((SELECT json_agg(error) FROM (
        SELECT sheet, line, sku_code, field, "column", value, code, message {page}) AS error), '[]') AS errors,
    coalesce(warnings -> 'warnings', '[]') AS warnings,
    coalesce(warnings -> 'warning_counts', '{{}}') AS warning_counts,
    json_build_object('limit', {limit:d}, 'offset', {offset:d},
        'total', (SELECT count(*) FROM import_errors WHERE import_id = %(import_id)s)) AS pagination,
    preview{_TEMPLATES.format(page=page) if with_templates else ""}
FROM imports WHERE id = %(import_id)s"""


def polled(row: dict[str, Any]) -> PolledReport:
    """Return the row of a poll as the answer; only a dry run has a preview."""
    if row["preview"] is None:
        del row["preview"]
    return cast(PolledReport, row)


def status(
    connection: Connection, import_id: UUID, *, limit: int, offset: int, with_templates: bool = False
) -> PolledReport | None:
    """Return the answer to a poll; None where the session's company has no such import."""
    query = poll_query(limit, offset, with_templates=with_templates)
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query, {"import_id": import_id}).fetchone()
    return None if row is None else polled(row)


_FILTERS: Final = {
    "status": "status = %(status)s",
    "since": "created_at >= %(since)s",
    "until": "created_at <= %(until)s",
    "dry_run": "dry_run = %(dry_run)s::boolean",
}


def page(limit: int, offset: int, filters: Mapping[str, object]) -> Listing[ImportListItem]:
    """Return the question for a page of the company's imports that pass the filters, newest first."""
    return _page(f"{_STATE}, undone_at", limit, offset, filters)


def recent(limit: int, offset: int = 0) -> Listing[RecentImport]:
    """Return the question for a page of the company's imports as its people see them, newest first."""
    item = f"""{_STATE}, undone_at, key_name, failure ->> 'code' AS failure_code, failure ->> 'kind' AS failure_kind,
    coalesce(json_array_length(source -> 'asked'), 0) AS questions"""
    return _page(item, limit, offset, {})


def _page(item: str, limit: int, offset: int, filters: Mapping[str, object]) -> Listing[Any]:
    chosen = f"FROM imports WHERE {' AND '.join(_FILTERS[name] for name in filters) or 'true'}"
    return pages.listing(
        item,
        "imports",
        order="created_at DESC, id",
        limit=limit,
        offset=offset,
        chosen=chosen,
        parameters=filters,
    )


COLUMNS: Final = tuple(
    column.name for column in import_errors.columns if column.name not in ("company_id", "import_id")
)
"""The columns of a report row that the caller gives in each row; import and company are given once."""

_NAMES: Final = ", ".join(f'"{name}"' for name in COLUMNS)
_TYPED: Final = ", ".join(f'"{name}" {import_errors.c[name].type}' for name in COLUMNS)
_INSERT: Final = (
    f"INSERT INTO import_errors (company_id, import_id, {_NAMES}) "
    f"SELECT %s, %s, {_NAMES} FROM json_to_recordset(%s) AS report ({_TYPED})"
)


def insert_faults(conn: Connection, company_id: UUID, import_id: UUID, rows: Sequence[Mapping[str, object]]) -> None:
    """Add report rows, each with every column of `COLUMNS`, in the caller's transaction."""
    conn.execute(_INSERT, (company_id, import_id, orjson.dumps(rows).decode()))


_STORE_WARNINGS: Final = """
UPDATE imports SET warnings = %s, templates = (coalesce(templates::jsonb, '{}') || %s::jsonb)::json WHERE id = %s"""


def stored_warnings(conn: Connection, import_id: UUID) -> ImportWarnings | None:
    """Return the warnings of the chunks so far; None before the first warning."""
    row = conn.execute("SELECT warnings FROM imports WHERE id = %s", [import_id]).fetchone()
    return None if row is None else row[0]


def store_warnings(conn: Connection, import_id: UUID, warnings: ImportWarnings, templates: Mapping[str, str]) -> None:
    """Store the warnings of an import in the transaction of a chunk; `templates` are those of new messages."""
    conn.execute(_STORE_WARNINGS, [Json(warnings), Json(dict(templates)), import_id])


def stored_preview(conn: Connection, import_id: UUID) -> Foreseen | None:
    """Return what the chunks so far foresee; None before the first."""
    row = conn.execute("SELECT preview FROM imports WHERE id = %s", [import_id]).fetchone()
    return None if row is None else row[0]


def store_preview(conn: Connection, import_id: UUID, foreseen: Foreseen) -> None:
    """Store what an import foresees, in the transaction of a chunk."""
    conn.execute("UPDATE imports SET preview = %s WHERE id = %s", [Json(foreseen), import_id])


_REJECTED: Final = """
SELECT DISTINCT sku_code FROM import_errors
WHERE sku_code IS NOT NULL AND code <> 'version_conflict' AND import_id IN (
    SELECT before.id FROM imports AS before JOIN imports AS answer ON answer.id = %s
    WHERE answer.answers IN (before.id, before.answers) AND before.finished_at <= answer.created_at)"""
_CHANGED_SINCE: Final = f"""
WITH present AS (
    SELECT sku_code, updated_at, import_id FROM skus WHERE sku_code = ANY(%(codes)s)
    UNION ALL
    SELECT last.sku_code, last.updated_at, last.import_id FROM {resting()} WHERE rests.sku_code = ANY(%(codes)s)
)
SELECT present.sku_code FROM present
WHERE present.updated_at > (SELECT created_at FROM imports WHERE id = %(import)s)
AND NOT EXISTS (
    SELECT FROM imports
    WHERE imports.id = present.import_id AND (imports.id = %(import)s OR imports.answers = %(import)s))"""


def rejected_codes(conn: Connection, import_id: UUID) -> set[str]:
    """Return the SKUs that were rejected by the import that one answers, or by earlier answers to it.

    Those that somebody else had changed are not among them. They stay the same while the answer is worked on.
    """
    return {code for (code,) in conn.execute(_REJECTED, [import_id])}


def changed_since(conn: Connection, codes: Sequence[str], import_id: UUID) -> set[str]:
    """Return which of these SKUs somebody has changed or archived since an import was sent; lock all of them.

    What the import itself wrote, and the answers to it, is no change by somebody else.
    """
    portfolio.lock_versions(conn, codes)
    archive.lock_versions(conn, codes)
    return {code for (code,) in conn.execute(_CHANGED_SINCE, {"codes": list(codes), "import": import_id})}


class Relatives(NamedTuple):
    """When an import's writes were last taken back, the import that it answers, and the newest that answers it."""

    undone_at: datetime | None
    answers: UUID | None
    answered_by: UUID | None


_RELATIVES: Final = """
SELECT undone_at, answers,
    (SELECT id FROM imports AS answer
     WHERE answer.answers = imports.id AND NOT answer.dry_run ORDER BY answer.created_at DESC, answer.id DESC LIMIT 1)
FROM imports WHERE id = %s"""


def relatives(conn: Connection, import_id: UUID) -> Relatives:
    """Return what became of an import and which imports belong to it. A dry run is no answer."""
    return Relatives(*(conn.execute(_RELATIVES, [import_id]).fetchone() or (None, None, None)))
