"""Work in pieces: a run asks before each whether its process is stopping, and then ends where it is.

What was done before stays. An import's run, which has a claim to hand back, is `holding`'s.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from pipelines.engine.leaving import leave
from pipelines.housekeeping import Proceed


class Stopping(Exception):  # noqa: N818  (no fault of the program: another run goes on)
    """The process shall end."""


@contextmanager
def interruptible(
    context: dg.AssetExecutionContext | dg.OpExecutionContext, stopping: threading.Event
) -> Iterator[Proceed]:
    """Yields the question that is asked before each piece of work; how a run ends then is `leaving`'s."""

    def proceed() -> None:
        if stopping.is_set():
            raise Stopping

    try:
        proceed()
        yield proceed
    except Stopping:
        leave(context, "The process is stopping; what was done stays, and the next worker does the rest")
