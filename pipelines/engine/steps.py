"""Ends a run between two pieces of work when its process is stopping, so that another process can continue the run.

Earlier pieces stay done, and nothing more is committed. A warm worker exits without a report to Dagster, so that the
run stays started: run monitoring sees that its worker is gone and resumes it in another. In any other process nothing
would resume it, so the run ends as canceled. An import's run has a claim to hand back first
(`pipelines.imports.endings`).
"""

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import dagster as dg
import structlog

from pipelines.engine import tags
from pipelines.operate import Proceed
from warehouse.operate import tracing

is_warm_worker = False
"""Whether this process is a warm worker; the worker sets it."""

log = structlog.get_logger(__name__)


class Stopping(Exception):  # noqa: N818  (no fault of the program: another run continues)
    """The process is stopping."""


@contextmanager
def interruptible(
    context: dg.AssetExecutionContext | dg.OpExecutionContext, stopping: threading.Event
) -> Iterator[Proceed]:
    """Yield the function that a run calls before each piece of work; `leave` ends the run."""

    def proceed() -> None:
        if stopping.is_set():
            raise Stopping

    try:
        proceed()
        yield proceed
    except Stopping:
        leave(context, "The process is stopping; what was done stays, and the next worker does the rest")


def leave(context: dg.AssetExecutionContext | dg.OpExecutionContext, reason: str) -> NoReturn:
    """End the step; `reason` has no full stop. Raises `dagster.Failure` with it where the process does not exit."""
    if is_warm_worker:
        log.info("run.left", run_id=context.run.run_id, reason=reason)
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    context.instance.add_run_tags(context.run.run_id, tags.LEFT)
    context.instance.report_run_canceling(context.run, f"{reason}.")
    raise dg.Failure(f"{reason}.", allow_retries=False) from None


_IMPORTS: Final = "import_file"


@contextmanager
def run(instance: dg.DagsterInstance, traced: dg.DagsterRun) -> Iterator[None]:
    """Trace the run that the block executes."""
    if not tracing.is_on():
        yield
        return
    attributes = {
        "pcds.run_id": traced.run_id,
        "pcds.company_id": traced.tags.get(tags.COMPANY),
        "pcds.import_id": traced.tags.get(tags.IMPORT),
    }
    parent = traced.tags.get(tags.TRACEPARENT) or _last_import(instance, traced)
    with tracing.span(f"run {traced.job_name}", attributes, kind="CONSUMER", parent=parent):
        try:
            yield
        finally:
            for step in instance.get_run_step_stats(traced.run_id):
                if step.start_time is not None and step.end_time is not None:
                    failed = step.status is not None and step.status.name == "FAILURE"
                    tracing.record(f"step {step.step_key}", step.start_time, step.end_time, failed=failed)


def _last_import(instance: dg.DagsterInstance, traced: dg.DagsterRun) -> str | None:
    """Return the trace of the import that a publication publishes; None where it follows other writes alone."""
    partition = traced.tags.get(tags.PARTITION)
    if partition is None or not tags.FOLLOWED.items() <= traced.tags.items():
        return None
    of_company = {tags.PARTITION: partition}
    imported = instance.get_run_records(dg.RunsFilter(job_name=_IMPORTS, tags=of_company), limit=1)
    before = instance.get_run_records(
        dg.RunsFilter(job_name=traced.job_name, tags=of_company, statuses=[dg.DagsterRunStatus.SUCCESS]), limit=1
    )
    if not imported or (before and before[0].create_timestamp > imported[0].update_timestamp):
        return None
    return imported[0].dagster_run.tags.get(tags.TRACEPARENT)
