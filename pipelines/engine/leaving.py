"""Ends a run's step in a process that is stopping, so that another process can continue the same run.

A warm worker exits without a report to Dagster, so that the run stays started: run monitoring sees that its worker is
gone and resumes it in another. In any other process nothing would resume it, so the run ends as canceled. In both cases
the step commits nothing more.
"""

import logging
import os
import sys
from typing import NoReturn

import dagster as dg
import structlog

from pipelines.engine import tags

is_warm_worker = False
"""Whether this process is a warm worker; the worker sets it."""

log = structlog.get_logger(__name__)


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
