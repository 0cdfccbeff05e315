"""The worker's eye on writes: it publishes the portfolio of each company that wrote, in a thread of its own.

After the end of an import within seconds, unless the next one comes meanwhile; after any other write, and behind a row
of imports, within half a minute, together with what came meanwhile. A few companies have a run each, many have one
together. What failed is tried again, ever later. Where nothing was written a turn costs one query over one small row
per company. Under load `as_of` says how far a snapshot is behind.
"""

import gc
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import dagster as dg
import psycopg
import structlog
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from pipelines.publishing import AT_ONCE, MANY, publish_companies, publish_company
from pipelines.resources import Workshop
from pipelines.steps.figures.keep import are_behind
from pipelines.steps.housekeeping.companies import every_company
from pipelines.tags import COMPANY, FIRST_COMPANY, FOLLOWED
from warehouse.snapshots import current, follow
from warehouse.snapshots.follow import Stale

LOOK_SECONDS: Final = 2.0
"""How often it is looked who wrote."""
TOGETHER: Final = timedelta(seconds=30)
"""So long a write waits for others; a snapshot is there within a minute of it."""
QUIET_SECONDS: Final = 3.0
"""So long after an import it is seen whether another comes, which then has this process to itself."""
RETRY_SECONDS: Final = 60.0
"""How long after a run that failed the same company is tried again; twice as long after each further one."""
_MOST_DOUBLINGS: Final = 6
REPAIR_SECONDS: Final = 600.0
"""How often it is looked whose figures lack: a run of the UI or of a command may have been terminated before it."""
_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended('pcds/snapshot/' || %s, 0))"
_BROKE_OFF: Final = "Lost its process. The last complete snapshot and figures stand; the next write makes new ones."
_IMPORTING: Final = "SELECT EXISTS (SELECT FROM imports WHERE status IN ('queued', 'processing'))"

log = structlog.get_logger(__name__)


class Failed(NamedTuple):
    """How often a company's publication failed since it last succeeded, and when it last did (monotonic seconds)."""

    times: int
    at: float

    def may_be_tried(self) -> bool:
        """Whether enough time has passed."""
        return time.monotonic() >= self.at + RETRY_SECONDS * (1 << min(self.times - 1, _MOST_DOUBLINGS))


class Follower:
    """One process's loop over the companies that wrote.

    `connect` opens a connection outside of transactions, which holds the lock by which one worker at a time publishes
    a company; `open_instance` opens Dagster's storage. `busy` says whether this process imports.
    `ask` is called from other threads.
    """

    def __init__(
        self,
        workshop: Workshop,
        connect: Callable[[], psycopg.Connection[Any]],
        open_instance: Callable[[], dg.DagsterInstance],
        *,
        busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self._workshop, self._connect, self._open_instance = workshop, connect, open_instance
        self._busy = busy
        self._asked: set[UUID] = set()
        self._last_asked = self._repair_at = 0.0
        self._failed: dict[UUID, Failed] = {}
        self._wake = threading.Event()

    def ask(self, company_id: UUID) -> None:
        """An import of the company has ended: publish it now rather than soon."""
        self._asked.add(company_id)
        self._last_asked = time.monotonic()
        self._wake.set()

    def serve(self) -> None:
        """Publish who wrote until `Workshop.stopping` is set; first and now and then whose files are not here."""
        begun = False
        while not self._workshop.stopping.is_set():
            try:
                if not begun:
                    self.end_broken()
                    begun, self._repair_at = True, 0.0
                if time.monotonic() >= self._repair_at:
                    self.repair()
                self.turn()
            except psycopg.OperationalError as error:
                begun = False  # a backup may have been put back meanwhile
                log.warning("snapshots.database_lost", error=type(error).__name__)
            except Exception:  # whatever it was, others are published
                log.exception("snapshots.turn_broke_off")
            self._wake.wait(LOOK_SECONDS)
            self._wake.clear()

    def turn(self) -> None:
        """Publish each company that is due now and that no other worker publishes."""
        self._workshop.pool.stamp()  # what a writer committed that never came back to say so
        wrote = self._stale()
        failed = self._failed.keys() - {found.company_id for found in wrote}
        self._publish([found for found in (*wrote, *(Stale(each, None) for each in failed)) if self._is_due(found)])

    def repair(self) -> None:
        """Publish each company whose files are not here or not whole, whoever's run was to make them."""
        self._publish([Stale(company_id, None) for company_id in self._astray() if company_id not in self._failed])
        self._repair_at = time.monotonic() + REPAIR_SECONDS

    def end_broken(self) -> None:
        """End the runs in Dagster whose process was killed: they hold their company's lock no more."""
        unfinished = dg.RunsFilter(tags=FOLLOWED, statuses=NOT_FINISHED_STATUSES)
        with self._open_instance() as instance:
            for run in instance.get_runs(unfinished):
                with self._connect() as conn:
                    held = run.tags.get(COMPANY) or run.tags[FIRST_COMPANY]
                    if conn.execute(_LOCK, (held,)).fetchone() == (True,):
                        instance.report_run_failed(run, _BROKE_OFF)

    def _stale(self) -> list[Stale]:
        with self._workshop.pool.system() as conn:
            found = follow.stale(conn, self._workshop.clock.today())
        self._asked &= {company.company_id for company in found}  # others were published already
        return found

    def _is_due(self, found: Stale) -> bool:
        failed = self._failed.get(found.company_id)
        if failed is not None:
            return failed.may_be_tried()
        if found.since is None or found.since <= self._workshop.clock.now() - TOGETHER:
            return True
        is_quiet = time.monotonic() >= self._last_asked + QUIET_SECONDS and not self._busy()
        return found.company_id in self._asked and is_quiet and not self._is_importing(found.company_id)

    def _is_importing(self, company_id: UUID) -> bool:
        with self._workshop.pool.company(company_id) as conn:
            return conn.execute(_IMPORTING).fetchone() == (True,)

    def _astray(self) -> list[UUID]:
        """Whose snapshot in this data directory is not the one that the database knows of, or has no figures yet."""
        astray = []
        for company_id in every_company(self._workshop.pool):
            with self._workshop.pool.company(company_id) as conn:
                lost = follow.is_astray(conn, self._workshop.data_dir, company_id)
            if lost or are_behind(self._workshop.data_dir, company_id):
                astray.append(company_id)
        return astray

    def _publish(self, due: list[Stale]) -> None:
        size = AT_ONCE if len(due) >= MANY else 1
        for first in range(0, len(due), size):
            if self._workshop.stopping.is_set():
                return
            with self._connect() as conn:
                free = [found for found in due[first : first + size] if self._is_free(conn, found)]
                if free:
                    self._run(free)
        if due:
            gc.collect()  # a run's objects refer to each other and would keep its frames until some later run

    @staticmethod
    def _is_free(conn: psycopg.Connection[Any], found: Stale) -> bool:
        """Whether no other worker publishes the company; it is this one's until the connection ends."""
        return conn.execute(_LOCK, (str(found.company_id),)).fetchone() == (True,)

    def _run(self, found: list[Stale]) -> None:
        data_dir, begun, now = self._workshop.data_dir, time.perf_counter(), self._workshop.clock.now()
        before = {each.company_id: current(data_dir, each.company_id) for each in found}
        with self._open_instance() as instance:
            if len(found) == 1:
                publish_company(self._workshop, instance, found[0].company_id, followed=True)
            else:
                publish_companies(self._workshop, instance, list(before), followed=True)
        seconds = round(time.perf_counter() - begun, 3)
        for company_id, since in found:
            snapshot = current(data_dir, company_id)
            published = snapshot != before[company_id]
            if published:
                self._asked.discard(company_id)
            if published and not are_behind(data_dir, company_id):
                self._failed.pop(company_id, None)
            else:
                times = self._failed[company_id].times if company_id in self._failed else 0
                self._failed[company_id] = Failed(times + 1, time.monotonic())
            log.info(
                "snapshot.run_ended", company_id=str(company_id), published=published,
                waited=None if since is None else round((now - since).total_seconds(), 1), seconds=seconds,
                companies=len(found),
            )  # fmt: skip
