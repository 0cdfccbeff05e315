"""A day's work: the schedule that begins it, and the sensor that makes up for a schedule that did not tick.

Which day a run is of, its tag says, by the service's clock: Dagster's own has no setting that shifts it.
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
"""So long after the day's begin (UTC) it is the schedules' to begin its work."""


def scheduled(name: str, job_name: str, cron: str, run_config: Mapping[str, object]) -> dg.ScheduleDefinition:
    """The schedule of a daily job, in UTC, because a day that decides is the UTC day (decisions §11)."""

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


def missed(job_name: str, run_config: Mapping[str, object]) -> dg.SensorDefinition:
    """The sensor of a daily job: where no run of it has succeeded on the service's day, it asks for one.

    However many days were missed, it is one.
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
                dg.RunRequest(run_key=f"{day}{asking.again(failures)}", run_config=run_config, tags=of_day(begun))
                for failures in due.values()
            ]
        )

    return look
