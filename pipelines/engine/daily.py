"""Makes the schedule of a daily job, and the sensor that makes up for a missed tick.

A tag gives the day of a run, by the service's clock: no setting shifts Dagster's own.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import dagster as dg

from pipelines.engine import asking
from pipelines.engine.resources import ServiceClock
from pipelines.engine.tags import of_day

LOOK_SECONDS: Final = 20
SCHEDULES_HAVE: Final = timedelta(minutes=30)
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

    @asking.sensor(
        name=f"missed_{job_name}",
        job_name=job_name,
        minimum_interval_seconds=LOOK_SECONDS,
        description="Begins a day's work that its schedule did not begin, because the service was stopped then.",
    )
    def look(context: dg.SensorEvaluationContext, clock: ServiceClock) -> dg.SensorResult | dg.SkipReason:
        begun = clock.now() - SCHEDULES_HAVE
        day = f"{begun:%Y-%m-%d}"
        done = dg.RunsFilter(job_name=job_name, statuses=[dg.DagsterRunStatus.SUCCESS], tags=of_day(begun))
        if context.cursor == day or context.instance.get_runs(done, limit=1):
            return dg.SensorResult(skip_reason=f"The work of {day} is done.", cursor=day)
        due = asking.due(context.instance, job_name, [asking.WHOLE])
        return dg.SensorResult(
            run_requests=[
                dg.RunRequest(
                    run_key=f"{day}{asking.retry_suffix(failures)}", run_config=run_config, tags=of_day(begun)
                )
                for failures in due.values()
            ]
        )

    return look
