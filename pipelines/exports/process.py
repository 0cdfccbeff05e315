"""Claims waiting exports of a company, one after the other: writes the file, stores it, and ends the export.

The whole file is written again by the run that takes over from a killed one. Only a complete file is stored under an
export's key, so that a reader never finds half of one.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, cast
from uuid import UUID

import psycopg
import structlog

from pipelines.exports import files
from pipelines.exports.files import Format
from pipelines.writing import quota
from pipelines.writing.quota import StorageFull
from schemas.issues import Issue
from schemas.messages import Message
from warehouse import snapshots
from warehouse.clock import Clock
from warehouse.exports import claims, portfolio
from warehouse.exports.claims import Claimed, Done
from warehouse.imports.queue import BEAT_EVERY
from warehouse.objects import Objects
from warehouse.sessions import Pool
from warehouse.snapshots.source import Tables
from warehouse.surroundings import is_passing

_TRIED: Final = Message(
    "The export was stopped {most} times before it was complete; ask for another one.", most=claims.MAX_ATTEMPTS
)
_NO_SNAPSHOT: Final = Message("No snapshot of the portfolio is published yet; try again in a few minutes.")

log = structlog.get_logger(__name__)


class Place(NamedTuple):
    """Where a run exports: the deployment's database, store and data directory, and the company."""

    pool: Pool
    objects: Objects
    clock: Clock
    data_dir: Path
    company_id: UUID


class _Failed(Exception):  # noqa: N818  (an outcome that the caller is told, no fault of the program)
    """The export ends without a file."""

    def __init__(self, issue: Issue) -> None:
        super().__init__(issue.message)
        self.issue = issue


def export_waiting(place: Place, run_id: UUID, proceed: Callable[[], None]) -> dict[str, int]:
    """Write the files of the company's waiting exports; return how many were completed and failed, and their SKUs.

    `proceed` is called before each part, and raises where the process is stopping: the export is then handed back.
    """
    outcomes = {"completed": 0, "failed": 0, "skus": 0}
    while True:
        proceed()
        with place.pool.company(place.company_id) as conn:
            claimed = claims.take(conn, run_id, place.clock.now())
        if claimed is None:
            return outcomes
        try:
            outcomes["skus"] += _export(place, claimed, run_id, proceed)
            outcomes["completed"] += 1
        except _Failed as failed:
            with place.pool.company(place.company_id) as conn:
                claims.fail(conn, claimed.id, run_id, place.clock.now(), failed.issue.as_dict())
            outcomes["failed"] += 1
        except claims.ClaimLost:
            log.warning("export.lost", export_id=str(claimed.id), run_id=str(run_id))
        except BaseException as error:
            counts = _is_fault_of_ours(error, proceed)
            with place.pool.company(place.company_id) as conn:
                claims.hand_back(conn, claimed.id, run_id, counts=counts)
            raise


def _is_fault_of_ours(error: BaseException, proceed: Callable[[], None]) -> bool:
    """Return whether the error would come again for ever: no fault of the machine that passes, and no process's end."""
    if not isinstance(error, Exception) or is_passing(error):
        return False
    try:
        proceed()
    except Exception:
        return False
    return True


def _export(place: Place, claimed: Claimed, run_id: UUID, proceed: Callable[[], None]) -> int:
    """Write and store the file of a claimed export, and end it; return its SKUs."""
    if claimed.attempts > claims.MAX_ATTEMPTS:
        raise _Failed(Issue("invalid_format", _TRIED))
    with TemporaryDirectory(prefix="pcds-export-") as folder, _beating(place, claimed.id, run_id) as progress:

        def step(skus: int) -> None:
            proceed()
            progress(skus)

        with _opened(place, claimed) as (as_of, parts):
            path, rows = files.write(cast(Format, claimed.format), Path(folder), parts, step)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = path.stat().st_size
        step(rows["skus"])
        place.objects.put_file(claimed.object_key, path)
    _end(place, claimed, run_id, Done(as_of, rows, size, digest))
    return rows["skus"]


@contextmanager
def _opened(place: Place, claimed: Claimed) -> Iterator[tuple[datetime, Iterator[Tables]]]:
    """Open what an export contains: its instant, and its parts."""
    if claimed.source == "snapshot":
        snapshot = snapshots.current(place.data_dir, place.company_id)
        if snapshot is None:
            raise _Failed(Issue("invalid_format", _NO_SNAPSHOT, "source"))
        yield snapshot.as_of, portfolio.of_snapshot(snapshot)
        return
    with place.pool.company(place.company_id) as conn:
        now = place.clock.now()
        portfolio.take_time(conn)
        yield portfolio.as_of(conn, now), portfolio.of_records(conn, now.date())


def _end(place: Place, claimed: Claimed, run_id: UUID, done: Done) -> None:
    """End an export whose file is stored; remove the file where the plan has no room for it."""
    try:
        with place.pool.company(place.company_id) as conn:
            quota.admit(conn, place.objects, place.company_id, new_bytes=done.size_bytes, now=place.clock.now())
            claims.complete(conn, claimed.id, run_id, place.clock.now(), done)
    except StorageFull as full:
        place.objects.remove(claimed.object_key)
        raise _Failed(Issue("plan_limit_reached", full.args[0])) from None


@contextmanager
def _beating(place: Place, export_id: UUID, run_id: UUID) -> Iterator[Callable[[int], None]]:
    """Keep the claim alive from a thread during the block.

    Yields a function that takes the SKUs that are written, and raises `ClaimLost` once the claim is gone.
    """
    over, lost, written = threading.Event(), threading.Event(), [0]

    def progress(skus: int) -> None:
        written[0] = skus
        if lost.is_set():
            raise claims.ClaimLost("another run has taken over the export")

    def beat() -> None:
        while not over.wait(BEAT_EVERY.total_seconds()):
            try:
                with place.pool.company(place.company_id) as conn:
                    alive = claims.beat(conn, export_id, run_id, place.clock.now(), done=written[0])
            except psycopg.Error as error:  # it restarts, or takes no writes for now; the next heartbeat may succeed
                log.warning("export.heartbeat_failed", export_id=str(export_id), error=type(error).__name__)
                continue
            if not alive:
                lost.set()
                return

    thread = threading.Thread(target=beat, name=f"heartbeat-{export_id}", daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        over.set()
        thread.join()
