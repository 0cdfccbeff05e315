"""Resources that the handlers share: settings, clock, pools and the object store, opened once for the process.

The lifespan (`api.app`) opens and closes them; nothing here is a global, so that one test can run two apps.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Literal, TypeVar
from uuid import UUID

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request

from api.http.errors import RateLimited
from api.http.together import Together
from compliance.ruleset import RuleSet
from pipelines.readers.pool import QueueFull, Readers
from pipelines.readers.requests import ReadRequest
from pipelines.reading.grid import ReadingRefused
from schemas.imports.types import ImportSource
from schemas.issues import Issue
from schemas.refusals import Refused
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import AsyncPool, Pool
from warehouse.operate.settings import Settings
from warehouse.rules import Rulesets

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Service:
    """The resources of the process: `writes` for handlers in threads, `reads` for those in the event loop.

    `readers` are the processes that read files, `together` groups writes of one caller.
    """

    settings: Settings
    clock: Clock
    database: Database
    writes: Pool
    reads: AsyncPool
    objects: Objects
    rulesets: Rulesets
    readers: Readers
    together: Together

    async def rules_for(self, version: str, before: str | None) -> tuple[RuleSet, RuleSet, RuleSet | None]:
        """Return three rule-sets for a read: the day's, that of a version, and that of `before` where it is given.

        They are loaded in a thread where one is not cached.
        """
        of_the_day, of_version = self.rulesets.lately(), self.rulesets.in_memory(version)
        earlier = None if before is None else self.rulesets.in_memory(before)
        if of_the_day is None or of_version is None or (earlier is None) != (before is None):
            return await run_in_threadpool(self._rules_for, version, before)
        return of_the_day, of_version, earlier

    def _rules_for(self, version: str, before: str | None) -> tuple[RuleSet, RuleSet, RuleSet | None]:
        with self.writes.system() as connection:
            earlier = None if before is None else self.rulesets.load(connection, before)
            return self.rulesets.active(connection), self.rulesets.load(connection, version), earlier


@asynccontextmanager
async def open_service(settings: Settings, database: Database, clock: Clock) -> AsyncIterator[Service]:
    """Open the resources of a process, and close them again."""
    with (
        Pool(database.app_url, size=settings.pool_size, clock=clock) as writes,
        Readers.from_settings(settings) as readers,
    ):
        async with AsyncPool(database.app_url, size=settings.pool_size) as reads:
            objects = Objects.from_settings(settings, database)
            yield Service(settings, clock, database, writes, reads, objects, Rulesets(), readers, Together())


def service_of(request: HTTPConnection) -> Service:
    """Return the service that the app of this request opened."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


_COME_AGAIN_SECONDS: Final = 10


class UnknownColumns(Refused):
    """A table lacks a column that it needs; `outline` describes those that it has, for a page that asks which it is."""

    def __init__(self, issues: Sequence[Issue], outline: ImportSource) -> None:
        """`issues` is never empty."""
        super().__init__(issues)
        self.outline = outline


Sender = Literal["company", "supplier"]
"""The sender: the company itself, or a supplier to whom it sent a link. Within a company the two take turns."""


async def read_apart(
    request: Request, company_id: UUID, sender: Sender, order: ReadRequest[T], *, field: str | None = None
) -> T:
    """Return the result of the order, when it is the file's turn.

    Raise `Refused`, whose issues are of the part `field`, where the file is refused; `schemas.normalise.Unfit`
    where a document is of no accepted kind; `RateLimited` where too many files of the company wait.
    """
    try:
        future = service_of(request).readers.submit(company_id, sender, order)
    except QueueFull:
        raise RateLimited(_COME_AGAIN_SECONDS) from None
    try:
        return await asyncio.wrap_future(future)
    except ReadingRefused as refused:
        issues, outline = refused.of_field(field), refused.outline
        raise (Refused(issues) if outline is None else UnknownColumns(issues, outline)) from None
