"""Ends a run between two pieces of work when its process is stopping.

Earlier pieces stay done. `claimed` does this for an import's run, which has a claim to hand back.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from pipelines.engine.leaving import leave
from pipelines.housekeeping import Proceed


class Stopping(Exception):  # noqa: N818  (no fault of the program: another run continues)
    """The process is stopping."""


@contextmanager
def interruptible(
    context: dg.AssetExecutionContext | dg.OpExecutionContext, stopping: threading.Event
) -> Iterator[Proceed]:
    """Yield the function that a run calls before each piece of work; `leaving` ends the run."""

    def proceed() -> None:
        if stopping.is_set():
            raise Stopping

    try:
        proceed()
        yield proceed
    except Stopping:
        leave(context, "The process is stopping; what was done stays, and the next worker does the rest")
