"""Defines the import of a file: one step that makes five assets, from the bytes that were sent to the caller's report.

The lineage leads from the file to the report, although one step makes all of it: an analyst follows it asset by asset.
The step reads, types, grades and writes the file under one claim (`claim_import`), and then shows what it made.
`pipelines.reading` does the reading, `pipelines.imports` the writing; what becomes of an import whose run ends in
another way is in `pipelines.imports.endings`.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias, get_args  # Any: a status is JSON
from uuid import UUID

import dagster as dg

from pipelines.checks import factory as checks
from pipelines.checks.factory import Frames
from pipelines.defs import op, spec
from pipelines.engine import steps, tags
from pipelines.engine.jobs import IMPORT_STEP
from pipelines.engine.resources import Resources
from pipelines.engine.runs import company_of, company_of_run, company_partitions, is_terminated
from pipelines.imports import endings, folders, process, report
from pipelines.imports.process import RunTotals, rows_due
from pipelines.imports.report import Work
from pipelines.metadata import imports as metadata
from pipelines.metadata.tables import PREVIEW_ROWS
from pipelines.operate import Proceed
from pipelines.readers import requests
from pipelines.readers.requests import ReadingStopped
from pipelines.reading.rows import TypedRows
from pipelines.reading.upload import Upload
from pipelines.writing.write import PlanLimitReached
from schemas import contracts
from schemas.vocabularies import Outcome
from warehouse.catalogue import served_markets
from warehouse.companies.queries import counters
from warehouse.imports import claims
from warehouse.imports.claims import Claim
from warehouse.imports.queries import status
from warehouse.operate import launches
from warehouse.operate.objects import NoSuchObject, Objects
from warehouse.operate.surroundings import is_passing

FILE_SECONDS: Final = 300.0
"""How long a run waits for one file of a watched folder, which may first have to wait for a reader."""
Made: TypeAlias = dg.MaterializeResult[None]
"""An asset that the step has made, with its checks."""
COUNTS: Final = "counts_add_up"
GRADED: Final = "every_sku_has_a_grade_state"


class ImportRun(dg.Config):
    """The import of the partition's company that a run takes; where `import_id` is null, the next file that waits."""

    import_id: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimedImport:
    """A run's import. `claim` is null where it has ended or another run works on it: the run writes nothing.

    The run calls `proceed` before each chunk; it raises where the run has to end. `fail` ends the import by a fault of
    ours. The run calls `tell_written` when all rows are stored: the company's next file may begin, and this run only
    tells Dagster what it has made.
    """

    work: Work
    claim: Claim | None
    proceed: Callable[[], None]
    fail: Callable[[], None]
    tell_written: Callable[[], None] = lambda: None


@contextmanager
def claim_import(
    context: dg.AssetExecutionContext, company_id: UUID, import_id: str, resources: Resources
) -> Iterator[ClaimedImport]:
    """Take the claim and keep it alive during the block, which ends the import.

    Raises `dagster.Failure` where the company has no such import, where too many runs have lost their process over it,
    and where the process is stopping (`pipelines.engine.steps`).
    """
    pool, clock = resources.postgres, resources.clock
    try:
        claim = claims.take(pool, clock, company_id, UUID(import_id), UUID(context.run.run_id))
        sent = report.load(pool, company_id, UUID(import_id))
    except (LookupError, ValueError):
        sentence = (
            f"The company {context.partition_key} has no import {import_id}; the partition and the import must be one "
            "company's."
        )
        raise dg.Failure(sentence, allow_retries=False) from None
    if claim is None:
        yield ClaimedImport(sent, None, lambda: None, lambda: None)
        return
    try:
        if sent.attempts > claims.MAX_ATTEMPTS:
            process.fail(pool, claim, sent, clock, failure := process.gave_up_issue())
            raise dg.Failure(failure.message, allow_retries=False)
        _close(context, claim.previous_run)
        with claims.send_heartbeats(pool, claim, clock) as still_ours:

            def proceed() -> None:
                still_ours()
                if resources.shutdown.is_set():
                    raise claims.HandedBack("the process is stopping; the run goes on after the last chunk elsewhere")

            proceed()
            fail = partial(endings.fail_by_us, pool, clock, claim, sent)
            stored = {tags.WRITES: context.run.run_id}
            tell_written = partial(context.instance.add_run_tags, context.run.run_id, stored)
            yield ClaimedImport(sent, claim, proceed, fail, tell_written)
    except claims.ClaimLost as lost:
        raise dg.Failure(f"Ended without effect: {lost}.", allow_retries=False) from None
    except claims.HandedBack as reason:
        # A run that another worker resumes takes its claim again.
        claims.lay_down(pool, claim, keep=steps.is_warm_worker)
        steps.leave(context, f"Handed back: {reason}")
    except BaseException as error:  # an interruption, or the error that it caused in a running query
        if is_passing(error):
            endings.give_back(pool, claim, resources.shutdown)
        run = context.instance.get_run_by_id(context.run.run_id)
        if run is not None and is_terminated(run):
            endings.end_by_operator(pool, clock, company_id, sent.id, run.run_id)
        else:
            endings.release(pool, clock, claim, sent, error, outside=dg.Failure)
        raise


def _close(context: dg.AssetExecutionContext, previous_run: str | None) -> None:
    """End the run that had the import before: if its process died and nobody resumed it, nothing else would."""
    previous = None if previous_run in (None, context.run.run_id) else context.instance.get_run_by_id(str(previous_run))
    if previous and not previous.is_finished:
        context.instance.report_run_failed(previous, f"Lost its process; {context.run.run_id} continues the import.")


_spec: Final = partial(spec, skippable=True)
"""An asset of the step; skippable, because a run that finds nothing to do is no failure."""
_check: Final = partial(dg.AssetCheckSpec, partitions_def=company_partitions)


@dg.multi_asset(
    name=IMPORT_STEP,
    specs=[
        _spec(
            "uploaded_file",
            "intake",
            "received",
            "file",
            description="The file as a company sent it, byte for byte at `object_key` of the object store.",
        ),
        _spec(
            "parsed_table",
            "intake",
            "received",
            "polars",
            deps=["uploaded_file"],
            description="The sheet's lines as text under the names of our fields, each with its line number in the "
            "caller's file.",
        ),
        _spec(
            "typed_rows",
            "intake",
            "typed",
            "polars",
            deps=["uploaded_file", "parsed_table"],
            description="One row per SKU with typed values (weights in g, shares in percent); unreadable lines are "
            "listed apart.",
        ),
        _spec(
            "graded_skus",
            "grading",
            "stored",
            "polars",
            "postgres",
            deps=["uploaded_file", "parsed_table", "typed_rows"],
            description="The company's SKUs after this file, with recyclability grade and score (0 to 100), chunk by "
            "chunk. Committed chunks are not written again. An import that has ended is not written again either.",
        ),
        _spec(
            "import_report",
            "grading",
            "reported",
            "postgres",
            deps=["uploaded_file", "typed_rows", "graded_skus"],
            description="What the caller reads by polling: SKUs by outcome over all runs, and each fault at its line "
            "and column.",
        ),
    ],
    check_specs=[  # of our own work: two before anything is written, two after
        *(
            _check(
                checks.CONTRACT,
                asset=asset,
                blocking=True,
                description="The frame has the columns, types, bounds and vocabularies of the field table.",
            )
            for asset in ("parsed_table", "typed_rows")
        ),
        _check(GRADED, asset="graded_skus", description="No accepted SKU is without a grade state."),
        _check(COUNTS, asset="import_report", blocking=True, description="One outcome per SKU, every line is read."),
    ],
    partitions_def=company_partitions,
    required_resource_keys={
        *("postgres", "object_store", "clock", "file_readers", "rule_sets", "portfolios", "importing", "shutdown"),
    },
    can_subset=True,  # without it, a step that makes nothing would fail for want of its checks (Dagster 1.13)
)
def imported_file(context: dg.AssetExecutionContext, config: ImportRun) -> Iterator[checks.Made]:
    """Import one file of a company: the run's own, or, where somebody materialises it by hand, the next that waits.

    The file is imported whole, whichever of the assets are chosen. Where nothing waits the step ends green with a
    sentence in the run's log, and makes nothing.
    """
    resources: Resources = context.resources
    company_id = company_of(resources.postgres, context)
    import_id = config.import_id or context.run.tags.get(tags.IMPORT)
    wanted = import_id or report.next_waiting(resources.postgres, company_id, resources.clock.now())
    if wanted is None:
        context.log.info("Nothing to do: no file of this company waits.")
        return
    resources.file_readers.expect()  # one is needed in a moment, and starts meanwhile
    # Nothing is yielded under the claim: where Dagster's storage fails, it keeps this generator, and so the claim's
    # heartbeats, for as long as the process lives.
    made: list[Made] = []
    try:
        with claim_import(context, company_id, str(wanted), resources) as taken:
            sent = taken.work
            if tags.IMPORT not in context.run.tags:  # a run that is resumed takes the same one again
                of_company = tags.of_company(sent.company_id, sent.company_name)
                of_import = tags.of_import(sent.id, sent.company_id, sent.filename)
                context.instance.add_run_tags(context.run.run_id, of_company | of_import)
            if reason := _reason_to_do_nothing(taken, context.run.run_id, resources.object_store):
                context.log.info(reason)
                return
            is_written = import_claimed(resources, taken, made)
    except Exception:
        yield from _chosen(context, made)
        raise
    yield from _chosen(context, made)
    if is_written:
        remove_tables(resources.object_store, sent)


def _chosen(context: dg.AssetExecutionContext, made: Iterable[Made]) -> Iterator[checks.Made]:
    for result in made:
        yield from checks.chosen(context, result)


import_file: Final = dg.define_asset_job(
    "import_file",
    selection=dg.AssetSelection.assets(imported_file),
    description="One uploaded file, from its bytes to graded SKUs and the caller's report.",
)


def _reason_to_do_nothing(taken: ClaimedImport, run_id: str, objects: Objects) -> str | None:
    """Return why there is nothing to do; None where there is, or where the run has lost its process after the end."""
    sent = taken.work
    if taken.claim is not None:
        return None
    if not sent.has_ended:
        return "Nothing to do: another run works on the import, or on a file that has to be written before it."
    if sent.status == "failed":
        return "Nothing to do: the import has failed, as its report says. The file has to be sent again."
    if sent.run_id != run_id or not _has(objects, sent.table_key):  # the table goes last
        return "Nothing to do: the import is completed."
    return None


def _has(objects: Objects, key: str) -> bool:
    try:
        objects.file(key).close()
    except NoSuchObject:
        return False
    return True


class ContractBroken(Exception):  # noqa: N818  (as `ClaimLost`)
    """What was read breaks its contract: a fault of ours, and nothing may be written."""


def import_claimed(resources: Resources, taken: ClaimedImport, made: list[Made]) -> bool:
    """Import the file, add each asset to `made` once it is, and return whether the rows are written.

    Contracts are judged beside other work, and before anything is written; one that is broken ends the import. Where
    the import has ended, because its run lost its process just then, nothing is written again.
    """
    sent, pool = taken.work, resources.postgres
    made.append(dg.MaterializeResult(asset_key="uploaded_file", metadata=metadata.uploaded_file(sent)))
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="contract") as beside:
            upload, rows = _read(resources, taken, made, beside)
            typed = beside.submit(_typed_rows, rows)
            begun = time.perf_counter()
            try:
                written = write_rows(resources, taken, upload, rows, lambda: _require_contract(typed.result()))
            finally:
                made.append(typed.result())
            seconds = round(time.perf_counter() - begun, 3)
    except ContractBroken:
        taken.fail()
        return False
    with pool.company(sent.company_id) as conn:
        launches.wake_queue(conn)
        skus, polled = counters(conn).skus, status(conn, sent.id, limit=PREVIEW_ROWS, offset=0)
    graded = metadata.graded_skus(sent, written, skus=skus, seconds=seconds)
    made.append(dg.MaterializeResult(asset_key="graded_skus", metadata=graded, check_results=[_all_graded(written)]))
    assert polled is not None, "an import that was just completed is there"
    reported, counted = metadata.import_report(sent, polled), _counts_add_up(rows, polled)
    made.append(dg.MaterializeResult(asset_key="import_report", metadata=reported, check_results=[counted]))
    return True


def remove_tables(objects: Objects, sent: Work) -> None:
    """Remove the tables that were read from a written file, once Dagster has what was made; the file itself stays."""
    objects.remove(sent.table_key)
    if sent.answers is not None:
        objects.remove(sent.before_key)


def _read(
    resources: Resources, taken: ClaimedImport, made: list[Made], beside: ThreadPoolExecutor
) -> tuple[Upload, TypedRows]:
    """Return what was read of the file, and add its table to `made`. Raise `ContractBroken` as the table's is."""
    upload = Upload.from_bytes(resources.object_store.get(taken.work.table_key))
    table: Future[Made] = beside.submit(_parsed_table, upload)
    try:
        rows = type_rows(resources, taken)  # by a process of its own, meanwhile
    finally:
        made.append(table.result())
    _require_contract(table.result())
    return upload, rows


def _require_contract(made: Made) -> None:
    """Raise `ContractBroken` where an asset's is broken."""
    if not all(check.passed for check in made.check_results or ()):
        raise ContractBroken


def _parsed_table(upload: Upload) -> Made:
    """Judge the table that was read from the file."""
    verdict = checks.judge(_tables_of(upload))
    table = metadata.parsed_table(upload)
    return dg.MaterializeResult(asset_key="parsed_table", metadata=table, check_results=[verdict])


def _typed_rows(rows: TypedRows) -> Made:
    """Judge the typed rows."""
    verdict = checks.judge({"values": (contracts.typed_rows(tuple(rows.values.columns)), rows.values)})
    return dg.MaterializeResult(asset_key="typed_rows", metadata=metadata.typed_rows(rows), check_results=[verdict])


def _tables_of(upload: Upload) -> Frames:
    """Return the tables that were read, each with its contract."""
    sheets = {"table": upload.table} | ({} if upload.components is None else {"components": upload.components})
    return {name: (contracts.parsed_table(tuple(frame.columns)), frame) for name, frame in sheets.items()}


def _all_graded(written: RunTotals) -> dg.AssetCheckResult:
    """Check that every accepted SKU has a grade; not_assessed is a grade state, null is none."""
    counted = {"ungraded": written.ungraded, "graded": sum(written.grades.values())}
    return dg.AssetCheckResult(check_name=GRADED, passed=written.ungraded == 0, metadata=counted)


def _counts_add_up(rows: TypedRows, polled: Mapping[str, Any]) -> dg.AssetCheckResult:
    """Check that a completed import has an outcome for every SKU and has read every line."""
    decided = rows.values.height + rows.rejected
    total = sum(polled["counts"][outcome] for outcome in get_args(Outcome))
    done, lines = polled["progress"]["done"], polled["progress"]["total"]
    return dg.AssetCheckResult(
        check_name=COUNTS,
        passed=decided == total and done == lines,
        metadata={"expected_skus": decided, "counted_skus": total, "lines_done": done, "lines": lines},
    )


def type_rows(resources: Resources, taken: ClaimedImport) -> TypedRows:
    """Return the rows that a reader process types; an import whose reading was stopped fails and is not tried again.

    Dagster decides the order of imports: each import has its own turn of a reader here.
    """
    sent, pool, objects = taken.work, resources.postgres, resources.object_store
    with pool.system() as conn:
        served = served_markets(conn)

    def read(source: requests.Source) -> TypedRows:
        order = requests.typing_request(source, default_year=sent.default_year, served_markets=served)
        return resources.file_readers.read(sent.id, "import", order)

    try:
        typed = read(partial(objects.file, sent.table_key))
        return rows_due(pool, objects, sent, typed, read)
    except ReadingStopped as stopped:
        [failure] = stopped.issues
        if stopped.reason == "crash" and sent.attempts < claims.MAX_ATTEMPTS:  # the machine may have had no memory left
            raise dg.Failure("The process that reads files was lost twice; another run tries again.") from None
        if taken.claim:
            process.fail(pool, taken.claim, sent, resources.clock, failure)
        raise dg.Failure(failure.message, allow_retries=False) from None


def write_rows(
    resources: Resources, taken: ClaimedImport, upload: Upload, rows: TypedRows, require_contract: Callable[[], None]
) -> RunTotals:
    """Write the rows and end the import. Raises `dagster.Failure` where they cannot all be written.

    `require_contract` waits for the verdict about the rows, and raises where nothing may be written.
    """
    if taken.claim is None:
        require_contract()
        return RunTotals()

    def proceed() -> None:
        require_contract()
        taken.proceed()

    pool, clock = resources.postgres, resources.clock
    job = process.Job(pool, resources.portfolios, clock, resources.rule_sets, taken.claim, taken.work, upload, rows)
    try:
        totals = process.write_rows(job, chunk_rows=resources.importing.chunk_rows, proceed=proceed)
    except PlanLimitReached as reached:
        failure = process.plan_limit_issue(reached)
        process.fail(pool, taken.claim, taken.work, clock, failure)
        raise dg.Failure(failure.message, allow_retries=False) from None
    taken.tell_written()
    return totals


@op("postgres", "object_store", "file_readers", "clock", "settings")
def taken_files(context: dg.OpExecutionContext, resources: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Submit the files that were taken from the company's watched folders, and put those away whose imports ended."""
    company_id, about = company_of_run(context, resources.postgres)
    outcomes, faults = Counter[str](), list[str]()
    for folder in folders.load(resources.settings.data_dir):
        if folder.company_id != company_id:
            continue
        pool, objects, clock = resources.postgres, resources.object_store, resources.clock
        try:
            place = folders.place_of(folder, resources.settings)
            work = folders.Work(pool, objects, resources.file_readers, clock, resources.settings, place)
            outcomes.update(folders.Aside(folder, partial(_files, work, proceed, faults)).answers(FILE_SECONDS))
        except (folders.FolderError, OSError) as fault:
            faults.append(str(fault))
    if faults:
        raise dg.Failure(" ".join(faults))
    return {**about, **{f"files_{outcome}": count for outcome, count in outcomes.items()}}


def _files(work: folders.Work, proceed: Proceed, faults: list[str]) -> Iterator[str]:
    """Do what is next for each file of a folder, and yield what that was; one file holds up no other."""
    with work.pool.turn(f"folder {work.place.folder.id}") as is_ours:
        for taken in folders.under_way(work.place) if is_ours else ():
            proceed()
            try:
                yield work.go_on(taken)
            except Exception as fault:
                faults.append(f"{work.place.folder.path}/{taken.key}: {fault}")


import_folders: Final = dg.GraphDefinition("import_folders", node_defs=[taken_files]).to_job(
    description="A company's files from watched folders: each becomes an import, and is put away when that has ended.",
    partitions_def=company_partitions,
)
