"""Defines the resources of the definitions; asset, check, op, hook and sensor name those that they use.

Connections and reader processes are costly to open. They are opened once per process, when the first run or tick needs
them, because a warm worker runs thousands of imports with the same ones; loading definitions opens nothing. A command
or a test passes in what it has opened itself (`Resources.as_definitions`). What does not belong here: their use, and
Dagster's own storage (`pipelines.engine.instance`).

The UI shows a resource's fields, and a run's configuration may change them: no field is a secret, a path or an address.
"""

import atexit
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, Self  # Any: each subclass declares its value's type

import dagster as dg
from pydantic import Field, PrivateAttr

from pipelines.imports.process import CHUNK_ROWS
from pipelines.mail import Post
from pipelines.sandbox.pool import Readers
from pipelines.webhooks import Sender
from warehouse.clock import Clock
from warehouse.database import Database
from warehouse.objects import Objects
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Pool
from warehouse.settings import Settings

_LEAST_CONNECTIONS: Final = 6
"""Two imports at a time (a worker's, and one that a command runs), each of two chunks and a heartbeat."""


class ProcessResource(dg.ConfigurableResource):  # type: ignore[type-arg]  # no other object stands for it
    """A resource over a value that a whole process shares."""

    _value: Any = PrivateAttr()

    @classmethod
    def of(cls, value: object) -> Self:
        """Return the resource over an existing value."""
        made = cls()
        made._value = value
        return made

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:  # noqa: ARG002  (whatever the run)
        """Use this process's value."""
        self._value = next(each._value for each in shared_resources() if type(each) is type(self))


class Postgres(ProcessResource):
    """The service's database, by the application's role: a transaction sees the rows of one company, or of none."""

    _value: Pool = PrivateAttr()

    @property
    def pool(self) -> Pool:
        """Its connections."""
        return self._value


class ObjectStore(ProcessResource):
    """Files as companies sent them, the tables read from them, and figures between assets: bytes under a key."""

    _value: Objects = PrivateAttr()

    @property
    def objects(self) -> Objects:
        """The folder or the S3-compatible store."""
        return self._value


class ServiceClock(ProcessResource):
    """The service's time: every stored or compared instant and day, in UTC."""

    _value: Clock = PrivateAttr()

    @property
    def clock(self) -> Clock:
        """The clock itself."""
        return self._value

    def now(self) -> datetime:
        """Return the current instant, in UTC."""
        return self._value.now()


class RuleSets(ProcessResource):
    """The rule-sets that grade, each read once; the database says which one is active."""

    _value: Rulesets = PrivateAttr()

    @property
    def registry(self) -> Rulesets:
        """The database's rule-sets, as this process has cached them."""
        return self._value


class FileReaders(ProcessResource):
    """The confined processes that read files from outside."""

    _value: Readers = PrivateAttr()

    @property
    def readers(self) -> Readers:
        """The processes, and the files that wait for them."""
        return self._value


class Shutdown(ProcessResource):
    """Whether the process that executes the run is stopping: the run then stops between two pieces of work."""

    _value: threading.Event = PrivateAttr()

    @property
    def event(self) -> threading.Event:
        """Set when the process has to end."""
        return self._value


class Portfolios(ProcessResource):
    """The folder of each company's published files: snapshots and figures, in the data directory."""

    _value: Path = PrivateAttr()

    @property
    def folder(self) -> Path:
        """The data directory."""
        return self._value


class Mailing(ProcessResource):
    """The operator's mail server; its value is the process's settings, and is not shown."""

    _value: Settings = PrivateAttr()

    @property
    def post(self) -> Post | None:
        """What sending needs; None where nothing is mailed."""
        return Post.of(self._value)


class WebhookSending(ProcessResource):
    """What sends changes to webhooks; its value is the process's settings, and is not shown."""

    _value: Settings = PrivateAttr()

    @property
    def sender(self) -> Sender:
        """The sender, with the key that opens the secrets of webhooks."""
        return Sender.of(self._value)


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
        description="Days that ended runs and what their assets handed on are kept (PCDS_RUNS_KEPT_DAYS).",
    )

    @property
    def runs_kept_for(self) -> timedelta:
        """Return the same as a time."""
        return timedelta(days=self.runs_kept_days)


class Resources(NamedTuple):
    """The resources by the names under which definitions declare them."""

    postgres: Postgres
    object_store: ObjectStore
    clock: ServiceClock
    rule_sets: RuleSets
    file_readers: FileReaders
    portfolios: Portfolios
    mailing: Mailing
    webhook_sending: WebhookSending
    shutdown: Shutdown
    importing: Importing
    retention: Retention

    def as_definitions(self) -> dict[str, dg.ResourceDefinition]:
        """Return these resources for a run in this process, or for a test's tick, in place of the declared ones."""
        return {name: dg.ResourceDefinition.hardcoded_resource(resource) for name, resource in self._asdict().items()}


def declared_resources(settings: Settings) -> Resources:
    """Return the resources of the definitions, with nothing opened."""
    return Resources(
        Postgres(),
        ObjectStore(),
        ServiceClock(),
        RuleSets(),
        FileReaders(),
        Portfolios(),
        Mailing(),
        WebhookSending(),
        Shutdown(),
        Importing(chunk_rows=settings.chunk_rows or CHUNK_ROWS),
        Retention(runs_kept_days=settings.runs_kept_days),
    )


@contextmanager
def open_resources(settings: Settings) -> Iterator[Resources]:
    """Open the resources that these settings name; connections and readers end with the block."""
    size = max(settings.pool_size, _LEAST_CONNECTIONS)
    clock = Clock.of(settings)
    database = Database.of(settings)
    with Pool(database.app_url, size=size, clock=clock) as pool, Readers.of(settings) as readers:
        yield declared_resources(settings)._replace(
            postgres=Postgres.of(pool),
            object_store=ObjectStore.of(Objects.of(settings, database)),
            clock=ServiceClock.of(clock),
            rule_sets=RuleSets.of(Rulesets()),
            file_readers=FileReaders.of(readers),
            portfolios=Portfolios.of(settings.data_dir),
            mailing=Mailing.of(settings),
            webhook_sending=WebhookSending.of(settings),
            shutdown=Shutdown.of(threading.Event()),
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
