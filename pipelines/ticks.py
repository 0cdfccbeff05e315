"""The worker's clock hand: it starts the run of each schedule that is due, in the worker's own process.

Dagster's daemon would do the same for 275 MiB more. What is due is decided by the schedule's own definition and the
service's clock; which tick was done last is a row of `schedule_ticks`, so that a tick that was missed while the service
was down is made up for at its start, once however many were missed. One worker at a time runs a schedule: it holds a
lock that Postgres takes back however the process ends, and a tick counts as done when its run has succeeded, so that
the next worker does again what was broken off.

To the Dagster UI the worker is the scheduler: it says that it lives, and heeds the schedule's switch there.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import dagster as dg
import psycopg
import structlog
from dagster._core.scheduler.instigation import InstigatorStatus, InstigatorType
from dagster._core.storage.tags import SCHEDULE_NAME_TAG, SCHEDULED_EXECUTION_TIME_TAG
from dagster._daemon.daemon import SchedulerDaemon
from dagster._daemon.types import DaemonHeartbeat
from dagster._time import get_current_timestamp
from dagster._utils.schedules import get_latest_completed_cron_tick

from pipelines.definitions import defs
from pipelines.resources import Workshop
from pipelines.schedules import SCHEDULES
from pipelines.tags import CODE_LOCATION

LOOK_SECONDS: Final = 5.0
"""How often it is looked whether something is due."""
RETRY_SECONDS: Final = 300.0
"""How long after a run that failed, or that was switched off, the same tick is tried again."""
BEAT_SECONDS: Final = 600.0
"""How often the UI is told that schedules are ticked; it believes it for half an hour."""
_SKEW: Final = timedelta(hours=1)
"""A tick that was done this long in the future was done under another clock, and counts for nothing."""
_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended('pcds/schedule/' || %s, 0))"
_HELD: Final = "SELECT tick_at, run_id FROM schedule_ticks WHERE schedule = %s"
_BEGIN: Final = """
INSERT INTO schedule_ticks (schedule, run_id) VALUES (%(schedule)s, %(run_id)s)
ON CONFLICT (schedule) DO UPDATE SET run_id = excluded.run_id
"""
_END: Final = "UPDATE schedule_ticks SET tick_at = %s WHERE schedule = %s"
_BROKE_OFF: Final = "Lost its process or the database; what it did stays, and another run does the rest."

log = structlog.get_logger(__name__)


class Ticker:
    """One process's loop over the schedules.

    `connect` opens a connection outside of transactions, which lives as long as a run; `open_instance` Dagster's
    storage, for that time too.
    """

    def __init__(
        self,
        workshop: Workshop,
        connect: Callable[[], psycopg.Connection[Any]],
        open_instance: Callable[[], dg.DagsterInstance],
    ) -> None:
        self._workshop, self._connect, self._open_instance = workshop, connect, open_instance
        self._id = str(uuid4())
        self._done: dict[str, datetime] = {}
        self._again_at = self._beat_at = 0.0

    def serve(self) -> None:
        """Start what is due until `Workshop.stopping` is set."""
        stopping = self._workshop.stopping
        while not stopping.is_set():
            try:
                if time.monotonic() >= self._beat_at:
                    self.beat()
                if time.monotonic() >= self._again_at:
                    self.turn()
            except psycopg.OperationalError as error:
                log.warning("schedules.database_lost", error=type(error).__name__)
            except Exception:  # whatever it was, the schedules go on
                log.exception("schedules.run_broke_off")
                self._again_at = time.monotonic() + RETRY_SECONDS
            stopping.wait(LOOK_SECONDS)

    def beat(self) -> None:
        """Tell the UI that schedules are ticked here."""
        with self._open_instance() as instance:
            beat = DaemonHeartbeat(get_current_timestamp(), SchedulerDaemon.daemon_type(), self._id)
            instance.add_daemon_heartbeat(beat)
        self._beat_at = time.monotonic() + BEAT_SECONDS

    def turn(self) -> None:
        """Run each schedule that is due now and that no other worker runs."""
        for schedule in SCHEDULES:
            due = latest_tick(schedule, self._workshop.clock.now())
            if self._done.get(schedule.name) == due:
                continue
            with self._connect() as conn:
                if not _is_due(conn, schedule, due, self._workshop.clock.now()):
                    self._done[schedule.name] = due
                elif conn.execute(_LOCK, (schedule.name,)).fetchone() == (True,):
                    self._run(conn, schedule, due)

    def _run(self, conn: psycopg.Connection[Any], schedule: dg.ScheduleDefinition, due: datetime) -> None:
        """One run under the lock, which ends with the connection; another worker may have been faster."""
        if not _is_due(conn, schedule, due, self._workshop.clock.now()):
            return
        started, run_id = time.perf_counter(), str(uuid4())
        with self._open_instance() as instance:
            if _is_switched_off(instance, schedule):
                self._again_at = time.monotonic() + RETRY_SECONDS
                return
            _close(instance, conn, schedule)
            conn.execute(_BEGIN, {"schedule": schedule.name, "run_id": run_id})
            succeeded = _execute(schedule, due, run_id, self._workshop, instance)
        if succeeded:
            conn.execute(_END, (due, schedule.name))
            self._done[schedule.name] = due
        else:
            self._again_at = time.monotonic() + RETRY_SECONDS
        log.info(
            "schedule.run_ended", schedule=schedule.name, tick=due.isoformat(), succeeded=succeeded,
            seconds=round(time.perf_counter() - started, 3),
        )  # fmt: skip


def latest_tick(schedule: dg.ScheduleDefinition, now: datetime) -> datetime:
    """The last instant at or before `now` that the schedule names."""
    assert isinstance(schedule.cron_schedule, str), "our schedules have one expression each"
    return get_latest_completed_cron_tick(schedule.cron_schedule, now, schedule.execution_timezone).astimezone(UTC)


def _is_due(conn: psycopg.Connection[Any], schedule: dg.ScheduleDefinition, due: datetime, now: datetime) -> bool:
    row = conn.execute(_HELD, (schedule.name,)).fetchone()
    return row is None or row[0] is None or row[0] < due or row[0] > now + _SKEW


def _is_switched_off(instance: dg.DagsterInstance, schedule: dg.ScheduleDefinition) -> bool:
    """Whether somebody has stopped the schedule in the UI."""
    states = instance.all_instigator_state(instigator_type=InstigatorType.SCHEDULE)
    return any(state.name == schedule.name and state.status == InstigatorStatus.STOPPED for state in states)


def _close(instance: dg.DagsterInstance, conn: psycopg.Connection[Any], schedule: dg.ScheduleDefinition) -> None:
    """End the record of the run before, where its process has not: we hold its lock, so it is gone."""
    row = conn.execute(_HELD, (schedule.name,)).fetchone()
    run = instance.get_run_by_id(row[1]) if row else None
    if run is not None and not run.is_finished:
        instance.report_run_failed(run, _BROKE_OFF)


def _execute(
    schedule: dg.ScheduleDefinition, due: datetime, run_id: str, workshop: Workshop, instance: dg.DagsterInstance
) -> bool:
    tick = dg.build_schedule_context(instance, scheduled_execution_time=due)
    [request] = schedule.evaluate_tick(tick).run_requests or []
    own = {SCHEDULE_NAME_TAG: schedule.name, SCHEDULED_EXECUTION_TIME_TAG: due.isoformat(), **CODE_LOCATION}
    return (
        defs.resolve_job_def(schedule.job_name)
        .execute_in_process(
            run_config=request.run_config, instance=instance, run_id=run_id, tags={**request.tags, **own},
            raise_on_error=False, resources={"workshop": workshop},
        )
        .success
    )  # fmt: skip
