"""Looks at the object store in the background, for `/readyz` and `/metrics`: no caller waits for a store that hangs."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import psycopg
from starlette.concurrency import run_in_threadpool

from warehouse import store_checks
from warehouse.measures import Measure
from warehouse.objects import Objects
from warehouse.store_checks import STATES, State

EVERY_SECONDS: Final = 15.0


class StoreWatch:
    """What was last seen of the store; nothing is wrong with it until something was seen."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self.state: State | None = None

    async def look(self) -> None:
        """Look at the store now."""
        with suppress(psycopg.Error):  # the database is away, which another check says
            self.state = await run_in_threadpool(store_checks.state, self._objects)

    @asynccontextmanager
    async def looking(self) -> AsyncIterator["StoreWatch"]:
        """Look at the store again and again during the block."""

        async def go_on() -> None:
            while True:
                await self.look()
                await asyncio.sleep(EVERY_SECONDS)

        task = asyncio.create_task(go_on())
        try:
            yield self
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def failing(self) -> tuple[str, ...]:
        """Return the part that `/readyz` names; the service works on without it."""
        return ("object_store",) if self.state else ()

    def measures(self) -> Iterator[Measure]:
        """Yield 1 for what is wrong with the store, else 0."""
        for state in STATES:
            yield Measure("object_store_problem", {"problem": state}, int(self.state == state))
