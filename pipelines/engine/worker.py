"""Takes the runs that Dagster has launched and executes them in a warm process (`python -m pipelines.engine.worker`).

The process keeps what a fresh one would spend seconds on: Dagster imported, definitions resolved, pools open. Dagster's
coordinator and daemon decide which runs start, when and in which order; the assets do the work. Several workers may
run, on one machine or on many. Each may die at any instant: its advisory lock ends with it, and run monitoring has
another one resume its run.

Runs execute in the main thread, one at a time, because Dagster interrupts a run by a signal (SIGINT) there. SIGTERM is
taken by a thread of its own, so that no handler of Dagster's turns a stop into a failed run.
"""

import signal

_STOP_SIGNALS = {signal.SIGTERM, signal.SIGHUP}
if __name__ == "__main__":  # before libraries start threads of their own, which would take a stop for an interrupt
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)

import argparse
import atexit
import gc
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import dagster as dg
import psycopg
import structlog
from dagster._grpc.impl import core_execute_run
from dagster._utils.hosted_user_process import recon_job_from_origin
from dagster._utils.interrupts import capture_interrupts

from pipelines.definitions import defs
from pipelines.engine import steps
from pipelines.engine.instance import shared_instance
from pipelines.engine.resources import shared_resources
from pipelines.engine.tags import PARTITION
from warehouse.imports.claims import LISTENER
from warehouse.operate import launches, logs, tracing
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.launches import Launched
from warehouse.operate.settings import Settings
from warehouse.operate.surroundings import is_passing

POLL_SECONDS: Final = 2.0
"""How often the worker looks for launches without a notification, and so the delay that a lost one causes."""
_PAUSE_SECONDS: Final = 0.5
"""How late a waiting worker sees a stop, and how soon it reconnects to a lost database."""
_LOST_RUNS_SECONDS: Final = 10.0
"""How often a worker looks for runs whose worker died before they had begun."""
_COLD_START_SECONDS: Final = 0.05
"""How long a worker without a reader process leaves a launched run to a worker that has one."""
_MAX_CANCELLATIONS: Final = 1_000
"""How many terminated runs a worker remembers: one of them may be launched to it a moment later."""
_NOT_RESUMABLE: Final = "Lost its process. What it did stays; a run that no launcher has started cannot be resumed."
_COLLECT_AFTER_OBJECTS: Final = 50_000
"""How many more objects exist before cycles are collected: an import makes many lists, and few cycles."""

log = structlog.get_logger(__name__)


class Worker:
    """One process's loop over the launched runs."""

    def __init__(self, stopping: threading.Event, app_url: str, instance: dg.DagsterInstance) -> None:
        """`app_url` is the application role's; the worker listens on a connection of its own."""
        self._stopping, self._url, self._instance = stopping, app_url, instance
        self.cancellations = Cancellations(app_url)

    def serve(self) -> None:
        """Work until `stopping` is set."""
        while not self._stopping.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True, application_name=LISTENER) as connection:
                    self._serve(connection)
            except Exception as error:  # of this process's own queries and of Dagster's
                if not is_passing(error):
                    raise
                log.warning("worker.database_lost", error=type(error).__name__)
                self._stopping.wait(_PAUSE_SECONDS)

    def _serve(self, connection: psycopg.Connection) -> None:
        launches.listen(connection, launches.CHANNEL)
        worker_id, looked_at, swept_at = launches.enrol(connection), 0.0, 0.0
        readers = shared_resources().file_readers
        launches.sweep(connection)
        log.info("worker.ready", worker=worker_id)
        notified = True
        while not self._stopping.is_set():
            now = time.monotonic()
            if now >= swept_at + _LOST_RUNS_SECONDS:
                self._requeue_lost(connection)
                swept_at = now
            if notified or now >= looked_at + POLL_SECONDS:
                if notified and not readers.ready:
                    self._stopping.wait(_COLD_START_SECONDS)
                looked_at = now
                while not self._stopping.is_set() and (run := launches.take(connection, worker_id)):
                    if not self._execute(run):
                        return  # the lock ends with the connection, and the run is resumed like that of a dead worker
                    launches.end(connection, worker_id, run.run_id)
            notified = bool(launches.payloads(connection, _PAUSE_SECONDS))

    def _execute(self, launched: Launched) -> bool:
        """Run it to its end; errors in the run are in Dagster's storage. Return whether its end is there too."""
        run = self._instance.get_run_by_id(launched.run_id)
        if run is None or run.is_finished:
            return True
        if run.status == dg.DagsterRunStatus.CANCELING:
            self._instance.report_run_canceled(run)
            return True
        if run.job_code_origin is None:  # of `pcds`
            self._instance.report_run_failed(run, _NOT_RESUMABLE)
            return True
        started = time.perf_counter()
        # A run that has begun is resumed, however it was launched: another worker may have died with it just now.
        resuming = launched.resume or run.status == dg.DagsterRunStatus.STARTED
        # An interruption outside this block would end the worker.
        with steps.run(self._instance, run), capture_interrupts(), self.cancellations.interrupting(run.run_id):
            execute(self._instance, run, resuming=resuming)
        gc.collect()  # a run's objects refer to each other and would keep its frames until some later run
        log.info(
            "run.ended",
            run_id=launched.run_id,
            job=run.job_name,
            resumed=resuming,
            seconds=round(time.perf_counter() - started, 3),
        )
        # Dagster passes over its storage's errors here: where that took no event, the run would stay started for ever.
        ended = self._instance.get_run_by_id(launched.run_id)
        return ended is None or ended.is_finished

    def _requeue_lost(self, connection: psycopg.Connection) -> None:
        """Launch runs again that lost their worker or their launcher before they began; monitoring has the others."""
        starting = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTING])
        for record in self._instance.get_run_records(starting):
            run, state = record.dagster_run, launches.state(connection, record.dagster_run.run_id)
            if state == "lost":
                launches.queue_again(connection, run.run_id)
            elif state is None and Clock().now().timestamp() - record.update_timestamp.timestamp() > _LOST_RUNS_SECONDS:
                launches.adopt(connection, run.run_id, company=run.tags.get(PARTITION))
        for run_id in launches.lost(connection):
            lost = self._instance.get_run_by_id(run_id)
            if lost is None or lost.is_finished:
                launches.close(connection, run_id)


def execute(instance: dg.DagsterInstance, run: dg.DagsterRun, *, resuming: bool) -> None:
    """Execute a run, or what is left of it; its events say how it ended.

    As Dagster's command `dagster api execute_run` does, less its events that a process has begun and ended.
    """
    assert run.job_code_origin is not None, "it was launched"
    # Whatever ended it, Dagster has written it down.
    with suppress(Exception, KeyboardInterrupt, dg.DagsterExecutionInterruptedError):
        job = recon_job_from_origin(run.job_code_origin)
        for _ in core_execute_run(job, run, instance, inject_env_vars=False, resume_from_failure=resuming):
            pass


class Cancellations:
    """Listens in a thread for runs to interrupt, and interrupts this process while it executes one of them."""

    def __init__(self, app_url: str) -> None:
        """Prepare the state; `listen` opens the connection."""
        self._url, self._run_id, self._lock = app_url, "", threading.Lock()
        self._terminated: deque[str] = deque(maxlen=_MAX_CANCELLATIONS)

    def listen(self) -> None:
        """Listen for ever."""
        while True:
            try:
                with psycopg.connect(self._url, autocommit=True) as connection:
                    launches.listen(connection, launches.CANCELS)
                    while True:
                        for run_id in launches.payloads(connection):
                            with self._lock:
                                self._terminated.append(run_id)
                                self._interrupt()
            except psycopg.OperationalError:
                time.sleep(_PAUSE_SECONDS)

    @contextmanager
    def interrupting(self, run_id: str) -> Iterator[None]:
        """Execute a run in the block; a termination of the run interrupts the block."""
        self._executing(run_id)
        try:
            yield
        finally:
            self._executing("")

    def _executing(self, run_id: str) -> None:
        with self._lock:
            self._run_id = run_id
            self._interrupt()  # its termination may have arrived between the run's launch and now

    def _interrupt(self) -> None:
        if self._run_id in self._terminated:
            self._terminated.remove(self._run_id)
            os.kill(os.getpid(), signal.SIGINT)


def _stop_at_signals(stopping: threading.Event) -> None:
    signal.sigwait(_STOP_SIGNALS)
    stopping.set()


def main() -> None:
    """Serve the launched runs of the configured database until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.engine.worker", description=main.__doc__)
    parser.parse_args()
    settings = Settings.load()
    logs.configure(settings)
    tracing.configure(settings, "worker")
    database = Database.from_settings(settings)
    stopping = shared_resources().shutdown
    steps.is_warm_worker = True
    threading.Thread(target=_stop_at_signals, args=(stopping,), daemon=True).start()
    worker = Worker(stopping, database.app_url, shared_instance(settings, database))
    threading.Thread(target=worker.cancellations.listen, daemon=True).start()
    defs.resolve_all_job_defs()  # before the first run needs them
    gc.freeze()  # the objects of now stay; collections after a run can skip them
    atexit.register(gc.unfreeze)  # libraries that report leaks would report all frozen objects
    gc.set_threshold(_COLLECT_AFTER_OBJECTS)
    worker.serve()


if __name__ == "__main__":
    main()
