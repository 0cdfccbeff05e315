"""Makes the schedule of a daily job, and the run that makes up for what a schedule does not.

A day that passed while the daemon was away is no gap: the scheduler runs the last tick that it missed by itself. It
does not run a job on the very first day, and does not repeat one that failed.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import dagster as dg

from pipelines.engine import run_requests, tags
from warehouse.clock import Clock

_MOVED: Final = timedelta(hours=1)
"""By how much the service's clock is moved against the machine's (`PCDS_TEST_CLOCK_OFFSET`), at the least."""


def daily_schedule(name: str, job_name: str, cron: str, run_config: Mapping[str, object]) -> dg.ScheduleDefinition:
    """Return the schedule of a daily job, in UTC, because days are UTC days (decisions §11)."""
    return dg.ScheduleDefinition(
        name=name,
        job_name=job_name,
        cron_schedule=cron,
        execution_timezone="UTC",
        run_config=run_config,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Begins the job once a day, by UTC; what the job does, its own page says.",
    )


def undone_work(
    instance: dg.DagsterInstance, job_name: str, run_config: Mapping[str, object], now: datetime
) -> list[dg.RunRequest]:
    """Return the run of a daily job that has never ended well, or did not the last time; tries come ever later.

    So it does where the service's clock, which says `now`, is moved: no setting shifts that of the scheduler, so a tag
    says for which day of the service's a run was.
    """
    ended = instance.get_run_records(dg.RunsFilter(job_name=job_name, statuses=run_requests.ENDED), limit=1)
    day = {tags.DAY: f"{now:%Y-%m-%d}"} if abs(now - Clock().now()) > _MOVED else {}
    if ended and ended[0].dagster_run.is_success and day.items() <= ended[0].dagster_run.tags.items():
        return []
    last = ended[0].dagster_run.run_id if ended else "nothing"
    return run_requests.requests_of_job(instance, job_name, f"after {last}", run_config, day)
