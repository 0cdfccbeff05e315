"""Group grading: typed rows become graded SKUs, and the report that the caller reads."""

import time

import dagster as dg

from pipelines import checks
from pipelines.assets import columns, preview
from pipelines.assets.holding import Intake, holding
from pipelines.assets.intake import OWNERS
from pipelines.resources import Workshop
from pipelines.steps.imports import process, settle
from pipelines.steps.imports.process import Written
from pipelines.steps.imports.status import status
from pipelines.steps.plans import PlanLimitReached
from pipelines.steps.reading import TypedRows, Upload
from schemas.vocabularies import VOCABULARIES

GROUP = "grading"


@dg.asset(
    group_name=GROUP, owners=OWNERS, kinds={"polars", "postgres"}, tags={"pcds/stage": "stored"},
    metadata=columns.metadata("graded_skus"),
    dagster_type=dg.PythonObjectDagsterType(Written), check_specs=[
        dg.AssetCheckSpec(checks.GRADED, asset="graded_skus", description="No accepted SKU is without a grade state."),
    ],
)  # fmt: skip
def graded_skus(
    context: dg.AssetExecutionContext,
    uploaded_file: Intake,
    parsed_table: Upload,
    typed_rows: TypedRows,
    workshop: dg.ResourceParam[Workshop],
) -> checks.CheckedResult:
    """The company's SKUs as this file leaves them, with recyclability grade and score (0 to 100), chunk by chunk."""
    claim, work = uploaded_file.claim, uploaded_file.work
    job = process.Job(workshop.pool, workshop.clock, workshop.rulesets, claim, work, parsed_table, typed_rows)
    begun = time.perf_counter()
    with holding(context, workshop, claim) as proceed:
        try:
            written = process.write_rows(job, chunk_rows=workshop.chunk_rows, proceed=proceed)
        except PlanLimitReached as reached:
            failure = settle.plan_full(reached)
            settle.fail(workshop.pool, claim, work, workshop.clock, failure)
            raise dg.Failure(failure.message, allow_retries=False) from None
    return dg.MaterializeResult(
        value=written,
        metadata={
            **preview.sent(work),
            **preview.counts(written.outcomes),
            "chunks": written.chunks,
            "rows_committed_by_earlier_runs": work.position,
            "grades": preview.grade_table(written.grades),
            "grades_picture": preview.grade_bars(written.grades),
            "seconds": round(time.perf_counter() - begun, 3),
            "seconds_by_step": preview.seconds(written.seconds),
            **columns.metadata("graded_skus"),
        },
        check_results=[checks.all_graded(written.ungraded, sum(written.grades.values()))],
    )


@dg.asset(
    group_name=GROUP, owners=OWNERS, kinds={"postgres"}, tags={"pcds/stage": "reported"}, deps=[graded_skus],
    check_specs=[
        dg.AssetCheckSpec(checks.COUNTS, asset="import_report", description="One outcome per SKU, every line is read."),
    ],
)  # fmt: skip
def import_report(
    uploaded_file: Intake, typed_rows: TypedRows, workshop: dg.ResourceParam[Workshop]
) -> checks.CheckedResult:
    """What the caller reads by polling: SKUs by outcome over all runs, and each fault at its line and column."""
    work = uploaded_file.work
    found = status(workshop.pool, work.company_id, work.id, limit=preview.PREVIEW_ROWS, offset=0, clock=workshop.clock)
    assert found is not None, "an import that was just completed is there"
    workshop.objects.delete(work.table_key)  # the uploaded bytes stay; what was read from them is in the rows now
    counts = {name: found["counts"][name] for name in VOCABULARIES["outcome"]}
    shown = ("sheet", "line", "sku_code", "field", "column", "value", "code", "message")
    return dg.MaterializeResult(
        metadata={
            **preview.sent(work),
            **preview.counts(counts),
            "faults": found["pagination"]["total"],
            "first_rejected": preview.table(
                shown, ([error[name] for name in shown] for error in found["errors"]),
                total=found["pagination"]["total"],
            ),
        },
        check_results=[
            checks.counts_add_up(
                decided=typed_rows.values.height + typed_rows.rejected, by_outcome=counts,
                rows_done=found["progress"]["done"], rows_total=found["progress"]["total"],
            )
        ],
    )  # fmt: skip
