"""Defines group intake: from the uploaded file to typed rows. `pipelines.reading` does the reading itself."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple
from uuid import UUID

import dagster as dg

from pipelines.defs import OWNERS
from pipelines.defs.imports.claimed import ClaimedImport, claim_import, goes_on
from pipelines.defs.imports.faults import fail_import_once
from pipelines.defs.imports.handover import Parsed, Received, Typed
from pipelines.defs.imports.steps import NO_FILE, Made, import_step
from pipelines.engine import checks, tags
from pipelines.engine.partitions import company_of, company_partitions
from pipelines.engine.resources import FileReaders, ObjectStore, Postgres, ServiceClock, Shutdown
from pipelines.imports import settle, work
from pipelines.imports.answers import rows_due
from pipelines.imports.work import Work
from pipelines.reading import TypedRows, Upload
from pipelines.sandbox import requests
from pipelines.sandbox.limits import ReadingStopped
from pipelines.sandbox.pool import Readers
from pipelines.shown import columns, preview
from schemas import contracts
from warehouse.catalogue.queries import served_markets
from warehouse.clock import Clock
from warehouse.imports import claims
from warehouse.imports.queue import is_stalled
from warehouse.objects import NoSuchObject, Objects
from warehouse.sessions import Pool

GROUP: Final = "intake"


class _Services(NamedTuple):
    """The services that typing a file's table needs."""

    pool: Pool
    clock: Clock
    objects: Objects
    readers: Readers


class ImportRun(dg.Config):
    """The import of the partition's company that a run works on; the company's latest where `import_id` is null."""

    import_id: str | None = None


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"file"},
    tags={"pcds/stage": "received"},
    partitions_def=company_partitions,
    dagster_type=dg.PythonObjectDagsterType(Received),
    output_required=False,
    hooks={fail_import_once},
)
def uploaded_file(
    context: dg.AssetExecutionContext,
    config: ImportRun,
    *,
    postgres: Postgres,
    object_store: ObjectStore,
    clock: ServiceClock,
    file_readers: FileReaders,
    shutdown: Shutdown,
) -> Iterator[dg.MaterializeResult[Received]]:
    """The file as a company sent it, byte for byte at `object_key` of the object store.

    A run ends here without doing anything where the import is already written or another run works on it.
    """
    company_id = company_of(postgres.pool, context.partition_key)
    sent = _load_import(postgres.pool, company_id, context.partition_key, config.import_id)
    if sent is None:
        context.log.info(NO_FILE)
        return
    if tags.IMPORT not in context.run.tags or tags.COMPANY_NAME not in context.run.tags:
        found_by = tags.of_import(sent.id, sent.company_id, sent.filename)
        context.instance.add_run_tags(
            context.run.run_id, found_by | tags.of_company(sent.company_id, sent.company_name)
        )
    received = Received(sent.id, company_id)
    if goes_on(context):
        if reason := _nothing_to_do(sent, context.run.run_id, object_store.objects, clock.now()):
            context.log.info(reason)
            return
        file_readers.readers.expect()  # `typed_rows` needs one: it starts while the earlier steps run
        with claim_import(context, received, postgres.pool, clock.clock, shutdown.event) as taken:
            sent = taken.work
    yield dg.MaterializeResult(
        value=received,
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


def _load_import(pool: Pool, company_id: UUID, slug: str, import_id: str | None) -> Work | None:
    """Load a company's import; None where it has sent no file. Raises `dagster.Failure` where the id is not its own."""
    try:
        wanted = work.latest(pool, company_id) if import_id is None else UUID(import_id)
        return None if wanted is None else work.load(pool, company_id, wanted)
    except (LookupError, ValueError):
        sentence = f"The company {slug} has no import {import_id}; the partition and the import must be one company's."
        raise dg.Failure(sentence, allow_retries=False) from None


def _nothing_to_do(sent: Work, run_id: str, objects: Objects, now: datetime) -> str | None:
    """Return why a run has nothing to write; None where it has, or has ended the import itself and is resumed."""
    if not sent.has_ended:
        claimed = sent.claim is not None and sent.claim != UUID(run_id) and not is_stalled(sent.heartbeat_at, now)
        return "Nothing to do: another run works on the import." if claimed else None
    if sent.status == "failed":
        return "Nothing to do: the import has failed, as its report says. The file has to be sent again."
    if sent.run_id != run_id:
        return "Nothing to do: the import is completed."
    try:
        objects.file(sent.table_key).close()
    except NoSuchObject:  # the last step deletes the table
        return "Nothing to do: this run has completed the import before it lost its process."
    return None


@import_step(
    checks.contract_spec("parsed_table"),
    group_name=GROUP,
    kinds={"polars", "parquet"},
    stage="received",
    metadata=columns.metadata("parsed_table"),
    value=Parsed,
)
def parsed_table(
    context: dg.AssetExecutionContext,
    uploaded_file: Received | None,
    *,
    postgres: Postgres,
    object_store: ObjectStore,
    clock: ServiceClock,
    shutdown: Shutdown,
) -> Made:
    """The sheet's lines as text under the names of our fields, each with its line number in the caller's file."""
    if uploaded_file is None:
        context.log.info(NO_FILE)
        return
    with claim_import(context, uploaded_file, postgres.pool, clock.clock, shutdown.event) as taken:
        try:
            upload = Upload.from_bytes(object_store.objects.get(taken.work.table_key))
        except NoSuchObject:
            context.log.info(
                "Nothing to do: what was read from the file is removed when its rows are written, and the newest of "
                "this asset is what it was. Send the file again to have it read again."
            )
            return
    sheets = {"table": upload.table} | ({} if upload.components is None else {"components": upload.components})
    yield dg.MaterializeResult(
        value=Parsed(uploaded_file.import_id, upload),
        metadata={
            "rows_read": upload.rows,
            "dagster/row_count": upload.table.height,
            "component_lines": 0 if upload.components is None else upload.components.height,
            "source": dg.MetadataValue.json(upload.source),
            "dagster/column_schema": preview.column_schema(upload.table),
            "first_rows": preview.frame_table(upload.table),
        },
        check_results=[
            checks.contract({name: (contracts.parsed_table(frame.columns), frame) for name, frame in sheets.items()})
        ],
    )


@import_step(
    checks.contract_spec("typed_rows"),
    group_name=GROUP,
    kinds={"polars", "parquet"},
    stage="typed",
    metadata=columns.metadata("typed_rows"),
    value=Typed,
)
def typed_rows(
    context: dg.AssetExecutionContext,
    uploaded_file: Received | None,
    parsed_table: Parsed | None,
    *,
    postgres: Postgres,
    object_store: ObjectStore,
    clock: ServiceClock,
    file_readers: FileReaders,
    shutdown: Shutdown,
) -> Made:
    """One row per SKU with typed values (weights in g, shares in percent); unreadable lines are listed apart."""
    if uploaded_file is None or parsed_table is None or not are_of_one_import(context, uploaded_file, parsed_table):
        return
    with claim_import(context, uploaded_file, postgres.pool, clock.clock, shutdown.event) as taken:
        with postgres.pool.system() as conn:
            served = served_markets(conn)
        services = _Services(postgres.pool, clock.clock, object_store.objects, file_readers.readers)
        typed = type_rows(services, taken, parsed_table, served)
    yield dg.MaterializeResult(
        value=Typed(uploaded_file.import_id, typed),
        metadata={
            "rows_typed": typed.values.height,
            "dagster/row_count": typed.values.height,
            "rows_rejected": typed.rejected,
            "faults": typed.errors.height,
            "first_rejected": preview.frame_table(typed.errors.select("line", "sku_code", "column", "message")),
            **columns.metadata("typed_rows"),
            "dagster/column_schema": preview.column_schema(typed.values),
        },
        check_results=[checks.contract({"values": (contracts.typed_rows(typed.values.columns), typed.values)})],
    )


def are_of_one_import(context: dg.AssetExecutionContext, uploaded_file: Received, *others: Parsed | Typed) -> bool:
    """Return whether an asset that runs alone has outputs of one import; where not, say so in the run's log."""
    if all(other.import_id == uploaded_file.import_id for other in others):
        return True
    context.log.info(
        "Nothing to do: the newest of the assets upstream are of different imports. Materialise those together first."
    )
    return False


def type_rows(services: _Services, taken: ClaimedImport, parsed: Parsed, served_markets: frozenset[str]) -> TypedRows:
    """Return the rows that a reader process types; an import whose reading was stopped fails and is not tried again.

    Dagster decides the order of imports: each import has its own turn of a reader here.
    """
    sent = taken.work
    table = partial(services.objects.file, sent.table_key)
    source = table if taken.claim else parsed.upload.to_bytes()  # the table may be deleted when the import has ended

    def read(source: requests.Source) -> TypedRows:
        order = requests.typing_request(source, default_year=sent.default_year, served_markets=served_markets)
        return services.readers.read(sent.id, "import", order)

    try:
        typed = read(source)
        return rows_due(services.pool, services.objects, sent, typed, read) if taken.claim else typed
    except ReadingStopped as stopped:
        [failure] = stopped.issues
        if stopped.reason == "crash" and sent.attempts < claims.MAX_ATTEMPTS:  # the machine may have had no memory left
            raise dg.Failure("The process that reads files was lost twice; another run tries again.") from None
        if taken.claim:
            settle.fail(services.pool, taken.claim, sent, services.clock, failure)
        raise dg.Failure(failure.message, allow_retries=False) from None
