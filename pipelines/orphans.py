"""Claims whose holder is gone: a worker that was killed gives its import back when the next one starts here.

A worker holds a locked file while it holds a claim, and the kernel takes the lock back however a process ends. Where
nobody starts again on this data directory, the heartbeat tells the same later (`pipelines.steps.imports.queue`).
"""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from uuid import UUID

import dagster as dg
import structlog

from pipelines.steps.imports import claim as claims
from pipelines.steps.imports.claim import Claim
from warehouse.sessions import Pool

_NAMES: Final = ("import_id", "company_id", "token")
_BROKE_OFF: Final = "Lost its process or the database. What it committed stays; another run does what is left, if any."

log = structlog.get_logger(__name__)


@contextmanager
def marked(directory: Path, claim: Claim) -> Iterator[None]:
    """Show for the time of the block who holds the claim; after a block that raises the claim counts as orphaned."""
    directory.mkdir(exist_ok=True)
    mark = directory / f"{claim.token}.json"
    with mark.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        json.dump({name: str(getattr(claim, name)) for name in _NAMES}, file)
        file.flush()
        yield
    mark.unlink(missing_ok=True)  # another loop that has just started may have found it before it was locked


def settle(directory: Path, pool: Pool, instance: dg.DagsterInstance) -> None:
    """Hand every claim back whose holder is gone, and end its run in `instance`; what lives is left alone."""
    for mark in directory.glob("*.json"):
        with suppress(FileNotFoundError, BlockingIOError), mark.open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if held := file.read():  # empty where the process ended before it had written
                claim = Claim(**{name: UUID(value) for name, value in json.loads(held).items()})
                _end_run(instance, claim)
                claims.hand_back(pool, claim)
                log.info("import.handed_back", import_id=str(claim.import_id), company_id=str(claim.company_id))
            mark.unlink()


def _end_run(instance: dg.DagsterInstance, claim: Claim) -> None:
    run = instance.get_run_by_id(str(claim.token))
    if run is not None and not run.is_finished:
        instance.report_run_failed(run, _BROKE_OFF)
