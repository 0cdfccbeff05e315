"""The schedules: which job runs when, in UTC, because a day that decides is the UTC day (decisions §11).

They tick in the warm worker (`pipelines.ticks`); where there is none, `dagster-daemon` ticks the same definitions.
"""

from typing import Final

import dagster as dg

from pipelines.jobs import keep_house, refresh_catalogue, run_config

daily_housekeeping: Final = dg.ScheduleDefinition(
    name="daily_housekeeping",
    job=keep_house,
    cron_schedule="5 0 * * *",  # when the UTC day has changed on every machine
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    run_config={"loggers": {"console": {}}},
    description="Once a day: what is old or orphaned goes; declarations that have expired are entered in the ledger.",
)

daily_catalogue: Final = dg.ScheduleDefinition(
    name="daily_catalogue",
    job=refresh_catalogue,
    cron_schedule="10 0 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    run_config=run_config("jurisdiction_catalogue", {"by_schedule": True}),
    description="Once a day: the release's catalogue where it changed, checks, and what is served less deep by now.",
)

SCHEDULES: Final = (daily_housekeeping, daily_catalogue)
