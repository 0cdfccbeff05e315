"""Reads imports for their company's people: the list, newest first, and the report of one import by its reasons.

Polls are answered by `warehouse.imports.queries`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, TypeVar, cast
from uuid import UUID

import orjson
from psycopg.rows import class_row, dict_row
from psycopg.types.json import Json

from schemas.imports.types import ImportSource, PolledReport, StoredRowError
from warehouse import pages
from warehouse.operate.sessions import Connection, Pool
from warehouse.pages import instant

_NEWEST: Final = """
SELECT id, status, dry_run, filename, key_name, created_at, finished_at, rows_done, rows_total, created, updated,
    unchanged, rejected, failure ->> 'code' AS failure_code, failure ->> 'kind' AS failure_kind,
    coalesce(json_array_length(source -> 'asked'), 0) AS questions, count(*) OVER () AS total
FROM imports ORDER BY created_at DESC, id LIMIT %s OFFSET %s"""
_REASONS: Final = """
SELECT code, field, count(*) AS faults, min(message) AS message
FROM import_errors WHERE import_id = %s GROUP BY code, field ORDER BY faults DESC, code, field"""
_FAULTS: Final = """
SELECT sheet, line, sku_code, field, "column", value, code, message, template
FROM import_errors WHERE import_id = %s AND code = %s AND field IS NOT DISTINCT FROM %s
ORDER BY sheet_position, line, number LIMIT %s OFFSET %s"""
_ALL_FAULTS: Final = """
SELECT sheet, line, sku_code, field, "column", value, code, message, template
FROM import_errors WHERE import_id = %s ORDER BY sheet_position, line, number"""
_UNKNOWN_VALUES: Final = """
SELECT field, value, count(*) AS rows
FROM import_errors WHERE import_id = %s AND code = 'not_in_vocabulary' AND field IS NOT NULL AND value IS NOT NULL
GROUP BY field, value ORDER BY rows DESC, field, value LIMIT %s"""

_INSERTED: Final = (
    "id",
    "company_id",
    "status",
    "dry_run",
    "keep_archived",
    "filename",
    "size_bytes",
    "sha256",
    "upload_key",
    "table_key",
    "default_year",
    "source",
    "templates",
    "rows_total",
    "taken_codes",
    "mapping",
    "answers",
    "key_id",
    "key_name",
    "correlation_id",
    "ip",
    "user_agent",
    "created_at",
)
_INSERT: Final = (
    f"INSERT INTO imports ({', '.join(_INSERTED)}) VALUES ({', '.join(f'%({name})s' for name in _INSERTED)})"
)
_NAMED: Final = """
(SELECT imports.*, companies.name AS company_name FROM imports JOIN companies ON companies.id = imports.company_id)
AS named"""

_FAIL_AT_ONCE: Final = "UPDATE imports SET failure = %s, finished_at = %s WHERE id = %s"
_NEXT_WAITING: Final = """
SELECT id FROM imports
WHERE status IN ('queued', 'processing') AND (claim IS NULL OR heartbeat_at < %s)
ORDER BY created_at, id LIMIT 1"""
_TURN: Final = "SELECT pg_try_advisory_xact_lock(hashtextextended('undo ' || %s, 0))"
_UNDONE: Final = "UPDATE imports SET undone_at = %s WHERE id = %s"

Row = TypeVar("Row")


def insert(connection: Connection, row: Mapping[str, object]) -> None:
    """Add an import's row in the caller's transaction; `row` has every column that a new import has."""
    connection.execute(_INSERT, row)


def one(connection: Connection, import_id: UUID, kind: type[Row], columns: Sequence[str]) -> Row | None:
    """Return an import of the session's company as `kind`, a class that takes these columns.

    None where there is none.
    """
    with connection.cursor(row_factory=class_row(kind)) as cursor:
        return cursor.execute(f"SELECT {', '.join(columns)} FROM {_NAMED} WHERE id = %s", (import_id,)).fetchone()


def fail_at_once(connection: Connection, import_id: UUID, failure: Mapping[str, object], at: datetime) -> None:
    """End a new import that no run will work on."""
    connection.execute(_FAIL_AT_ONCE, [Json(dict(failure)), at, import_id])


def filename_of(connection: Connection, import_id: UUID) -> str | None:
    """Return the name of an import's file; None where the session's company has no such import."""
    row = connection.execute("SELECT filename FROM imports WHERE id = %s", [import_id]).fetchone()
    return None if row is None else str(row[0])


def undone_at(connection: Connection, import_id: UUID) -> datetime | None:
    """Return when the writes of an import were last taken back; None where they were not."""
    row = connection.execute("SELECT undone_at FROM imports WHERE id = %s", [import_id]).fetchone()
    return None if row is None else row[0]


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


class Recent(NamedTuple):
    """An import of the list, with its counts of SKUs; `total` is the number of all imports of the company.

    `questions` are those that are open, `failure_kind` the kind of the one for which the file was refused.
    """

    id: UUID
    status: str
    dry_run: bool
    filename: str
    key_name: str
    created_at: datetime
    finished_at: datetime | None
    rows_done: int
    rows_total: int
    created: int
    updated: int
    unchanged: int
    rejected: int
    failure_code: str | None
    failure_kind: str | None
    questions: int
    total: int


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


def newest(connection: Connection, *, limit: int, offset: int = 0) -> tuple[list[Recent], int]:
    """Return a page of the company's imports with their counts of SKUs, and the number of all its imports."""
    with connection.cursor(row_factory=class_row(Recent)) as cursor:
        found = cursor.execute(_NEWEST, [limit, offset]).fetchall()
    return found, found[0].total if found else 0


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


def all_faults(connection: Connection, import_id: UUID) -> list[StoredRowError]:
    """Return every fault of an import's report, in the order of the file."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cast(list[StoredRowError], cursor.execute(_ALL_FAULTS, [import_id]).fetchall())


def faults(
    connection: Connection, import_id: UUID, *, code: str, field: str | None, limit: int, offset: int
) -> list[StoredRowError]:
    """Return a page of the faults of one reason, in the order of the file."""
    with connection.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(_FAULTS, [import_id, code, field, limit, offset]).fetchall()
    return cast(list[StoredRowError], found)


_COUNTS: Final = ("created", "updated", "unchanged", "rejected")
_INSTANTS: Final = ("created_at", "started_at", "finished_at")
_FAULT: Final = 'sheet, line, sku_code, field, "column", value, code, message'
_LISTED: Final = f"""
    id, status, dry_run, filename, {", ".join(f"{instant(name)} AS {name}" for name in _INSTANTS)},
    json_build_object('done', rows_done, 'total', rows_total) AS progress,
    json_build_object('total', {" + ".join(_COUNTS)}, {", ".join(f"'{name}', {name}" for name in _COUNTS)}) AS counts,
    {instant("undone_at")} AS undone_at"""
_TEMPLATES: Final = """,
(coalesce(templates::jsonb, '{{}}') || coalesce((
    SELECT jsonb_object_agg(message, template) FROM (SELECT message, template {page}) AS error
    WHERE template IS NOT NULL), '{{}}'))::text AS templates"""


def poll_query(limit: int, offset: int, *, with_templates: bool = False) -> str:
    """Build the query of one poll, for the parameter `import_id`; no row where the company has no such import.

    `answer` is the contract's ImportStatusResponse as JSON text with one page of the report; a dry run has `preview`
    too. `with_templates`, for another language than English, adds the column `templates`: what is stored beside its
    messages, by their English.
    """
    page = f"""FROM import_errors WHERE import_id = %(import_id)s
        ORDER BY sheet_position, line, number LIMIT {limit:d} OFFSET {offset:d}"""
    templates = _TEMPLATES.format(page=page) if with_templates else ""
    return f"""
SELECT left(report, -1) || coalesce(', "preview" : ' || preview::text, '') || '}}' AS answer{templates}
FROM imports, LATERAL (SELECT json_build_object(
    'id', id, 'status', status, 'dry_run', dry_run, 'filename', filename,
    {", ".join(f"'{name}', {instant(name)}" for name in _INSTANTS)},
    'progress', json_build_object('done', rows_done, 'total', rows_total),
    'counts', json_build_object('total', {" + ".join(_COUNTS)}, {", ".join(f"'{name}', {name}" for name in _COUNTS)}),
    'source', source, 'failure', failure,
    'errors', coalesce((SELECT json_agg(error) FROM (
        SELECT {_FAULT} {page}) AS error), '[]'::json),
    'warnings', coalesce(warnings -> 'warnings', '[]'::json),
    'warning_counts', coalesce(warnings -> 'warning_counts', '{{}}'::json),
    'pagination', json_build_object('limit', {limit:d}, 'offset', {offset:d},
        'total', (SELECT count(*) FROM import_errors WHERE import_id = %(import_id)s))
)::text AS report) AS built
WHERE id = %(import_id)s"""


_NARROWED: Final = {
    "status": "status = %(status)s",
    "since": "created_at >= %(since)s",
    "until": "created_at <= %(until)s",
    "dry_run": "dry_run = %(dry_run)s::boolean",
}


def page(limit: int, offset: int, filters: Sequence[str]) -> str:
    """Build the query of ImportListResponse as one JSON text, `page`, newest first; `filters` have a parameter each."""
    chosen = f"FROM imports WHERE {' AND '.join(_NARROWED[name] for name in filters) or 'true'}"
    return pages.page(
        _LISTED,
        "imports",
        order="imports.created_at DESC, imports.id",
        limit=limit,
        offset=offset,
        rows=f"SELECT * {chosen} ORDER BY created_at DESC, id LIMIT {limit:d} OFFSET {offset:d}",
        total=f"(SELECT count(*) {chosen})",
    )


def status(
    pool: Pool, company_id: UUID, import_id: UUID, *, limit: int, offset: int, with_templates: bool = False
) -> PolledReport | None:
    """Return the answer to a poll, as values; None where the company has no such import.

    `with_templates` adds `templates` to it.
    """
    query = poll_query(limit, offset, with_templates=with_templates)
    with pool.company(company_id) as conn:
        row = conn.execute(query, {"import_id": import_id}).fetchone()
    if row is None:
        return None
    found: PolledReport = orjson.loads(row[0])
    if with_templates:
        found["templates"] = orjson.loads(row[1])
    return found
