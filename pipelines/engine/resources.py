"""What the assets work with: database pool, object store, clock and rule-sets, opened once per process.

One value for a whole process, because a warm worker runs thousands of imports over the same connections. Asset logic
does not belong here, nor does Dagster's own storage (`pipelines.engine.instance`).
"""

import atexit
import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import dagster as dg

from pipelines.imports.process import CHUNK_ROWS
from pipelines.sandbox import Readers
from warehouse.clock import Clock
from warehouse.database import Database
from warehouse.objects import Objects
from warehouse.rulesets.registry import Rulesets
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


_opening: Final = threading.Lock()
_shared: Final[list[Workshop]] = []


def shared(chunk_rows: int = CHUNK_ROWS) -> Workshop:
    """The workshop of this process: opened when it is first asked for, as is said then, and closed at the end."""
    with _opening:
        if not _shared:
            stack = ExitStack()
            _shared.append(stack.enter_context(opened(Settings.load(), chunk_rows=chunk_rows)))
            atexit.register(stack.close)
        return _shared[0]


@dg.resource(description="Database pool, object store, clock and rule-sets, open as long as the process.")
def workshop_resource() -> Workshop:
    """The workshop of a process that Dagster started; opened when its first run begins, not when definitions load."""
    return shared()


def _service_log(_context: dg.InitLoggerContext) -> logging.Logger:
    logger = logging.getLogger("dagster.run")
    logger.setLevel(logging.WARNING)
    return logger


service_log: Final = dg.LoggerDefinition(
    _service_log, description="What goes wrong in a run, in the process's log; every event is in Dagster's storage."
)
"""The way from a run to the service's log (`warehouse.logs`)."""
