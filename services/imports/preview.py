"""Computes what an import would do without making one: the rows are merged and graded, and nothing is stored.

It takes the steps of `process`, in one piece and one transaction that writes nothing, so that its answer is that of a
dry run. It is meant for tables that fit into one request; files are sent as imports.
"""

import csv
import io
from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import Final, cast
from uuid import UUID

import orjson
import polars as pl
from uuid_utils import uuid7

from pipelines.imports import report
from pipelines.imports.report import Work
from pipelines.readers.requests import ReadRequest, preview_request
from pipelines.reading.mapping import Words
from pipelines.reading.rows import TypedRows
from pipelines.reading.upload import Upload
from pipelines.writing.patch import Patch, from_typed
from pipelines.writing.refuse import warnings_of
from pipelines.writing.write import prepare
from schemas.actors import Actor
from schemas.imports.types import ImportCounts, ImportPreview, ImportRowError
from warehouse.operate.sessions import Connection
from warehouse.rules import Rulesets

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


def preview(conn: Connection, actor: Actor, upload: Upload, typed: TypedRows, rulesets: Rulesets) -> ImportPreview:
    """Return counts, source and faults of an import of these rows, in a session that has the company set."""
    work = _work(actor, upload)
    rules = rulesets.active(conn)
    rows = from_typed(typed.values, typed.given, rules)
    patch = Patch.of(rows.values, rows.given).without([fault.row for fault in rows.issues])
    found = prepare(conn, patch, now=actor.now, rules=rules, whole_rows=False, locking=False)
    written = report.writer_faults([*rows.issues, *found.errors], typed.values, upload, work)
    faults = report.reader_faults(typed, work)
    unnamed = report.missing_names(conn, typed, faults)
    warned = report.listed(list(warnings_of(found)), typed.values, upload, work, report.MOST_LISTED)
    errors = pl.concat([faults.select(written.columns), unnamed, written])
    errors = errors.sort("sheet_position", "line", maintain_order=True)
    return {
        "rows": upload.rows,
        "counts": _counts(typed, found.merged["outcome"]),
        "source": upload.source,
        "errors": cast(list[ImportRowError], errors.select(_REPORTED).to_dicts()),
        **report.together([report.of_source(upload.source), warned]),
    }


def _counts(typed: TypedRows, outcomes: Sequence[str]) -> ImportCounts:
    created, updated, unchanged = (outcomes.count(name) for name in ("created", "updated", "unchanged"))
    rejected = typed.rejected + typed.values.height - len(outcomes)
    return {
        "total": len(outcomes) + rejected,
        "created": created,
        "updated": updated,
        "unchanged": unchanged,
        "rejected": rejected,
    }


def _work(actor: Actor, upload: Upload) -> Work:
    """Return the import that this would be, for the report."""
    return Work(
        id=UUID(str(uuid7())),
        company_id=actor.company_id,
        company_name="",
        filename=FILENAME,
        size_bytes=0,
        sha256="",
        dry_run=True,
        upload_key="",
        table_key="",
        default_year=actor.now.year,
        source=upload.source,
        rows_total=upload.rows,
        position=0,
        attempts=0,
        correlation_id="",
        ip=None,
        user_agent=None,
    )
