"""Group intake: from the uploaded file to typed rows. Reading itself is `pipelines.reading`."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple
from uuid import UUID

import dagster as dg

from pipelines.defs import OWNERS
from pipelines.defs.imports.faults import fail_import_once
from pipelines.defs.imports.handover import Parsed, Received, Typed
from pipelines.defs.imports.holding import Hold, goes_on, holding
from pipelines.engine import checks, tags
from pipelines.engine.partitions import companies, company_of
from pipelines.engine.resources import FileReaders, ObjectStore, Postgres, ServiceClock, Shutdown
from pipelines.imports import settle, work
from pipelines.imports.work import Work
from pipelines.reading import TypedRows, Upload
from pipelines.sandbox import orders
from pipelines.sandbox.limits import ReadingStopped
from pipelines.sandbox.pool import Readers
from pipelines.shown import columns, preview
from schemas import contracts
from warehouse.catalogue.queries import served_markets
from warehouse.clock import Clock
from warehouse.imports.queue import is_stalled
from warehouse.objects import NoSuchObject, Objects
from warehouse.sessions import Pool

GROUP: Final = "intake"


class _Desk(NamedTuple):
    """What a file's table is typed with."""

    pool: Pool
    clock: Clock
    objects: Objects
    readers: Readers


class ImportRun(dg.Config):
    """Which import of the partition's company a run works on: the one that it has sent last, where none is named."""

    import_id: str | None = None


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"file"},
    tags={"pcds/stage": "received"},
    partitions_def=companies,
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

    A run that would write an import that is written already, or that another run works on, ends here with nothing done.
    """
    company_id = company_of(postgres.pool, context.partition_key)
    sent = _sent(postgres.pool, company_id, context.partition_key, config.import_id)
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
        file_readers.readers.expect()  # `typed_rows` needs one: it starts while the steps before do their work
        with holding(context, received, postgres.pool, clock.clock, shutdown.begun) as hold:
            sent = hold.work
    yield dg.MaterializeResult(
        value=received,
        metadata={
            **preview.sent(sent),
            "size_bytes": sent.size_bytes,
            "sha256": sent.sha256,
            "object_key": sent.upload_key,
            "dry_run": sent.dry_run,
            "attempt": sent.attempts,
            "rows_committed_before": sent.position,
        },
    )


def _sent(pool: Pool, company_id: UUID, slug: str, import_id: str | None) -> Work:
    """The company's import. Raises `dagster.Failure` where it has none of that id, or none at all."""
    try:
        wanted = work.latest(pool, company_id) if import_id is None else UUID(import_id)
        if wanted is not None:
            return work.load(pool, company_id, wanted)
        sentence = f"The company {slug} has sent no file yet."
    except (LookupError, ValueError):
        sentence = f"The company {slug} has no import {import_id}; the partition and the import must be one company's."
    raise dg.Failure(sentence, allow_retries=False)


def _nothing_to_do(sent: Work, run_id: str, objects: Objects, now: datetime) -> str | None:
    """Why a run has nothing to write; None where it has, and where it has ended the import itself and is resumed.

    Raises `dagster.Failure` of an import that has failed, which is not tried again.
    """
    if not sent.has_ended:
        held = sent.claim is not None and sent.claim != UUID(run_id) and not is_stalled(sent.heartbeat_at, now)
        return "Nothing to do: another run works on the import." if held else None
    if sent.status == "failed":
        sentence = "Nothing to do: the import has failed, as its report says. The file has to be sent again."
        raise dg.Failure(sentence, allow_retries=False)
    if sent.run_id != run_id:
        return "Nothing to do: the import is completed."
    try:
        objects.file(sent.table_key).close()
    except NoSuchObject:  # it is the last that goes
        return "Nothing to do: this run has completed the import before it lost its process."
    return None


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"polars", "parquet"},
    tags={"pcds/stage": "received"},
    metadata=columns.metadata("parsed_table"),
    partitions_def=companies,
    hooks={fail_import_once},
    dagster_type=dg.PythonObjectDagsterType(Parsed),
    check_specs=[checks.contract_spec("parsed_table")],
)
def parsed_table(
    context: dg.AssetExecutionContext,
    uploaded_file: Received,
    *,
    postgres: Postgres,
    object_store: ObjectStore,
    clock: ServiceClock,
    shutdown: Shutdown,
) -> checks.CheckedResult:
    """The sheet's lines as text under the names of our fields, each with its line number in the caller's file."""
    with holding(context, uploaded_file, postgres.pool, clock.clock, shutdown.begun) as hold:
        try:
            upload = Upload.from_bytes(object_store.objects.get(hold.work.table_key))
        except NoSuchObject:
            sentence = (
                "What was read from the file is removed when its rows are written: the newest of this asset is what it "
                "was. Send the file again to have it read again."
            )
            raise dg.Failure(sentence, allow_retries=False) from None
    sheets = {"table": upload.table} | ({} if upload.components is None else {"components": upload.components})
    return dg.MaterializeResult(
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


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"polars", "parquet"},
    tags={"pcds/stage": "typed"},
    metadata=columns.metadata("typed_rows"),
    partitions_def=companies,
    hooks={fail_import_once},
    dagster_type=dg.PythonObjectDagsterType(Typed),
    check_specs=[checks.contract_spec("typed_rows")],
)
def typed_rows(
    context: dg.AssetExecutionContext,
    uploaded_file: Received,
    parsed_table: Parsed,
    *,
    postgres: Postgres,
    object_store: ObjectStore,
    clock: ServiceClock,
    file_readers: FileReaders,
    shutdown: Shutdown,
) -> checks.CheckedResult:
    """One row per SKU with typed values (weights in g, shares in percent); lines that cannot be read stand apart."""
    same_import(uploaded_file, parsed_table)
    with holding(context, uploaded_file, postgres.pool, clock.clock, shutdown.begun) as hold:
        with postgres.pool.system() as conn:
            served = served_markets(conn)
        desk = _Desk(postgres.pool, clock.clock, object_store.objects, file_readers.readers)
        typed = _typed(desk, hold, parsed_table, served)
    return dg.MaterializeResult(
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


def same_import(uploaded_file: Received, *others: Parsed | Typed) -> None:
    """Raise `dagster.Failure` where an asset that runs alone would mix what belongs to different imports."""
    if any(other.import_id != uploaded_file.import_id for other in others):
        sentence = "The newest of the assets upstream are of different imports: materialise those together first."
        raise dg.Failure(sentence, allow_retries=False)


def _typed(desk: _Desk, hold: Hold, parsed: Parsed, served_markets: frozenset[str]) -> TypedRows:
    """What a reader makes of the table; an import whose reading was stopped has failed, and is not tried again.

    Which import comes when is Dagster's: each has a reader's turn of its own here.
    """
    sent = hold.work
    table = partial(desk.objects.file, sent.table_key)
    source = table if hold.claim else parsed.upload.to_bytes()  # it may be gone when the import has ended
    order = orders.typing(source, default_year=sent.default_year, served_markets=served_markets)
    try:
        return desk.readers.read(sent.id, "import", order)
    except ReadingStopped as stopped:
        [failure] = stopped.issues
        if hold.claim:
            settle.fail(desk.pool, hold.claim, sent, desk.clock, failure)
        raise dg.Failure(failure.message, allow_retries=False) from None
