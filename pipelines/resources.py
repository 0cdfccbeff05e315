"""What the assets work with: database pool, object store, clock and rule-sets, opened once per process.

One value for a whole process, because a warm worker runs thousands of imports over the same connections. Asset logic
does not belong here, nor does Dagster's own storage (`pipelines.instance`).
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import dagster as dg

from pipelines.steps.imports.process import CHUNK_ROWS
from pipelines.steps.readers import Readers
from warehouse.clock import Clock
from warehouse.database import Database
from warehouse.objects import Objects
from warehouse.rulesets import Rulesets
from warehouse.sessions import Pool
from warehouse.settings import Settings

_LEAST_CONNECTIONS: Final = 6
"""Two imports at a time (`worker`), each of two chunks and a heartbeat."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """`stopping` is set when the process shall end: runs hand their import back at the next chunk.

    `data_dir` is where snapshots lie, `readers` are the processes that read files.
    """

    pool: Pool
    objects: Objects
    clock: Clock
    rulesets: Rulesets
    data_dir: Path
    chunk_rows: int = CHUNK_ROWS
    runs_kept_days: int = 30
    readers: Readers = field(default_factory=Readers)
    stopping: threading.Event = field(default_factory=threading.Event)


@contextmanager
def opened(settings: Settings, *, chunk_rows: int = CHUNK_ROWS) -> Iterator[Workshop]:
    """The workshop of these settings; its connections end with the block."""
    size = max(settings.pool_size, _LEAST_CONNECTIONS)
    clock = Clock.of(settings)
    with Pool(Database.of(settings).app_url, size=size, clock=clock) as pool, Readers.of(settings) as readers:
        yield Workshop(
            pool, Objects.of(settings), clock, Rulesets(), settings.data_dir, chunk_rows,
            settings.runs_kept_days, readers,
        )  # fmt: skip


@dg.resource(description="Database pool, object store, clock and rule-sets, for the time of one run.")
def workshop_resource() -> Iterator[Workshop]:
    """The workshop of a process that Dagster started; opened when its run begins, not when definitions load."""
    with opened(Settings.load()) as workshop:
        yield workshop


class RunMemory(dg.InMemoryIOManager):
    """Hands an import's frames from asset to asset within one run."""

    def load_input(self, context: dg.InputContext) -> object:
        """The frame that an earlier asset of this run left. Raises `dagster.Failure` where that asset did not run."""
        try:
            return super().load_input(context)
        except KeyError:
            sentence = "An import's assets run together: launch the job import_file with the import's id."
            raise dg.Failure(sentence, allow_retries=False) from None


@dg.io_manager(description="The frames of one run, in memory.")
def run_memory() -> RunMemory:
    """A memory of its own for each run, so that nothing outlives it."""
    return RunMemory()  # type: ignore[no-untyped-call]


def _service_log(_context: dg.InitLoggerContext) -> logging.Logger:
    logger = logging.getLogger("dagster.run")
    logger.setLevel(logging.WARNING)
    return logger


service_log: Final = dg.LoggerDefinition(
    _service_log, description="What goes wrong in a run, in the process's log; every event is in Dagster's storage."
)
"""The way from a run to the service's log (`warehouse.logs`)."""
