"""Makes the schedule of a daily job, and the sensor that makes up for a missed tick.

A tag gives the day of a run, by the service's clock: no setting shifts Dagster's own.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import dagster as dg

from pipelines.engine import run_requests
from pipelines.engine.resources import ServiceClock
from pipelines.engine.tags import of_day

POLL_SECONDS: Final = 20
SCHEDULE_GRACE: Final = timedelta(minutes=30)
"""How long after the day's start (UTC) its work is left to the schedules."""


def daily_schedule(name: str, job_name: str, cron: str, run_config: Mapping[str, object]) -> dg.ScheduleDefinition:
    """Return the schedule of a daily job, in UTC, because days are UTC days (decisions §11)."""

    @dg.schedule(
        name=name,
        job_name=job_name,
        cron_schedule=cron,
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Begins the job once a day, by UTC; what the job does, its own page says.",
    )
    def tick(clock: ServiceClock) -> dg.RunRequest:
        return dg.RunRequest(run_config=run_config, tags=of_day(clock.now()))

    return tick


def missed_tick_sensor(job_name: str, run_config: Mapping[str, object]) -> dg.SensorDefinition:
    """Return the sensor of a daily job: it requests a run where none has succeeded on the service's day.

    However many days were missed, it requests one run.
    """

    @run_requests.sensor(
        name=f"missed_{job_name}",
        job_name=job_name,
        minimum_interval_seconds=POLL_SECONDS,
        description="Begins a day's work that its schedule did not begin, because the service was stopped then.",
    )
    def look(context: dg.SensorEvaluationContext, clock: ServiceClock) -> dg.SensorResult | dg.SkipReason:
        work_day = clock.now() - SCHEDULE_GRACE
        day = f"{work_day:%Y-%m-%d}"
        done = dg.RunsFilter(job_name=job_name, statuses=[dg.DagsterRunStatus.SUCCESS], tags=of_day(work_day))
        if context.cursor == day or context.instance.get_runs(done, limit=1):
            return dg.SensorResult(skip_reason=f"The work of {day} is done.", cursor=day)
        due = run_requests.due_partitions(context.instance, job_name, [run_requests.UNPARTITIONED])
        return dg.SensorResult(
            run_requests=[
                dg.RunRequest(
                    run_key=f"{day}{run_requests.retry_suffix(failures)}", run_config=run_config, tags=of_day(work_day)
                )
                for failures in due.values()
            ]
        )

    return look
