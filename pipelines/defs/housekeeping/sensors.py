"""Requests the housekeeping of a day that the schedule has missed."""

from typing import Final

from pipelines.engine.daily import missed
from pipelines.engine.jobs import run_config

missed_housekeeping: Final = missed("keep_house", run_config())
