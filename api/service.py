"""Resources that the handlers share: settings, clock, pools and the object store, opened once for the process.

The lifespan (`api.app`) opens and closes them; nothing here is a global, so that one test can run two apps.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

import psycopg
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection

from compliance.ruleset import RuleSet
from pipelines.sandbox.pool import Readers
from warehouse.clock import Clock
from warehouse.database import Database
from warehouse.objects import Objects
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import AsyncConnection, AsyncPool, Pool
from warehouse.settings import Settings

T = TypeVar("T")
_REUNION_SECONDS: Final = 10.0
"""How long a read is repeated while its connections prove dead, as after a restart of the database."""


@dataclass(frozen=True, slots=True)
class Service:
    """The resources of the process: `writes` for handlers in threads, `reads` for those in the event loop.

    `readers` are the processes that read files.
    """

    settings: Settings
    clock: Clock
    database: Database
    writes: Pool
    reads: AsyncPool
    objects: Objects
    rulesets: Rulesets
    readers: Readers

    async def rules_for(self, version: str, before: str | None) -> tuple[RuleSet, RuleSet, RuleSet | None]:
        """Return three rule-sets for a read: the day's, that of a version, and that of `before` where it is given.

        They are loaded in a thread where one is not cached.
        """
        of_the_day, known = self.rulesets.lately(), self.rulesets.known(version)
        earlier = None if before is None else self.rulesets.known(before)
        if of_the_day is None or known is None or (earlier is None) != (before is None):
            return await run_in_threadpool(self._rules_for, version, before)
        return of_the_day, known, earlier

    def _rules_for(self, version: str, before: str | None) -> tuple[RuleSet, RuleSet, RuleSet | None]:
        with self.writes.system() as connection:
            earlier = None if before is None else self.rulesets.of(connection, before)
            return self.rulesets.active(connection), self.rulesets.of(connection, version), earlier

    async def reading(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Return the result of a read on a connection without a company, repeated where the connection was dead."""
        deadline = time.monotonic() + _REUNION_SECONDS
        while True:
            async with self.reads.connection() as connection:
                try:
                    return await work(connection)
                except psycopg.OperationalError:
                    if not connection.closed or time.monotonic() > deadline:
                        raise


@asynccontextmanager
async def open_service(settings: Settings, database: Database, clock: Clock) -> AsyncIterator[Service]:
    """Open the resources of a process, and close them again."""
    with Pool(database.app_url, size=settings.pool_size, clock=clock) as writes, Readers.of(settings) as readers:
        async with AsyncPool(database.app_url, size=settings.pool_size) as reads:
            yield Service(settings, clock, database, writes, reads, Objects.of(settings, database), Rulesets(), readers)


def service_of(request: HTTPConnection) -> Service:
    """Return the service that the app of this request opened."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
