"""Defines group grading: typed rows become graded SKUs, and the report that the caller reads."""

import time
from collections import Counter
from typing import NamedTuple, get_args

import dagster as dg

from pipelines.defs import OWNERS
from pipelines.defs.imports.assets import same_import
from pipelines.defs.imports.claimed import ClaimedImport, claim_import
from pipelines.defs.imports.faults import fail_import_once
from pipelines.defs.imports.handover import Parsed, Received, Typed
from pipelines.engine import checks
from pipelines.engine.partitions import company_partitions
from pipelines.engine.resources import Importing, ObjectStore, Postgres, RuleSets, ServiceClock, Shutdown
from pipelines.imports import process, settle
from pipelines.imports.process import RunTotals
from pipelines.imports.work import load
from pipelines.shown import columns, preview
from pipelines.writing.plans import PlanLimitReached
from schemas.vocabularies import Outcome
from warehouse.clock import Clock
from warehouse.imports.polls import status
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Pool

GROUP = "grading"


class _Services(NamedTuple):
    """The services and settings that writing rows needs."""

    pool: Pool
    clock: Clock
    rulesets: Rulesets
    chunk_rows: int


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"polars", "postgres"},
    tags={"pcds/stage": "stored"},
    metadata=columns.metadata("graded_skus"),
    partitions_def=company_partitions,
    hooks={fail_import_once},
    check_specs=[
        checks.company_check("graded_skus", checks.GRADED, "No accepted SKU is without a grade state."),
    ],
)
def graded_skus(
    context: dg.AssetExecutionContext,
    uploaded_file: Received,
    parsed_table: Parsed,
    typed_rows: Typed,
    *,
    postgres: Postgres,
    clock: ServiceClock,
    rule_sets: RuleSets,
    importing: Importing,
    shutdown: Shutdown,
) -> checks.CheckedResult:
    """The company's SKUs after this file, with recyclability grade and score (0 to 100), chunk by chunk.

    Committed chunks are not written again, so a completed import writes nothing.
    """
    same_import(uploaded_file, parsed_table, typed_rows)
    begun = time.perf_counter()
    with claim_import(context, uploaded_file, postgres.pool, clock.clock, shutdown.event, writes=True) as taken:
        services = _Services(postgres.pool, clock.clock, rule_sets.registry, importing.chunk_rows)
        written = write_import_rows(services, taken, parsed_table, typed_rows)
    graded = sum(written.grades.values())
    return dg.MaterializeResult(
        metadata={
            **preview.import_metadata(taken.work),
            **preview.counts(written.outcomes),
            "dagster/row_count": graded,
            "chunks": written.chunks,
            "rows_committed_by_earlier_runs": taken.work.position,
            "grades": preview.grade_table(written.grades),
            "grades_picture": preview.grade_bars(written.grades),
            "seconds": round(time.perf_counter() - begun, 3),
            "seconds_by_step": preview.seconds(written.seconds),
            **columns.metadata("graded_skus"),
        },
        check_results=[checks.all_graded(written.ungraded, graded)],
    )


def write_import_rows(services: _Services, taken: ClaimedImport, parsed: Parsed, typed: Typed) -> RunTotals:
    """Write the import's rows and return the outcome. Raises `dagster.Failure` where they cannot all be written."""
    work = taken.work
    if taken.claim is None:
        if work.status == "failed":
            sentence = "The import has failed, as its report says, and is not tried again. Send the file again."
            raise dg.Failure(sentence, allow_retries=False)
        return RunTotals(Counter())
    job = process.Job(services.pool, services.clock, services.rulesets, taken.claim, work, parsed.upload, typed.rows)
    try:
        return process.write_rows(job, chunk_rows=services.chunk_rows, proceed=taken.proceed)
    except PlanLimitReached as reached:
        failure = settle.plan_limit_issue(reached)
        settle.fail(services.pool, taken.claim, work, services.clock, failure)
        raise dg.Failure(failure.message, allow_retries=False) from None


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"postgres"},
    tags={"pcds/stage": "reported"},
    deps=[graded_skus],
    partitions_def=company_partitions,
    check_specs=[
        checks.company_check("import_report", checks.COUNTS, "One outcome per SKU, every line is read.", blocking=True),
    ],
)
def import_report(
    uploaded_file: Received, typed_rows: Typed, postgres: Postgres, object_store: ObjectStore
) -> checks.CheckedResult:
    """What the caller reads by polling: SKUs by outcome over all runs, and each fault at its line and column."""
    same_import(uploaded_file, typed_rows)
    work = load(postgres.pool, uploaded_file.company_id, uploaded_file.import_id)
    if not work.has_ended:
        raise dg.Failure("The import is still being written: materialise graded_skus first.", allow_retries=False)
    found = status(postgres.pool, work.company_id, work.id, limit=preview.PREVIEW_ROWS, offset=0)
    assert found is not None, "an import that was just completed is there"
    object_store.objects.delete(work.table_key)  # the uploaded file stays; its rows are stored now
    outcomes: tuple[Outcome, ...] = get_args(Outcome)
    counts: dict[str, int] = {name: found["counts"][name] for name in outcomes}
    shown = ("sheet", "line", "sku_code", "field", "column", "value", "code", "message")
    rows = typed_rows.rows
    return dg.MaterializeResult(
        metadata={
            **preview.import_metadata(work),
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
