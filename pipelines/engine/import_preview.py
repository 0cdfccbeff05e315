"""Prepares what runs show of an import: the file, its table, its typed rows, what was written, and the report."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias  # Any: Dagster's metadata takes any value

import dagster as dg

from pipelines.engine import checks, preview
from pipelines.imports.process import RunTotals
from pipelines.imports.report import Work
from pipelines.reading.rows import TypedRows
from pipelines.reading.upload import Upload

Shown: TypeAlias = dict[str, Any]
_REPORT: Final = ("sheet", "line", "sku_code", "field", "column", "value", "code", "message")


def uploaded_file(sent: Work) -> Shown:
    """Show the file that was sent."""
    return {
        **preview.import_metadata(sent),
        "size_bytes": sent.size_bytes,
        "sha256": sent.sha256,
        "object_key": sent.upload_key,
        "dry_run": sent.dry_run,
        "attempt": sent.attempts,
        "rows_committed_before": sent.position,
    }


def parsed_table(upload: Upload) -> Shown:
    """Show what was read from the file."""
    return {
        "rows_read": upload.rows,
        "dagster/row_count": upload.table.height,
        "component_lines": 0 if upload.components is None else upload.components.height,
        "source": dg.MetadataValue.json(upload.source),
        "dagster/column_schema": preview.column_schema(upload.table),
        "first_rows": preview.frame_table(upload.table),
    }


def typed_rows(typed: TypedRows) -> Shown:
    """Show the rows that were typed, and the first lines that could not be."""
    return {
        "rows_typed": typed.values.height,
        "dagster/row_count": typed.values.height,
        "rows_rejected": typed.rejected,
        "faults": typed.errors.height,
        "first_rejected": preview.frame_table(typed.errors.select("line", "sku_code", "column", "message")),
        **checks.metadata("typed_rows"),
        "dagster/column_schema": preview.column_schema(typed.values),
    }


def graded_skus(sent: Work, written: RunTotals, *, skus: int, seconds: float) -> Shown:
    """Show what the run has written; `skus` is the company's number of SKUs after it."""
    return {
        **preview.import_metadata(sent),
        **preview.counts(written.outcomes),
        "dagster/row_count": skus,
        "chunks": written.chunks,
        "rows_committed_by_earlier_runs": sent.position,
        "grades": preview.grade_table(written.grades),
        "grades_picture": preview.grade_bars(written.grades),
        "seconds": seconds,
        "seconds_by_step": preview.seconds(written.seconds),
        **checks.metadata("graded_skus"),
    }


def import_report(sent: Work, found: Mapping[str, Any]) -> Shown:
    """Show the import as its caller polls it (`found`)."""
    faults = found["pagination"]["total"]
    return {
        **preview.import_metadata(sent),
        **preview.counts(found["counts"]),
        "faults": faults,
        "first_rejected": preview.records(_REPORT, found["errors"], total=faults),
    }
