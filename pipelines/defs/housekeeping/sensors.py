"""Housekeeping of a day that no schedule has begun."""

from typing import Final

from pipelines.engine.daily import missed

missed_housekeeping: Final = missed("keep_house", {"loggers": {"console": {}}})
