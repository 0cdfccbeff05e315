"""Requests the housekeeping of a day that the schedule has missed."""

from typing import Final

from pipelines.engine.daily import missed_tick_sensor
from pipelines.engine.jobs import run_config

missed_housekeeping: Final = missed_tick_sensor("keep_house", run_config())
