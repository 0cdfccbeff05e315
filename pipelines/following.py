"""The worker's eye on writes: it publishes the portfolio of each company that wrote, in a thread of its own.

After the end of an import at once, unless the company has more of them waiting; after any other write within half a
minute, together with what came meanwhile. Where nothing was written a turn costs one query over one small row per
company. Under load `as_of` says how far a snapshot is behind.
"""

import gc
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import dagster as dg
import psycopg
import structlog
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from pipelines.publishing import JOB, publish_company
from pipelines.resources import Workshop
from pipelines.steps.housekeeping.companies import every_company
from pipelines.tags import COMPANY, FOLLOWED
from warehouse.snapshots import follow
from warehouse.snapshots.follow import Stale

LOOK_SECONDS: Final = 2.0
"""How often it is looked who wrote."""
TOGETHER: Final = timedelta(seconds=30)
"""So long a write waits for others; a snapshot is there within a minute of it."""
RETRY_SECONDS: Final = 60.0
"""How long after a run that failed the same company is tried again."""
_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended('pcds/snapshot/' || %s, 0))"
_BROKE_OFF: Final = "Lost its process. The last complete snapshot and figures stand; the next write makes new ones."
_IMPORTING: Final = "SELECT EXISTS (SELECT FROM imports WHERE status IN ('queued', 'processing'))"

log = structlog.get_logger(__name__)


class Follower:
    """One process's loop over the companies that wrote.

    `connect` opens a connection outside of transactions, which holds the lock by which one worker at a time publishes
    a company; `open_instance` opens Dagster's storage. `ask` is called from other threads.
    """

    def __init__(
        self,
        workshop: Workshop,
        connect: Callable[[], psycopg.Connection[Any]],
        open_instance: Callable[[], dg.DagsterInstance],
    ) -> None:
        self._workshop, self._connect, self._open_instance = workshop, connect, open_instance
        self._asked: set[UUID] = set()
        self._failed: dict[UUID, float] = {}
        self._wake = threading.Event()

    def ask(self, company_id: UUID) -> None:
        """An import of the company has ended: publish it now rather than soon."""
        self._asked.add(company_id)
        self._wake.set()

    def serve(self) -> None:
        """Publish who wrote until `Workshop.stopping` is set; first those whose files are not here."""
        begun = False
        while not self._workshop.stopping.is_set():
            try:
                if not begun:
                    self.end_broken()
                    self._publish([Stale(company_id, None) for company_id in self._astray()])
                    begun = True
                self.turn()
            except psycopg.OperationalError as error:
                log.warning("snapshots.database_lost", error=type(error).__name__)
            except Exception:  # whatever it was, others are published
                log.exception("snapshots.turn_broke_off")
            self._wake.wait(LOOK_SECONDS)
            self._wake.clear()

    def turn(self) -> None:
        """Publish each company that is due now and that no other worker publishes."""
        self._publish([found for found in self._stale() if self._is_due(found)])

    def end_broken(self) -> None:
        """End the runs in Dagster whose process was killed: they hold their company's lock no more."""
        unfinished = dg.RunsFilter(job_name=JOB, tags=FOLLOWED, statuses=NOT_FINISHED_STATUSES)
        with self._open_instance() as instance:
            for run in instance.get_runs(unfinished):
                with self._connect() as conn:
                    if conn.execute(_LOCK, (run.tags[COMPANY],)).fetchone() == (True,):
                        instance.report_run_failed(run, _BROKE_OFF)

    def _stale(self) -> list[Stale]:
        with self._workshop.pool.system() as conn:
            found = follow.stale(conn, self._workshop.clock.today())
        self._asked &= {company.company_id for company in found}  # others were published already
        return found

    def _is_due(self, found: Stale) -> bool:
        if self._failed.get(found.company_id, 0.0) > time.monotonic() - RETRY_SECONDS:
            return False
        if found.since is None or found.since <= self._workshop.clock.now() - TOGETHER:
            return True
        return found.company_id in self._asked and not self._is_importing(found.company_id)

    def _is_importing(self, company_id: UUID) -> bool:
        with self._workshop.pool.company(company_id) as conn:
            return conn.execute(_IMPORTING).fetchone() == (True,)

    def _astray(self) -> list[UUID]:
        """Whose snapshot in this data directory is not the one that the database knows of."""
        astray = []
        for company_id in every_company(self._workshop.pool):
            with self._workshop.pool.company(company_id) as conn:
                if follow.is_astray(conn, self._workshop.data_dir, company_id):
                    astray.append(company_id)
        return astray

    def _publish(self, due: list[Stale]) -> None:
        for found in due:
            if self._workshop.stopping.is_set():
                return
            with self._connect() as conn:
                if conn.execute(_LOCK, (str(found.company_id),)).fetchone() == (True,):
                    self._run(found)
        if due:
            gc.collect()  # a run's objects refer to each other and would keep its frames until some later run

    def _run(self, found: Stale) -> None:
        begun, now = time.perf_counter(), self._workshop.clock.now()
        with self._open_instance() as instance:
            snapshot = publish_company(self._workshop, instance, found.company_id, followed=True)
        self._asked.discard(found.company_id)
        if snapshot is None:
            self._failed[found.company_id] = time.monotonic()
        log.info(
            "snapshot.run_ended", company_id=str(found.company_id), published=snapshot is not None,
            waited=None if found.since is None else round((now - found.since).total_seconds(), 1),
            seconds=round(time.perf_counter() - begun, 3),
        )  # fmt: skip
