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

from pipelines.defs.imports import terminated
from pipelines.defs.imports.handover import Received
from pipelines.engine import leaving
from pipelines.imports import settle, work
from pipelines.imports.work import Work
from warehouse.clock import Clock
from warehouse.imports import claims
from warehouse.imports.claims import Claim
from warehouse.sessions import Pool

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
    found = work.load(pool, received.company_id, received.import_id)
    if claim is None:
        yield ClaimedImport(found, None, lambda: None)
        return
    if found.attempts > claims.MAX_ATTEMPTS:
        settle.fail(pool, claim, found, clock, failure := settle.gave_up_issue())
        raise dg.Failure(failure.message, allow_retries=False)
    _close(context, claim.previous_run)
    try:
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
    except BaseException:  # an interruption, or the error that it caused in a running query
        run = context.instance.get_run_by_id(context.run.run_id)
        if run is not None and terminated.is_terminated(run):
            terminated.end_import(pool, clock, received.company_id, received.import_id, context.run.run_id)
        raise


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
