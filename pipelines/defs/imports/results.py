"""Describes the five assets of an import, their checks, and what the Dagster UI shows of each when it is made.

The lineage leads from the file to the report, although one step makes all of it: an analyst follows it asset by asset.
What does not belong here: the work of the import (`pipelines.defs.imports.assets`).
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias, TypeVar, get_args  # Any: Dagster's metadata takes any value

import dagster as dg
import pandera.polars as pa
import polars as pl

from pipelines.defs import OWNERS
from pipelines.engine import checks
from pipelines.engine.partitions import company_partitions
from pipelines.imports.process import RunTotals
from pipelines.imports.work import Work
from pipelines.reading import TypedRows, Upload
from pipelines.shown import columns, preview
from schemas import contracts
from schemas.vocabularies import Outcome

T = TypeVar("T")
Shown: TypeAlias = dg.MaterializeResult[Any] | dg.AssetCheckResult
Frames = dict[str, tuple[pa.DataFrameSchema, pl.DataFrame]]

REPORT_ROWS: Final = preview.PREVIEW_ROWS


_SHARED: Final[dict[str, Any]] = {"owners": OWNERS, "skippable": True}
"""A run that finds nothing to do is no failure: each may be left out."""
SPECS: Final = (
    dg.AssetSpec(
        "uploaded_file",
        description="The file as a company sent it, byte for byte at `object_key` of the object store.",
        group_name="intake",
        kinds={"file"},
        tags={"pcds/stage": "received"},
        **_SHARED,
    ),
    dg.AssetSpec(
        "parsed_table",
        deps=["uploaded_file"],
        description="The sheet's lines as text under the names of our fields, each with its line number in the "
        "caller's file.",
        group_name="intake",
        kinds={"polars"},
        tags={"pcds/stage": "received"},
        metadata=columns.metadata("parsed_table"),
        **_SHARED,
    ),
    dg.AssetSpec(
        "typed_rows",
        deps=["uploaded_file", "parsed_table"],
        description="One row per SKU with typed values (weights in g, shares in percent); unreadable lines are listed "
        "apart.",
        group_name="intake",
        kinds={"polars"},
        tags={"pcds/stage": "typed"},
        metadata=columns.metadata("typed_rows"),
        **_SHARED,
    ),
    dg.AssetSpec(
        "graded_skus",
        deps=["uploaded_file", "parsed_table", "typed_rows"],
        description="The company's SKUs after this file, with recyclability grade and score (0 to 100), chunk by chunk."
        " Committed chunks are not written again. An import that has ended is not written again either.",
        group_name="grading",
        kinds={"polars", "postgres"},
        tags={"pcds/stage": "stored"},
        metadata=columns.metadata("graded_skus"),
        **_SHARED,
    ),
    dg.AssetSpec(
        "import_report",
        deps=["uploaded_file", "typed_rows", "graded_skus"],
        description="What the caller reads by polling: SKUs by outcome over all runs, and each fault at its line and "
        "column.",
        group_name="grading",
        kinds={"postgres"},
        tags={"pcds/stage": "reported"},
        **_SHARED,
    ),
)
"""The five assets, in the order of their lineage. (A list would be loaded as assets of its own.)"""
CHECKS: Final = (
    checks.contract_spec("parsed_table"),
    checks.contract_spec("typed_rows"),
    dg.AssetCheckSpec(
        checks.GRADED,
        asset="graded_skus",
        partitions_def=company_partitions,
        description="No accepted SKU is without a grade state.",
    ),
    dg.AssetCheckSpec(
        checks.COUNTS,
        asset="import_report",
        blocking=True,
        partitions_def=company_partitions,
        description="One outcome per SKU, every line is read.",
    ),
)
"""The checks of our own work: two before anything is written, two after."""


def chosen(context: dg.AssetExecutionContext, result: dg.MaterializeResult[None]) -> Iterator[Shown]:
    """Yield what the run is to show of an asset: all of it, its checks alone, or nothing."""
    asset = result.asset_key
    assert asset is not None, "each of them names its asset"
    checks_chosen = {key.name for key in context.selected_asset_check_keys if key.asset_key == asset}
    wanted = [check._replace(asset_key=asset) for check in result.check_results if check.check_name in checks_chosen]
    if asset in context.selected_asset_keys:
        yield result._replace(check_results=wanted)
    else:
        yield from wanted


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what the work returns, and the seconds that it took."""
    begun = time.perf_counter()
    return work(), round(time.perf_counter() - begun, 3)


def uploaded_file(sent: Work) -> dg.MaterializeResult[None]:
    """Show the file that was sent."""
    return dg.MaterializeResult(
        asset_key="uploaded_file",
        metadata={
            **preview.import_metadata(sent),
            "size_bytes": sent.size_bytes,
            "sha256": sent.sha256,
            "object_key": sent.upload_key,
            "dry_run": sent.dry_run,
            "attempt": sent.attempts,
            "rows_committed_before": sent.position,
        },
    )


def tables_of(upload: Upload) -> Frames:
    """Return the tables that were read, each with its contract."""
    sheets = {"table": upload.table} | ({} if upload.components is None else {"components": upload.components})
    return {name: (contracts.parsed_table(frame.columns), frame) for name, frame in sheets.items()}


def parsed_table(upload: Upload, contract: dg.AssetCheckResult) -> dg.MaterializeResult[None]:
    """Show what was read from the file."""
    return dg.MaterializeResult(
        asset_key="parsed_table",
        metadata={
            "rows_read": upload.rows,
            "dagster/row_count": upload.table.height,
            "component_lines": 0 if upload.components is None else upload.components.height,
            "source": dg.MetadataValue.json(upload.source),
            "dagster/column_schema": preview.column_schema(upload.table),
            "first_rows": preview.frame_table(upload.table),
        },
        check_results=[contract],
    )


def rows_of(typed: TypedRows) -> Frames:
    """Return the typed rows with their contract."""
    return {"values": (contracts.typed_rows(typed.values.columns), typed.values)}


def typed_rows(typed: TypedRows, contract: dg.AssetCheckResult) -> dg.MaterializeResult[None]:
    """Show the rows that were typed, and the first lines that could not be."""
    return dg.MaterializeResult(
        asset_key="typed_rows",
        metadata={
            "rows_typed": typed.values.height,
            "dagster/row_count": typed.values.height,
            "rows_rejected": typed.rejected,
            "faults": typed.errors.height,
            "first_rejected": preview.frame_table(typed.errors.select("line", "sku_code", "column", "message")),
            **columns.metadata("typed_rows"),
            "dagster/column_schema": preview.column_schema(typed.values),
        },
        check_results=[contract],
    )


def graded_skus(sent: Work, written: RunTotals, *, skus: int, seconds: float) -> dg.MaterializeResult[None]:
    """Show what the run has written; `skus` is the company's number of SKUs after it."""
    return dg.MaterializeResult(
        asset_key="graded_skus",
        metadata={
            **preview.import_metadata(sent),
            **preview.counts(written.outcomes),
            "dagster/row_count": skus,
            "chunks": written.chunks,
            "rows_committed_by_earlier_runs": sent.position,
            "grades": preview.grade_table(written.grades),
            "grades_picture": preview.grade_bars(written.grades),
            "seconds": seconds,
            "seconds_by_step": preview.seconds(written.seconds),
            **columns.metadata("graded_skus"),
        },
        check_results=[checks.all_graded(written.ungraded, sum(written.grades.values()))],
    )


def import_report(sent: Work, rows: TypedRows, found: Mapping[str, Any]) -> dg.MaterializeResult[None]:
    """Show the import as its caller polls it (`found`), beside the rows that were read."""
    outcomes: tuple[Outcome, ...] = get_args(Outcome)
    counts: dict[str, int] = {name: found["counts"][name] for name in outcomes}
    shown = ("sheet", "line", "sku_code", "field", "column", "value", "code", "message")
    return dg.MaterializeResult(
        asset_key="import_report",
        metadata={
            **preview.import_metadata(sent),
            **preview.counts(counts),
            "faults": found["pagination"]["total"],
            "first_rejected": preview.records(shown, found["errors"], total=found["pagination"]["total"]),
        },
        check_results=[
            checks.counts_add_up(
                decided=rows.values.height + rows.rejected,
                by_outcome=counts,
                rows_done=found["progress"]["done"],
                rows_total=found["progress"]["total"],
            )
        ],
    )
