"""Ends a run between two pieces of work when its process is stopping, so that another process can continue the run.

Earlier pieces stay done, and nothing more is committed. A warm worker exits without a report to Dagster, so that the
run stays started: run monitoring sees that its worker is gone and resumes it in another. In any other process nothing
would resume it, so the run ends as canceled. An import's run has a claim to hand back first
(`pipelines.defs.imports.claimed`).
"""

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import dagster as dg
import structlog

from pipelines.engine import tags
from pipelines.housekeeping import Proceed

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
