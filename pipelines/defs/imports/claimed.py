"""Claims an import for a step while it works, under its run's id, and reports the loss of the claim in the Dagster UI.

Each step claims the import for itself, so that it runs alone as well as after the others. Writing is not here, nor the
end of an import whose step fails (`pipelines.defs.imports.faults`).
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import dagster as dg
import psycopg
import structlog

from pipelines.defs.imports import terminated
from pipelines.defs.imports.handover import Received
from pipelines.engine import leaving
from pipelines.imports import settle, work
from pipelines.imports.work import Work
from warehouse.clock import Clock
from warehouse.imports import claims
from warehouse.imports.claims import Claim
from warehouse.sessions import Pool
from warehouse.surroundings import is_passing

_GIVE_BACK_SECONDS: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Pauses between the attempts to give an import back: together longer than a disk is usually full."""

log = structlog.get_logger(__name__)

WRITES: Final = dg.AssetKey("graded_skus")
"""The asset that writes an import's rows: a run that still has to run it keeps its claim from step to step."""


@dataclass(frozen=True, slots=True)
class ClaimedImport:
    """A step's import. `claim` is null where it has ended or another run works on it: the step writes nothing.

    The step calls `proceed` before each chunk; it raises where the step has to end.
    """

    work: Work
    claim: Claim | None
    proceed: Callable[[], None]


@contextmanager
def claim_import(
    context: dg.AssetExecutionContext,
    received: Received,
    pool: Pool,
    clock: Clock,
    stopping: threading.Event,
    *,
    writes: bool = False,
) -> Iterator[ClaimedImport]:
    """Take the claim and keep it alive during the block; a step that must not continue ends with a reason.

    With `writes` the block ends the import. Raises `dagster.Failure` where too many runs have lost their process over
    it, and where the process is stopping (`pipelines.engine.leaving`).
    """
    run_id = UUID(context.run.run_id)
    claim = claims.take(pool, clock, received.company_id, received.import_id, run_id)
    if claim is None:
        yield ClaimedImport(work.load(pool, received.company_id, received.import_id), None, lambda: None)
        return
    try:
        found = work.load(pool, received.company_id, received.import_id)
        if found.attempts > claims.MAX_ATTEMPTS:
            settle.fail(pool, claim, found, clock, failure := settle.gave_up_issue())
            raise dg.Failure(failure.message, allow_retries=False)
        _close(context, claim.previous_run)
        with claims.send_heartbeats(pool, claim, clock) as still_ours:

            def proceed() -> None:
                still_ours()
                if stopping.is_set():
                    raise claims.HandedBack("the process is stopping; the run goes on after the last chunk elsewhere")

            proceed()
            yield ClaimedImport(found, claim, proceed)
        if not writes:
            claims.lay_down(pool, claim, keep=goes_on(context))
    except claims.ClaimLost as lost:
        raise dg.Failure(f"Ended without effect: {lost}.", allow_retries=False) from None
    except claims.HandedBack as reason:
        claims.lay_down(
            pool, claim, keep=leaving.is_warm_worker
        )  # a run that another worker resumes takes its claim again
        leaving.leave(context, f"Handed back: {reason}")
    except BaseException as error:  # an interruption, or the error that it caused in a running query
        if is_passing(error):
            _give_back(pool, claim, stopping)
        run = context.instance.get_run_by_id(context.run.run_id)
        if run is not None and terminated.is_terminated(run):
            terminated.end_import(pool, clock, received.company_id, received.import_id, context.run.run_id)
        raise


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


def goes_on(context: dg.AssetExecutionContext) -> bool:
    """Return whether the run still has to run the step that writes."""
    planned = context.run.step_keys_to_execute
    return WRITES in context.op_execution_context.job_def.asset_layer.selected_asset_keys and (
        planned is None or WRITES.to_python_identifier() in planned
    )


def _close(context: dg.AssetExecutionContext, previous_run: str | None) -> None:
    """End the run that had the import before: if its process died and nobody resumed it, nothing else would."""
    previous = None if previous_run in (None, context.run.run_id) else context.instance.get_run_by_id(str(previous_run))
    if previous and not previous.is_finished:
        context.instance.report_run_failed(previous, f"Lost its process; {context.run.run_id} continues the import.")
