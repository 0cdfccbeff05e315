"""The warm worker: waits for imports and runs each as a Dagster run in its own process (`python -m pipelines.worker`).

Two loops take imports, each one at a time: the first takes any, the second only small ones, so that a small file never
waits for a large one. Beside them, each in a thread of its own, it ticks the schedules (`pipelines.ticks`), publishes
what was written (`pipelines.following`) and goes on with regrades (`pipelines.regrading`).

It holds what a fresh process would spend seconds on: Dagster imported, definitions resolved, pools open. What a run
does is the assets'. The worker only decides when one begins, and outlives the database's restarts; it may die at any
instant, since the queue and the claims are rows of Postgres. Several workers may run, on one machine or on many.

The main thread waits for signals and others work: for the time of a run in the main thread Dagster would put its own
handlers in place of ours, and a stop would break the run off anywhere.
"""

import argparse
import atexit
import gc
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import Final
from uuid import UUID

import dagster as dg
import psycopg
import structlog

from pipelines import orphans, tags
from pipelines.definitions import defs
from pipelines.following import Follower
from pipelines.instance import shared_instance
from pipelines.jobs import run_config
from pipelines.regrading import Regrader
from pipelines.resources import Workshop, opened
from pipelines.steps.imports import claim as claims
from pipelines.steps.imports import work
from pipelines.steps.imports.claim import Claim
from pipelines.steps.imports.process import CHUNK_ROWS
from pipelines.steps.imports.queue import CHANNEL, LISTENER
from pipelines.ticks import Ticker
from warehouse import logs
from warehouse.database import Database
from warehouse.settings import Settings

SMALL_ROWS: Final = 2_000
"""Up to so many data lines an import is small: done in about the time that a large one's chunk takes."""

SWEEP_SECONDS: Final = 2.0
"""How often the queue is looked at without a notification: what a lost one costs, and how late a stop is seen."""

_NEW_OBJECTS: Final = 50_000
"""So many more objects there are before cycles are looked for: an import makes many lists, and few cycles."""

log = structlog.get_logger(__name__)


class Worker:
    """One process's loop over the queue.

    `listen` opens a connection for notifications, `open_instance` Dagster's storage; both are called again after the
    database was lost, because each of the storage's old connections would fail once more. `marks` is the directory
    in which this machine's workers show what they hold. With `most_rows` it takes only imports of so many data lines.
    `ended` is told the company of each import that succeeded.
    """

    def __init__(
        self,
        workshop: Workshop,
        listen: Callable[[], psycopg.Connection],
        open_instance: Callable[[], dg.DagsterInstance],
        marks: Path,
        *,
        most_rows: int | None = None,
        ended: Callable[[UUID], None] = lambda _: None,
    ) -> None:
        self._workshop, self._listen, self._open_instance, self._marks = workshop, listen, open_instance, marks
        self._most_rows, self._ended = most_rows, ended
        self.is_busy = False

    def serve(self) -> None:
        """Work until `Workshop.stopping` is set."""
        stopping = self._workshop.stopping
        while not stopping.is_set():
            try:
                with self._listen() as conn, self._open_instance() as instance:
                    conn.execute(f"LISTEN {CHANNEL}")
                    orphans.settle(self._marks, self._workshop.pool, instance)
                    log.info("worker.ready")
                    while not stopping.is_set():
                        self.drain(instance)
                        list(conn.notifies(timeout=SWEEP_SECONDS, stop_after=1))
            except psycopg.OperationalError as error:
                log.warning("worker.database_lost", error=type(error).__name__)
            except Exception:  # whatever it was, the queue goes on; the next attempt decides, or their limit
                log.exception("worker.run_broke_off")
            stopping.wait(SWEEP_SECONDS / 4)

    def drain(self, instance: dg.DagsterInstance) -> None:
        """Run every import that is to be had; after a run that failed, the rest waits for the next sweep."""
        while not self._workshop.stopping.is_set():
            claim = claims.take(self._workshop.pool, self._workshop.clock, most_rows=self._most_rows)
            if claim is None or not self.process(claim, instance):
                return

    def process(self, claim: Claim, instance: dg.DagsterInstance) -> bool:
        """One import as one Dagster run: whether it succeeded.

        What it raises broke the run off, outside of any step or with the database; the claim is then an orphan.
        """
        started, self.is_busy = time.perf_counter(), True
        try:
            with orphans.marked(self._marks, claim):
                succeeded = execute(claim, self._workshop, instance)
                claims.hand_back(self._workshop.pool, claim)
        finally:
            self.is_busy = False
        if succeeded:
            self._ended(claim.company_id)
        gc.collect()  # a run's objects refer to each other and would keep its frames until some later import
        log.info(
            "import.run_ended", import_id=str(claim.import_id), company_id=str(claim.company_id), succeeded=succeeded,
            seconds=round(time.perf_counter() - started, 3),
        )  # fmt: skip
        return succeeded


def execute(claim: Claim, workshop: Workshop, instance: dg.DagsterInstance) -> bool:
    """Process a claimed import as a run that `instance` records under the claim's token; whether it succeeded."""
    sent = work.load(workshop.pool, claim)
    config = {"import_id": str(claim.import_id), "company_id": str(claim.company_id), "claim": str(claim.token)}
    return (
        _job()
        .execute_in_process(
            run_config=run_config("uploaded_file", config),
            instance=instance,
            run_id=str(claim.token),
            tags={
                **tags.of_import(sent.id, sent.company_id, sent.filename),
                **tags.of_company(sent.company_id, sent.company_name),
                **tags.CODE_LOCATION,
            },
            raise_on_error=False,
            resources={"workshop": workshop},
        )
        .success
    )


@cache
def _job() -> dg.JobDefinition:
    return defs.resolve_job_def("import_file")


def main() -> None:
    """Serve the queue of the configured database until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.worker", description=main.__doc__)
    parser.add_argument("--chunk-rows", type=int, default=CHUNK_ROWS, help="rows that one transaction writes")
    arguments = parser.parse_args()
    settings = Settings.load()
    logs.configure(settings)
    database = Database.of(settings)
    with opened(settings, chunk_rows=arguments.chunk_rows) as workshop:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: workshop.stopping.set())
        workshop.readers.keep_warm()
        _job()  # before the first import waits for it
        gc.freeze()  # what is here now stays; collecting after a run need not look at it
        atexit.register(gc.unfreeze)  # libraries that tell of what they leak would tell of all that is frozen
        gc.set_threshold(_NEW_OBJECTS)

        def connect() -> psycopg.Connection:
            return psycopg.connect(database.app_url, autocommit=True, application_name=LISTENER)

        def lock() -> psycopg.Connection:
            return psycopg.connect(database.app_url, autocommit=True)

        opening = threading.Lock()  # the first to open Dagster's storage makes its tables

        def open_instance() -> dg.DagsterInstance:
            with opening:
                return shared_instance(settings, database)

        marks = settings.data_dir / "claims"
        follower = Follower(workshop, lock, open_instance, busy=lambda: any(worker.is_busy for worker in workers))
        workers = [
            Worker(workshop, connect, open_instance, marks, most_rows=most, ended=follower.ask)
            for most in (None, SMALL_ROWS)
        ]
        ticker = Ticker(workshop, lock, open_instance)
        regrader = Regrader(workshop, open_instance)
        serve = [*(worker.serve for worker in workers), ticker.serve, follower.serve, regrader.serve]
        with ThreadPoolExecutor(len(serve), "loop") as threads:
            loops = [threads.submit(loop) for loop in serve]
            wait(loops, return_when=FIRST_COMPLETED)
            workshop.stopping.set()  # where one ended by itself, the other must not keep up a process that is half dead
            for loop in loops:
                loop.result()


if __name__ == "__main__":
    main()
