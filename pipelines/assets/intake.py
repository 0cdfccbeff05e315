"""Group intake: from the uploaded file to typed rows. Reading itself is `pipelines.steps.reading`."""

from functools import partial
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines import checks, tags
from pipelines.assets import columns, preview
from pipelines.assets.holding import Intake, holding
from pipelines.resources import Workshop
from pipelines.steps import readers, volumes
from pipelines.steps.imports import claim as claims
from pipelines.steps.imports import settle, work
from pipelines.steps.imports.claim import Claim
from pipelines.steps.reading import TypedRows, Upload
from schemas import contracts

OWNERS: Final = ["team:packaging-data"]
GROUP: Final = "intake"


class ImportRun(dg.Config):
    """Which import a run works on. `claim` is the token of a worker that has claimed it before starting the run."""

    import_id: str
    company_id: str | None = None
    claim: str | None = None


@dg.asset(group_name=GROUP, owners=OWNERS, kinds={"file"}, tags={"pcds/stage": "received"})
def uploaded_file(
    context: dg.AssetExecutionContext, config: ImportRun, workshop: dg.ResourceParam[Workshop]
) -> dg.MaterializeResult[Intake]:
    """The file as a company sent it, byte for byte at `object_key` of the object store; a run's hold begins here."""
    claim = _claim(config, workshop)
    with holding(context, workshop, claim):
        _close(context, claims.assign(workshop.pool, claim, context.run.run_id))
        sent = work.load(workshop.pool, claim)
        if sent.attempts > claims.MAX_ATTEMPTS:
            settle.fail(workshop.pool, claim, sent, workshop.clock, failure := settle.gave_up())
            raise dg.Failure(failure.message, allow_retries=False)
    if tags.COMPANY_NAME not in context.run.tags:
        found_by = tags.of_import(sent.id, sent.company_id, sent.filename)
        context.instance.add_run_tags(
            context.run.run_id, found_by | tags.of_company(sent.company_id, sent.company_name)
        )
    return dg.MaterializeResult(
        value=Intake(claim, sent),
        metadata={
            **preview.sent(sent), "size_bytes": sent.size_bytes, "sha256": sent.sha256,
            "object_key": sent.upload_key, "dry_run": sent.dry_run, "attempt": sent.attempts,
            "rows_committed_before": sent.position,
        },
    )  # fmt: skip


def _claim(config: ImportRun, workshop: Workshop) -> Claim:
    """The worker's claim, or one of this run's own where Dagster started it."""
    if config.claim and config.company_id:
        return Claim(UUID(config.import_id), UUID(config.company_id), UUID(config.claim))
    taken = claims.take(workshop.pool, workshop.clock, UUID(config.import_id))
    if taken is None:
        raise dg.Failure("Nothing to do: the import has ended, or another run works on it.", allow_retries=False)
    return taken


def _close(context: dg.AssetExecutionContext, previous_run: str | None) -> None:
    """End the run that worked on the import before: where its process died, nobody else would."""
    previous = previous_run and context.instance.get_run_by_id(previous_run)
    if previous and not previous.is_finished:
        context.instance.report_run_failed(previous, f"Lost its process; {context.run.run_id} continues the import.")


@dg.asset(
    group_name=GROUP, owners=OWNERS, kinds={"polars"}, tags={"pcds/stage": "received"},
    metadata=columns.metadata("parsed_table"),
    dagster_type=dg.PythonObjectDagsterType(Upload), check_specs=[checks.contract_spec("parsed_table")],
)  # fmt: skip
def parsed_table(
    context: dg.AssetExecutionContext, uploaded_file: Intake, workshop: dg.ResourceParam[Workshop]
) -> checks.CheckedResult:
    """The sheet's lines as text under the names of our fields, each with its line number in the caller's file."""
    with holding(context, workshop, uploaded_file.claim):
        upload = Upload.from_bytes(workshop.objects.get(uploaded_file.work.table_key))
    sheets = {"table": upload.table} | ({} if upload.components is None else {"components": upload.components})
    return dg.MaterializeResult(
        value=upload,
        metadata={
            "rows_read": upload.rows,
            "component_lines": 0 if upload.components is None else upload.components.height,
            "source": dg.MetadataValue.json(upload.source),
            "dagster/column_schema": preview.column_schema(upload.table),
            "first_rows": preview.frame_table(upload.table),
        },
        check_results=[
            checks.contract({name: (contracts.parsed_table(frame.columns), frame) for name, frame in sheets.items()})
        ],
    )


@dg.asset(
    group_name=GROUP, owners=OWNERS, kinds={"polars"}, tags={"pcds/stage": "typed"},
    metadata=columns.metadata("typed_rows"),
    deps=[parsed_table], dagster_type=dg.PythonObjectDagsterType(TypedRows),
    check_specs=[checks.contract_spec("typed_rows")],
)  # fmt: skip
def typed_rows(
    context: dg.AssetExecutionContext,
    uploaded_file: Intake,
    workshop: dg.ResourceParam[Workshop],
) -> checks.CheckedResult:
    """One row per SKU with typed values (weights in g, shares in percent); lines that cannot be read stand apart."""
    with holding(context, workshop, uploaded_file.claim):
        with workshop.pool.system() as conn:
            served = volumes.served_markets(conn)
        typed = _typed(uploaded_file, workshop, served)
    return dg.MaterializeResult(
        value=typed,
        metadata={
            "rows_typed": typed.values.height,
            "rows_rejected": typed.rejected,
            "faults": typed.errors.height,
            "first_rejected": preview.frame_table(typed.errors.select("line", "sku_code", "column", "message")),
            **columns.metadata("typed_rows"),
            "dagster/column_schema": preview.column_schema(typed.values),
        },
        check_results=[checks.contract({"values": (contracts.typed_rows(typed.values.columns), typed.values)})],
    )


def _typed(intake: Intake, workshop: Workshop, served_markets: frozenset[str]) -> TypedRows:
    """What a reader makes of the table; an import whose reading was stopped has failed, and is not tried again.

    Which import comes when is the queue's (`claims.take`): each has a reader's turn of its own here.
    """
    table = partial(workshop.objects.file, intake.work.table_key)
    order = readers.typing(table, default_year=intake.work.default_year, served_markets=served_markets)
    try:
        return workshop.readers.read(intake.work.id, "import", order)
    except readers.ReadingStopped as stopped:
        [failure] = stopped.issues
        settle.fail(workshop.pool, intake.claim, intake.work, workshop.clock, failure)
        raise dg.Failure(failure.message, allow_retries=False) from None
