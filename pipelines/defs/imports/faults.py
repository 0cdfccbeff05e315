"""Fails an import once when its run fails by a fault of ours; the import is not tried again.

An exception in a step would recur in the next run. After a fault of the machine that passes
(`warehouse.surroundings.is_passing`) the import waits and goes on, however often that happens; other faults from
outside, and a process that was killed (which raises nothing here), count as attempts. `pipelines.defs.imports.claimed`
handles runs that end normally.
"""

import traceback
from collections.abc import Iterator
from typing import Final
from uuid import UUID

import dagster as dg
import structlog

from pipelines.engine import tags
from pipelines.imports import settle, work
from warehouse.imports import claims
from warehouse.sessions import Pool
from warehouse.surroundings import is_passing

_FRAMES: Final = 12
"""Innermost frames of the fault that are logged, under the correlation id that the caller quotes."""

log = structlog.get_logger(__name__)


@dg.failure_hook(required_resource_keys={"postgres", "clock"}, name="fail_import_once")
def fail_import_once(context: dg.HookContext) -> None:
    """End the import of a run whose step failed by a fault of ours, if the run still has the claim.

    After any other failure the run lays its claim down, so that the next run need not wait.
    """
    run = context.instance.get_run_by_id(context.run_id)
    run_tags = {} if run is None else run.tags
    if tags.IMPORT not in run_tags or tags.COMPANY not in run_tags:
        return
    pool: Pool = context.resources.postgres.pool
    claim = claims.held_by(pool, UUID(run_tags[tags.IMPORT]), UUID(run_tags[tags.COMPANY]), UUID(context.run_id))
    if claim is None:  # the import has ended, or another run has it
        return
    chain = list(_chain(context.op_exception))
    if not chain or is_passing(chain[0]) or any(isinstance(cause, (dg.Failure, OSError)) for cause in chain):
        claims.hand_back(pool, claim)
        return
    sent = work.load(pool, claim.company_id, claim.import_id)
    # The exception's message is not logged: it may quote a cell of the caller's file. Dagster's own record has it.
    frames = traceback.extract_tb(chain[-1].__traceback__)[-_FRAMES:]
    log.error(
        "import.failed_by_us",
        import_id=str(sent.id),
        company_id=str(sent.company_id),
        step=context.op.name,
        correlation_id=sent.correlation_id,
        error=type(chain[-1]).__name__,
        run_id=context.run_id,
        frames=[f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    )
    failure = settle.our_fault_issue(sent.correlation_id, dry_run=sent.dry_run)
    settle.fail(pool, claim, sent, context.resources.clock.clock, failure)


def _chain(fault: BaseException | None) -> Iterator[BaseException]:
    """Yield the exception and the exceptions that it was raised from, the first cause last."""
    while fault is not None:
        yield fault
        fault = fault.__cause__
