"""Defines the import of a file: one step that makes five assets, from the bytes that were sent to the caller's report.

The step reads, types, grades and writes the file under one claim (`claimed`), and shows what it made as it goes
(`results`). `pipelines.reading` does the reading, `pipelines.imports` the writing.
"""

from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from typing import NamedTuple
from uuid import UUID

import dagster as dg

from pipelines.defs.imports import results
from pipelines.defs.imports.claimed import ClaimedImport, claim_import
from pipelines.engine import checks, tags
from pipelines.engine.jobs import IMPORT_STEP
from pipelines.engine.partitions import company_of, company_partitions
from pipelines.engine.resources import (
    FileReaders,
    Importing,
    ObjectStore,
    Postgres,
    RuleSets,
    ServiceClock,
    Shutdown,
)
from pipelines.imports import process, settle, work
from pipelines.imports.answers import rows_due
from pipelines.imports.process import RunTotals
from pipelines.imports.work import Work
from pipelines.reading import TypedRows, Upload
from pipelines.sandbox import requests
from pipelines.sandbox.limits import ReadingStopped
from pipelines.sandbox.pool import Readers
from pipelines.writing.plans import PlanLimitReached
from warehouse.catalogue.queries import served_markets
from warehouse.clock import Clock
from warehouse.companies.queries import counters
from warehouse.imports import claims
from warehouse.imports.polls import status
from warehouse.objects import NoSuchObject, Objects
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Pool


class ImportRun(dg.Config):
    """The import of the partition's company that a run takes; where `import_id` is null, the next file that waits."""

    import_id: str | None = None


class Services(NamedTuple):
    """What an import needs of its process."""

    pool: Pool
    clock: Clock
    objects: Objects
    readers: Readers
    rulesets: Rulesets
    chunk_rows: int


@dg.multi_asset(
    name=IMPORT_STEP,
    specs=results.SPECS,
    check_specs=results.CHECKS,
    partitions_def=company_partitions,
    can_subset=True,  # without it, a step that makes nothing would fail for want of its checks (Dagster 1.13)
)
def imported_file(
    context: dg.AssetExecutionContext,
    config: ImportRun,
    *,
    postgres: Postgres,
    object_store: ObjectStore,
    clock: ServiceClock,
    file_readers: FileReaders,
    rule_sets: RuleSets,
    importing: Importing,
    shutdown: Shutdown,
) -> Iterator[results.Shown]:
    """Import one file of a company: the run's own, or, where somebody materialises it by hand, the next that waits.

    The file is imported whole, whichever of the assets are chosen. Where nothing waits the step ends green with a
    sentence in the run's log, and makes nothing.
    """
    services = Services(
        postgres,
        clock,
        object_store,
        file_readers,
        rule_sets,
        importing.chunk_rows,
    )
    company_id = company_of(postgres, context.partition_key)
    wanted = config.import_id or context.run.tags.get(tags.IMPORT) or _next_waiting(services, company_id)
    if wanted is None:
        context.log.info("Nothing to do: no file of this company waits.")
        return
    file_readers.expect()  # one is needed in a moment, and starts meanwhile
    with claim_import(
        context, company_id, wanted, pool=services.pool, clock=services.clock, stopping=shutdown
    ) as taken:
        if tags.IMPORT not in context.run.tags:  # a run that is resumed takes the same one again
            context.instance.add_run_tags(context.run.run_id, _tags_of(taken.work))
        if reason := _reason_to_do_nothing(taken, context.run.run_id, services):
            context.log.info(reason)
            return
        with closing(_import(services, taken)) as made:
            for result in made:
                yield from results.chosen(context, result)


def _next_waiting(services: Services, company_id: UUID) -> str | None:
    waiting = work.next_waiting(services.pool, company_id, services.clock.now())
    return None if waiting is None else str(waiting)


def _tags_of(sent: Work) -> dict[str, str]:
    of_company = tags.of_company(sent.company_id, sent.company_name)
    return of_company | tags.of_import(sent.id, sent.company_id, sent.filename)


def _reason_to_do_nothing(taken: ClaimedImport, run_id: str, services: Services) -> str | None:
    """Return why there is nothing to do; None where there is, or where the run has lost its process after the end."""
    sent = taken.work
    if taken.claim is not None:
        return None
    if not sent.has_ended:
        return "Nothing to do: another run works on the import."
    if sent.status == "failed":
        return "Nothing to do: the import has failed, as its report says. The file has to be sent again."
    if sent.run_id != run_id or not _has(services.objects, sent.table_key):  # the table goes last
        return "Nothing to do: the import is completed."
    return None


def _has(objects: Objects, key: str) -> bool:
    try:
        objects.file(key).close()
    except NoSuchObject:
        return False
    return True


def _import(services: Services, taken: ClaimedImport) -> Generator[dg.MaterializeResult[None], None, None]:
    """Import the file and yield each asset when it is made; a contract that is broken ends the import before writing.

    Where the import has ended, because its run lost its process just then, nothing is written.
    """
    sent = taken.work
    yield results.uploaded_file(sent)
    upload = Upload.from_bytes(services.objects.get(sent.table_key))
    verdict = checks.contract(results.tables_of(upload))
    taken.fail_unless(verdict.passed)
    yield results.parsed_table(upload, verdict)
    if not verdict.passed:
        return
    rows = type_rows(services, taken)
    verdict = checks.contract(results.rows_of(rows))
    taken.fail_unless(verdict.passed)
    yield results.typed_rows(rows, verdict)
    if not verdict.passed:
        return
    written, seconds = results.timed(partial(write_rows, services, taken, upload, rows))
    with services.pool.company(sent.company_id) as conn:
        skus = counters(conn).skus
    yield results.graded_skus(sent, written, skus=skus, seconds=seconds)
    found = status(services.pool, sent.company_id, sent.id, limit=results.REPORT_ROWS, offset=0)
    assert found is not None, "an import that was just completed is there"
    yield results.import_report(sent, rows, found)
    services.objects.remove(sent.table_key)  # the uploaded file stays; its rows are stored now
    if sent.answers is not None:
        services.objects.remove(sent.before_key)


def type_rows(services: Services, taken: ClaimedImport) -> TypedRows:
    """Return the rows that a reader process types; an import whose reading was stopped fails and is not tried again.

    Dagster decides the order of imports: each import has its own turn of a reader here.
    """
    sent = taken.work
    with services.pool.system() as conn:
        served = served_markets(conn)

    def read(source: requests.Source) -> TypedRows:
        order = requests.typing_request(source, default_year=sent.default_year, served_markets=served)
        return services.readers.read(sent.id, "import", order)

    try:
        typed = read(partial(services.objects.file, sent.table_key))
        return rows_due(services.pool, services.objects, sent, typed, read)
    except ReadingStopped as stopped:
        [failure] = stopped.issues
        if stopped.reason == "crash" and sent.attempts < claims.MAX_ATTEMPTS:  # the machine may have had no memory left
            raise dg.Failure("The process that reads files was lost twice; another run tries again.") from None
        if taken.claim:
            settle.fail(services.pool, taken.claim, sent, services.clock, failure)
        raise dg.Failure(failure.message, allow_retries=False) from None


def write_rows(services: Services, taken: ClaimedImport, upload: Upload, rows: TypedRows) -> RunTotals:
    """Write the rows and end the import. Raises `dagster.Failure` where they cannot all be written."""
    if taken.claim is None:
        return RunTotals()
    job = process.Job(services.pool, services.clock, services.rulesets, taken.claim, taken.work, upload, rows)
    try:
        return process.write_rows(job, chunk_rows=services.chunk_rows, proceed=taken.proceed)
    except PlanLimitReached as reached:
        failure = settle.plan_limit_issue(reached)
        settle.fail(services.pool, taken.claim, taken.work, services.clock, failure)
        raise dg.Failure(failure.message, allow_retries=False) from None
