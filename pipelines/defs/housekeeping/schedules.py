"""Schedules housekeeping once a day."""

from typing import Final

import dagster as dg

from pipelines.engine.daily import daily_schedule
from pipelines.engine.jobs import run_config

daily_housekeeping: Final[dg.ScheduleDefinition] = daily_schedule(
    "daily_housekeeping",
    "keep_house",
    "5 0 * * *",  # when the UTC day has changed on every machine
    run_config(),
)
