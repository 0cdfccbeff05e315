"""Housekeeping of a day that no schedule has begun."""

from typing import Final

from pipelines.engine.daily import missed
from pipelines.engine.jobs import run_config

missed_housekeeping: Final = missed("keep_house", run_config())
