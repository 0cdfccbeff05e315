"""Schedules the catalogue's refresh once a day."""

from typing import Final

import dagster as dg

from pipelines.engine.daily import daily_schedule
from pipelines.engine.jobs import run_config

BY_SCHEDULE: Final = run_config(jurisdiction_catalogue={"by_schedule": True})
daily_catalogue: Final[dg.ScheduleDefinition] = daily_schedule(
    "daily_catalogue", "refresh_catalogue", "10 0 * * *", BY_SCHEDULE
)
