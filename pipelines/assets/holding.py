"""A run's hold on its import while an asset works, and how its loss reads in the Dagster UI."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import dagster as dg

from pipelines.resources import Workshop
from pipelines.steps.imports import claim as claims
from pipelines.steps.imports.claim import Claim
from pipelines.steps.imports.work import Work


@dataclass(frozen=True, slots=True)
class Intake:
    """What the assets of one run pass on: the claim, and the import's row as it was when the run began."""

    claim: Claim
    work: Work


@contextmanager
def holding(context: dg.AssetExecutionContext, workshop: Workshop, claim: Claim) -> Iterator[Callable[[], None]]:
    """Keep the claim alive during the block; a run that shall not go on ends with its reason, and is not retried.

    A run that was overtaken ends as failed, one whose process is stopping as canceled. Yields the question that is
    asked before each chunk; it is asked before the block, too.
    """
    try:
        with claims.beating(workshop.pool, claim, workshop.clock) as still_ours:

            def proceed() -> None:
                still_ours()
                if workshop.stopping.is_set():
                    raise claims.HandedBack("the process is stopping; another run continues after the last chunk")

            proceed()
            yield proceed
    except claims.ClaimLost as lost:
        raise dg.Failure(f"Ended without effect: {lost}.", allow_retries=False) from None
    except claims.HandedBack as reason:
        claims.not_tried(workshop.pool, claim)
        context.instance.report_run_canceling(context.run, f"Handed back: {reason}.")
        raise dg.Failure(f"Handed back: {reason}.", allow_retries=False) from None
