"""Prepares what runs show of an import: the file, its table, its typed rows, what was written, and the report."""

from collections.abc import Mapping
from typing import Any, Final  # Any: a status is JSON

import dagster as dg

from pipelines.imports.process import RunTotals
from pipelines.imports.report import Work
from pipelines.metadata import columns
from pipelines.metadata.tables import Metadata, frame_table, grade_bars, records, table
from pipelines.reading.rows import TypedRows
from pipelines.reading.upload import Upload
from schemas.vocabularies import VOCABULARIES

_REPORT: Final = ("sheet", "line", "sku_code", "field", "column", "value", "code", "message")


def _sent_import(sent: Work) -> Metadata:
    """Name the import, the company and the file, under the names that they have everywhere."""
    company = {"company": sent.company_name, "company_id": str(sent.company_id)}
    return {"import_id": str(sent.id), **company, "filename": sent.filename}


def _counts(outcomes: Mapping[str, int]) -> Metadata:
    """Return SKUs by outcome as single figures, which the UI plots over runs."""
    return {f"skus_{name}": outcomes.get(name, 0) for name in VOCABULARIES["outcome"]}


def uploaded_file(sent: Work) -> Metadata:
    """Show the file that was sent."""
    return {
        **_sent_import(sent),
        "size_bytes": sent.size_bytes,
        "sha256": sent.sha256,
        "object_key": sent.upload_key,
        "dry_run": sent.dry_run,
        "attempt": sent.attempts,
        "rows_committed_before": sent.position,
    }


def parsed_table(upload: Upload) -> Metadata:
    """Show what was read from the file."""
    return {
        "rows_read": upload.rows,
        "dagster/row_count": upload.table.height,
        "component_lines": 0 if upload.components is None else upload.components.height,
        "source": dg.MetadataValue.json(upload.source),
        "dagster/column_schema": columns.frame_schema(upload.table),
        "first_rows": frame_table(upload.table),
    }


def typed_rows(typed: TypedRows) -> Metadata:
    """Show the rows that were typed, and the first lines that could not be."""
    return {
        "rows_typed": typed.values.height,
        "dagster/row_count": typed.values.height,
        "rows_rejected": typed.rejected,
        "faults": typed.errors.height,
        "first_rejected": frame_table(typed.errors.select("line", "sku_code", "column", "message")),
        **columns.metadata("typed_rows"),
        "dagster/column_schema": columns.frame_schema(typed.values),
    }


def graded_skus(sent: Work, written: RunTotals, *, skus: int, seconds: float) -> Metadata:
    """Show what the run has written; `skus` is the company's number of SKUs after it."""
    counted = [(grade, written.grades.get(grade, 0)) for grade in VOCABULARIES["recyclability_grade"]]
    total = sum(written.grades.values()) or 1
    steps = [(step, f"{spent:.3f}") for step, spent in written.seconds.items()]  # in the order in which they ran
    return {
        **_sent_import(sent),
        **_counts(written.outcomes),
        "dagster/row_count": skus,
        "chunks": written.chunks,
        "rows_committed_by_earlier_runs": sent.position,
        "grades": table(("grade", "SKUs", "share"), [(grade, n, f"{100 * n / total:.1f} %") for grade, n in counted]),
        "grades_picture": grade_bars(written.grades),
        "seconds": seconds,
        "seconds_by_step": table(("step", "seconds"), steps),
        **columns.metadata("graded_skus"),
    }


def import_report(sent: Work, status: Mapping[str, Any]) -> Metadata:
    """Show the import as its caller polls it (`status`)."""
    faults = status["pagination"]["total"]
    return {
        **_sent_import(sent),
        **_counts(status["counts"]),
        "faults": faults,
        "first_rejected": records(_REPORT, status["errors"], total=faults),
    }
