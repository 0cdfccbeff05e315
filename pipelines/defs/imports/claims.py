"""Claims an import for a run while it works, and decides what becomes of it when the run ends in any other way.

| How the run ends | What becomes of its import |
|---|---|
| the process is stopping | it goes on: this run in another worker, or another run |
| a fault of the machine that passes (`warehouse.operate.surroundings`) | it waits and goes on, however often that
happens |
| other faults from outside; a killed process, which raises nothing here | the attempt counts; after five it fails |
| a person has terminated the run | it ends, as ended by the operator |
| a fault of ours: another run would meet it again | it fails once, and is not tried again |
"""

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import dagster as dg
import psycopg
import structlog

from pipelines.engine import steps, tags
from pipelines.engine.resources import Resources
from pipelines.imports import process, report
from pipelines.imports.report import Work
from warehouse.imports import claims
from warehouse.imports.claims import Claim
from warehouse.operate.clock import Clock
from warehouse.operate.sessions import Pool
from warehouse.operate.surroundings import is_passing

_GIVE_BACK_SECONDS: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Pauses between the attempts to give an import back: together longer than a disk is usually full."""
_FRAMES: Final = 12
"""Innermost frames of a fault of ours that are logged, under the correlation id that the caller quotes."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ClaimedImport:
    """A run's import. `claim` is null where it has ended or another run works on it: the run writes nothing.

    The run calls `proceed` before each chunk; it raises where the run has to end. `fail_unless` ends the import by a
    fault of ours where something is not so.
    """

    work: Work
    claim: Claim | None
    proceed: Callable[[], None]
    fail_unless: Callable[[bool], None]


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
        found = report.load(pool, company_id, UUID(import_id))
    except (LookupError, ValueError):
        sentence = (
            f"The company {context.partition_key} has no import {import_id}; the partition and the import must be one "
            "company's."
        )
        raise dg.Failure(sentence, allow_retries=False) from None
    if claim is None:
        yield ClaimedImport(found, None, lambda: None, lambda _: None)
        return
    try:
        if found.attempts > claims.MAX_ATTEMPTS:
            process.fail(pool, claim, found, clock, failure := process.gave_up_issue())
            raise dg.Failure(failure.message, allow_retries=False)
        _close(context, claim.previous_run)
        with claims.send_heartbeats(pool, claim, clock) as still_ours:

            def proceed() -> None:
                still_ours()
                if resources.shutdown.is_set():
                    raise claims.HandedBack("the process is stopping; the run goes on after the last chunk elsewhere")

            def fail_unless(is_so: bool) -> None:
                if not is_so:
                    _fail_by_us(pool, clock, claim, found)

            proceed()
            yield ClaimedImport(found, claim, proceed, fail_unless)
    except claims.ClaimLost as lost:
        raise dg.Failure(f"Ended without effect: {lost}.", allow_retries=False) from None
    except claims.HandedBack as reason:
        # A run that another worker resumes takes its claim again.
        claims.lay_down(pool, claim, keep=steps.is_warm_worker)
        steps.leave(context, f"Handed back: {reason}")
    except BaseException as error:  # an interruption, or the error that it caused in a running query
        _release(context, resources, claim, found, error)
        raise


def _release(
    context: dg.AssetExecutionContext, resources: Resources, claim: Claim, sent: Work, error: BaseException
) -> None:
    """Decide what becomes of the import that an error has ended, or a generator that Dagster has closed."""
    pool, clock = resources.postgres, resources.clock
    if isinstance(error, GeneratorExit):  # Dagster did not take what the run has made
        claims.hand_back(pool, claim)
        return
    if is_passing(error):
        _give_back(pool, claim, resources.shutdown)
    run = context.instance.get_run_by_id(context.run.run_id)
    if run is not None and is_terminated(run):
        end_import(pool, clock, sent.company_id, sent.id, context.run.run_id)
    elif not isinstance(error, Exception) or any(isinstance(each, (dg.Failure, OSError)) for each in _chain(error)):
        claims.hand_back(pool, claim)
    elif claims.held_by(pool, claim.import_id, claim.company_id, claim.token):  # neither ended nor given back
        _fail_by_us(pool, clock, claim, sent, error)


def _give_back(pool: Pool, claim: Claim, stopping: threading.Event) -> None:
    """Take back the attempt that a passing fault ended, which says nothing of the file.

    The database may lack the place for this too: it is tried for a while, after which the attempt counts.
    """
    for pause in (*_GIVE_BACK_SECONDS, None):
        try:
            claims.lay_down(pool, claim, keep=False)
        except psycopg.Error as error:
            log.warning("import.not_given_back", import_id=str(claim.import_id), error=type(error).__name__)
            if pause is None or not is_passing(error) or stopping.wait(pause):
                return
        else:
            return


def _fail_by_us(pool: Pool, clock: Clock, claim: Claim, sent: Work, error: BaseException | None = None) -> None:
    """Fail the import by a fault of ours; without an `error` the asset's check says what is wrong."""
    fault = [*_chain(error)][-1:]
    # The exception's message is not logged: it may quote a cell of the caller's file. Dagster's own record has it.
    frames = [frame for each in fault for frame in traceback.extract_tb(each.__traceback__)[-_FRAMES:]]
    log.error(
        "import.failed_by_us",
        import_id=str(sent.id),
        company_id=str(sent.company_id),
        correlation_id=sent.correlation_id,
        error=type(fault[0]).__name__ if fault else "a check failed",
        run_id=str(claim.token),
        frames=[f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    )
    process.fail(pool, claim, sent, clock, process.our_fault_issue(sent.correlation_id, dry_run=sent.dry_run))


def _chain(fault: BaseException | None) -> Iterator[BaseException]:
    """Yield the exception and the exceptions that it was raised from, the first cause last."""
    while fault is not None:
        yield fault
        fault = fault.__cause__


def is_terminated(run: dg.DagsterRun) -> bool:
    """Return whether a person has requested the run's end, or has marked a run that no worker had as canceled.

    Runs without an origin are of `pcds`, or of a release before 0024, which ended as canceled with their process.
    """
    marked = run.status == dg.DagsterRunStatus.CANCELED and run.job_code_origin is not None
    return tags.TERMINATED in run.tags or (marked and not tags.LEFT.keys() & run.tags.keys())


def end_import(pool: Pool, clock: Clock, company_id: UUID, import_id: UUID, run_id: str) -> None:
    """Fail an import of the company as ended by the operator; nothing happens where it has ended or another run has it.

    Committed rows stay. A step that is interrupted ends its import so; the sensor of open imports ends those whose run
    was terminated before its step began, or together with its worker.
    """
    claim = claims.take(pool, clock, company_id, import_id, UUID(run_id))
    if claim is None:
        return
    sent = report.load(pool, company_id, import_id)
    with suppress(claims.ClaimLost):
        process.fail(pool, claim, sent, clock, process.ended_by_operator(dry_run=sent.dry_run))
        log.info("import.ended_by_operator", import_id=str(import_id), company_id=str(company_id), run_id=run_id)


def _close(context: dg.AssetExecutionContext, previous_run: str | None) -> None:
    """End the run that had the import before: if its process died and nobody resumed it, nothing else would."""
    previous = None if previous_run in (None, context.run.run_id) else context.instance.get_run_by_id(str(previous_run))
    if previous and not previous.is_finished:
        context.instance.report_run_failed(previous, f"Lost its process; {context.run.run_id} continues the import.")
