"""Defines the resources of the definitions; asset, check, op, hook and sensor name those that they use.

Connections and reader processes are costly to open. They are opened once per process, when the first run or tick needs
them, because a warm worker runs thousands of imports with the same ones; loading definitions opens nothing. A command
or a test passes in what it has opened itself (`Resources.as_definitions`). What does not belong here: their use, and
Dagster's own storage (`pipelines.engine.instance`).

The UI shows a resource's fields, and a run's configuration may change them: no field is a secret, a path or an address.
"""

import atexit
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias  # Any: a resource's value, whatever its type

import dagster as dg
from pydantic import Field

from pipelines.imports.process import CHUNK_ROWS
from pipelines.readers.pool import Readers
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings
from warehouse.rules import Rulesets

_LEAST_CONNECTIONS: Final = 6
"""Two imports at a time (a worker's, and one that a command runs), each of two chunks and a heartbeat."""

Postgres: TypeAlias = dg.ResourceParam[Pool]
ObjectStore: TypeAlias = dg.ResourceParam[Objects]
ServiceClock: TypeAlias = dg.ResourceParam[Clock]
RuleSets: TypeAlias = dg.ResourceParam[Rulesets]
FileReaders: TypeAlias = dg.ResourceParam[Readers]
Portfolios: TypeAlias = dg.ResourceParam[Path]
ServiceSettings: TypeAlias = dg.ResourceParam[Settings]
Shutdown: TypeAlias = dg.ResourceParam[threading.Event]

_OF_PROCESS: Final = {
    "postgres": "The service's database, by the application's role: a transaction sees the rows of one company, or of "
    "none.",
    "object_store": "Files as companies sent them, and the tables read from them: bytes under a key.",
    "clock": "The service's time: every stored or compared instant and day, in UTC.",
    "rule_sets": "The rule-sets that grade, each read once; the database says which one is active.",
    "file_readers": "The confined processes that read files from outside.",
    "portfolios": "The folder of each company's published files: snapshots and figures, in the data directory.",
    "settings": "The settings of the process: its mail server, and what seals webhooks. None of them is shown.",
    "shutdown": "Set when the process that executes the run is stopping: the run stops between two pieces of work.",
}
"""What a process shares with all its runs: plain objects, each described for the UI."""


class Importing(dg.ConfigurableResource):  # type: ignore[type-arg]  # no other object stands for it
    """The settings of writes by imports and regrades."""

    chunk_rows: int = Field(
        CHUNK_ROWS, ge=1, le=100_000, description="SKUs that one transaction writes (PCDS_CHUNK_ROWS)."
    )


class Retention(dg.ConfigurableResource):  # type: ignore[type-arg]  # no other object stands for it
    """The settings of how long Dagster's records of runs are kept."""

    runs_kept_days: int = Field(
        30,
        ge=1,
        le=3650,
        description="Days that ended runs are kept (PCDS_RUNS_KEPT_DAYS).",
    )


class Resources(NamedTuple):
    """What is behind the resources, by the names under which definitions declare them."""

    postgres: Pool
    object_store: Objects
    clock: Clock
    rule_sets: Rulesets
    file_readers: Readers
    portfolios: Path
    settings: Settings
    shutdown: threading.Event
    importing: Importing
    retention: Retention

    def as_definitions(self) -> dict[str, dg.ResourceDefinition]:
        """Return these resources for a run in this process, or for a test's tick, in place of the declared ones."""
        return {name: dg.ResourceDefinition.hardcoded_resource(resource) for name, resource in self._asdict().items()}


def declared_resources(settings: Settings) -> Mapping[str, Any]:
    """Return the resources of the definitions, with nothing opened."""
    return {
        **{name: _of_process(name) for name in _OF_PROCESS},
        "importing": Importing(chunk_rows=settings.chunk_rows or CHUNK_ROWS),
        "retention": Retention(runs_kept_days=settings.runs_kept_days),
    }


def _of_process(name: str) -> dg.ResourceDefinition:
    return dg.ResourceDefinition(lambda _: getattr(shared_resources(), name), {}, _OF_PROCESS[name])


@contextmanager
def open_resources(settings: Settings) -> Iterator[Resources]:
    """Open the resources that these settings name; connections and readers end with the block."""
    size = max(settings.pool_size, _LEAST_CONNECTIONS)
    clock = Clock.from_settings(settings)
    database = Database.from_settings(settings)
    with Pool(database.app_url, size=size, clock=clock) as pool, Readers.from_settings(settings) as readers:
        yield Resources(
            pool,
            Objects.from_settings(settings, database),
            clock,
            Rulesets(),
            readers,
            settings.data_dir,
            settings,
            threading.Event(),
            Importing(chunk_rows=settings.chunk_rows or CHUNK_ROWS),
            Retention(runs_kept_days=settings.runs_kept_days),
        )


_opening: Final = threading.Lock()
_shared: Final[list[Resources]] = []


def shared_resources() -> Resources:
    """Return this process's resources: opened at the first use, and closed at the end."""
    with _opening:
        if not _shared:
            stack = ExitStack()
            _shared.append(stack.enter_context(open_resources(Settings.load())))
            atexit.register(stack.close)
        return _shared[0]
