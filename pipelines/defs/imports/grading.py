"""Defines group grading: typed rows become graded SKUs, and the report that the caller reads."""

import time
from typing import NamedTuple, get_args

import dagster as dg

from pipelines.defs.imports.assets import are_of_one_import
from pipelines.defs.imports.claimed import ClaimedImport, claim_import
from pipelines.defs.imports.handover import Parsed, Received, Typed
from pipelines.defs.imports.steps import NO_FILE, Made, import_step
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
from warehouse.companies.queries import counters
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


@import_step(
    dg.AssetCheckSpec(
        checks.GRADED,
        asset="graded_skus",
        partitions_def=company_partitions,
        description="No accepted SKU is without a grade state.",
    ),
    group_name=GROUP,
    kinds={"polars", "postgres"},
    stage="stored",
    metadata=columns.metadata("graded_skus"),
)
def graded_skus(
    context: dg.AssetExecutionContext,
    uploaded_file: Received | None,
    parsed_table: Parsed | None,
    typed_rows: Typed | None,
    *,
    postgres: Postgres,
    clock: ServiceClock,
    rule_sets: RuleSets,
    importing: Importing,
    shutdown: Shutdown,
) -> Made:
    """The company's SKUs after this file, with recyclability grade and score (0 to 100), chunk by chunk.

    Committed chunks are not written again. An import that has ended is not written again either: nothing is made.
    """
    if uploaded_file is None or parsed_table is None or typed_rows is None:
        context.log.info(NO_FILE)
        return
    if not are_of_one_import(context, uploaded_file, parsed_table, typed_rows):
        return
    begun = time.perf_counter()
    with claim_import(context, uploaded_file, postgres.pool, clock.clock, shutdown.event, writes=True) as taken:
        if taken.claim is None and taken.work.run_id != context.run.run_id:
            context.log.info("Nothing to do: the import has ended, or another run works on it.")
            return
        services = _Services(postgres.pool, clock.clock, rule_sets.registry, importing.chunk_rows)
        written = write_import_rows(services, taken, parsed_table, typed_rows)
    with postgres.pool.company(uploaded_file.company_id) as conn:
        skus = counters(conn).skus
    yield dg.MaterializeResult(
        metadata={
            **preview.import_metadata(taken.work),
            **preview.counts(written.outcomes),
            "dagster/row_count": skus,
            "chunks": written.chunks,
            "rows_committed_by_earlier_runs": taken.work.position,
            "grades": preview.grade_table(written.grades),
            "grades_picture": preview.grade_bars(written.grades),
            "seconds": round(time.perf_counter() - begun, 3),
            "seconds_by_step": preview.seconds(written.seconds),
            **columns.metadata("graded_skus"),
        },
        check_results=[checks.all_graded(written.ungraded, sum(written.grades.values()))],
    )


def write_import_rows(services: _Services, taken: ClaimedImport, parsed: Parsed, typed: Typed) -> RunTotals:
    """Write the import's rows and return the outcome. Raises `dagster.Failure` where they cannot all be written.

    A run that had written them all before it lost its process has nothing to write.
    """
    work = taken.work
    if taken.claim is None:
        return RunTotals()
    job = process.Job(services.pool, services.clock, services.rulesets, taken.claim, work, parsed.upload, typed.rows)
    try:
        return process.write_rows(job, chunk_rows=services.chunk_rows, proceed=taken.proceed)
    except PlanLimitReached as reached:
        failure = settle.plan_limit_issue(reached)
        settle.fail(services.pool, taken.claim, work, services.clock, failure)
        raise dg.Failure(failure.message, allow_retries=False) from None


@import_step(
    dg.AssetCheckSpec(
        checks.COUNTS,
        asset="import_report",
        blocking=True,
        partitions_def=company_partitions,
        description="One outcome per SKU, every line is read.",
    ),
    group_name=GROUP,
    kinds={"postgres"},
    stage="reported",
    deps=[graded_skus],
)
def import_report(
    context: dg.AssetExecutionContext,
    uploaded_file: Received | None,
    typed_rows: Typed | None,
    *,
    postgres: Postgres,
    object_store: ObjectStore,
) -> Made:
    """What the caller reads by polling: SKUs by outcome over all runs, and each fault at its line and column."""
    if uploaded_file is None or typed_rows is None or not are_of_one_import(context, uploaded_file, typed_rows):
        return
    work = load(postgres.pool, uploaded_file.company_id, uploaded_file.import_id)
    if not work.has_ended:
        context.log.info("Nothing to do: the import is still being written. Materialise graded_skus first.")
        return
    found = status(postgres.pool, work.company_id, work.id, limit=preview.PREVIEW_ROWS, offset=0)
    assert found is not None, "an import that was just completed is there"
    object_store.objects.delete(work.table_key)  # the uploaded file stays; its rows are stored now
    if work.answers is not None:
        object_store.objects.delete(work.before_key)
    outcomes: tuple[Outcome, ...] = get_args(Outcome)
    counts: dict[str, int] = {name: found["counts"][name] for name in outcomes}
    shown = ("sheet", "line", "sku_code", "field", "column", "value", "code", "message")
    rows = typed_rows.rows
    yield dg.MaterializeResult(
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
