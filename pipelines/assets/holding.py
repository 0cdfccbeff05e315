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
def holding(workshop: Workshop, claim: Claim) -> Iterator[Callable[[], None]]:
    """Keep the claim alive during the block; a run that shall not go on fails with its reason, and is not retried.

    Yields the question that is asked before each chunk.
    """
    try:
        with claims.beating(workshop.pool, claim, workshop.clock) as still_ours:

            def proceed() -> None:
                still_ours()
                if workshop.stopping.is_set():
                    raise claims.HandedBack("the process is stopping; another run continues after the last chunk")

            yield proceed
    except claims.ClaimLost as lost:
        raise dg.Failure(f"Ended without effect: {lost}.", allow_retries=False) from None
    except claims.HandedBack as reason:
        raise dg.Failure(f"Handed back: {reason}.", allow_retries=False) from None
