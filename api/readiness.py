"""Checks whether this process can serve callers now: each check has a name and tries the operation.

What belongs here: what is tried, and how often. What does not: the answer (`api.health`). The checks write, so that a
full disk is found before a caller finds it. Anyone may ask without a credential, so one result is reused for a second.
"""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from psycopg import Error
from psycopg_pool import PoolTimeout
from starlette.concurrency import run_in_threadpool

from api.service import Service
from warehouse.catalogue import queries as catalogue
from warehouse.imports import queue
from warehouse.sessions import AsyncConnection, commits

STANDS_SECONDS: Final = 1.0
_PROBE_BYTES: Final = 65_536
_COMMIT_SECONDS: Final = 5.0
"""Longest time for an empty commit; a slower database can serve nobody."""


class Readiness:
    """The checks of one process, and their last result."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._failing: tuple[str, ...] = ()
        self._until = 0.0

    async def failing(self, service: Service) -> tuple[str, ...]:
        """Return the failing checks, in the order in which to repair them; none where everything is ready."""
        async with self._turn:
            if time.monotonic() >= self._until:
                checks = {"storage": await run_in_threadpool(_storage_takes, service), **await _database(service)}
                self._failing = tuple(name for name, holds in checks.items() if not holds)
                self._until = time.monotonic() + STANDS_SECONDS
            return self._failing


def _storage_takes(service: Service) -> bool:
    """Return whether the data directory and the embedded database have room: by free space, and by writing."""
    data_dir, least = service.settings.data_dir, service.settings.free_bytes
    cluster = data_dir / "postgres"
    try:
        if any(shutil.disk_usage(place).free < least for place in (data_dir, cluster) if place.exists()):
            return False
        return write_probe(data_dir)
    except OSError:
        return False


def write_probe(folder: Path) -> bool:
    """Write a temporary file to the folder; raise `OSError` where that is impossible."""
    with tempfile.TemporaryFile(dir=folder) as probe:
        probe.write(bytes(_PROBE_BYTES))
        probe.flush()
    return True


async def _database(service: Service) -> Mapping[str, bool]:
    """Return whether the database answers, commits, has the catalogue, and has a waiting worker."""

    async def ask(connection: AsyncConnection) -> dict[str, bool]:
        found = {"catalogue": await catalogue.read_is_loaded(connection)}
        if service.settings.warm_workers:
            found["worker"] = await queue.is_listened_to(connection)
        return found

    try:
        found = await service.reading(ask)
    except (Error, PoolTimeout):
        return {"database": False}
    try:
        async with asyncio.timeout(_COMMIT_SECONDS):
            return {"database_writes": await service.reading(commits), **found}
    except (Error, PoolTimeout, TimeoutError):
        return {"database_writes": False, **found}
