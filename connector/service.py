"""What tools stand on: the pools, the clock and the rest that the process has opened, as the connector sees them.

`api.service.Service` is one; the connector imports nothing of `api`, which mounts it.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar, cast

from starlette.requests import Request

from compliance.ruleset import RuleSet
from pipelines.sandbox.pool import Readers
from warehouse.clock import Clock
from warehouse.objects import Objects
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import AsyncConnection, AsyncPool, Pool
from warehouse.settings import Settings

T = TypeVar("T")


class Service(Protocol):
    """`writes` for work in threads, `reads` for work in the event loop."""

    @property
    def settings(self) -> Settings:
        """The process's settings."""

    @property
    def clock(self) -> Clock:
        """The one clock."""

    @property
    def writes(self) -> Pool:
        """Connections for threads."""

    @property
    def reads(self) -> AsyncPool:
        """Connections for the event loop."""

    @property
    def objects(self) -> Objects:
        """Files."""

    @property
    def rulesets(self) -> Rulesets:
        """The rule-sets as this process knows them."""

    @property
    def readers(self) -> Readers:
        """The processes that read files."""

    async def rules_for(self, version: str, before: str | None) -> tuple[RuleSet, RuleSet, RuleSet | None]:
        """The rule-set of the day, the one of a version and, if there is one, of the version before."""

    async def reading(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """The result of a read on a connection without a company, sent again where the connection had died."""


def service_of(request: Request) -> Service:
    """The service that the app of this request was opened with."""
    return cast(Service, request.app.state.service)
