"""Answers a poll of an import with one statement.

Callers poll many times while their file is worked on, on the same cores: the database builds the answer, admission
included (`api.reading`). What belongs here: that statement. What does not: the work (`pipelines.imports`).
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import orjson

from schemas.report import PolledReport
from warehouse import pages
from warehouse.pages import instant
from warehouse.sessions import Pool

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
