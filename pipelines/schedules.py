"""The schedules: which job runs when, in UTC, because a day that decides is the UTC day (decisions §11).

They tick in the warm worker (`pipelines.ticks`); where there is none, `dagster-daemon` ticks the same definitions.
"""

from typing import Final

import dagster as dg

from pipelines.jobs import keep_house

daily_housekeeping: Final = dg.ScheduleDefinition(
    name="daily_housekeeping",
    job=keep_house,
    cron_schedule="5 0 * * *",  # when the UTC day has changed on every machine
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    run_config={"loggers": {"console": {}}},
    description="Once a day: what is old or orphaned goes; declarations that have expired are entered in the ledger.",
)

SCHEDULES: Final = (daily_housekeeping,)
