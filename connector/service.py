"""Defines the service that tools use: the pools, the clock and the other resources that the process has opened.

`api.http.service.Service` implements it; the connector imports nothing of `api`, which mounts it.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar, cast
from urllib.parse import urlsplit

from starlette.requests import Request

from compliance.ruleset import RuleSet
from pipelines.readers.pool import Readers
from warehouse.operate.clock import Clock
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import AsyncConnection, AsyncPool, Pool
from warehouse.operate.settings import Settings
from warehouse.rules import Rulesets

T = TypeVar("T")


class Service(Protocol):
    """`writes` for work in threads, `reads` for work in the event loop."""

    @property
    def settings(self) -> Settings:
        """Return the process's settings."""

    @property
    def clock(self) -> Clock:
        """Return the process's only clock."""

    @property
    def writes(self) -> Pool:
        """Return the connections for threads."""

    @property
    def reads(self) -> AsyncPool:
        """Return the connections for the event loop."""

    @property
    def objects(self) -> Objects:
        """Return the object store."""

    @property
    def rulesets(self) -> Rulesets:
        """Return the rule-sets as this process has loaded them."""

    @property
    def readers(self) -> Readers:
        """Return the processes that read files."""

    async def rules_for(self, version: str, before: str | None) -> tuple[RuleSet, RuleSet, RuleSet | None]:
        """Return the rule-set of the day, the one of a version and, if there is one, of the version before."""

    async def reading(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Return the result of a read on a connection without a company; retries it where the connection had died."""


def service_of(request: Request) -> Service:
    """Return the service of this request's app."""
    return cast(Service, request.app.state.service)


_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def hosts(settings: Settings) -> list[str]:
    """Return the values that `Host` may have: the base address, and where that is a loopback name, all of these."""
    base = urlsplit(settings.base_url)
    names = [base.netloc]
    if base.hostname in ("127.0.0.1", "localhost", "::1"):
        names += [f"{name}:{base.port}" if base.port else name for name in _LOOPBACK]
    return list(dict.fromkeys(names))


def origins(settings: Settings) -> list[str]:
    """Return the values that `Origin` may have: the base address, and the origins that the operator allows."""
    base = urlsplit(settings.base_url)
    return [f"{base.scheme}://{base.netloc}", *settings.connector_origins]
