"""Contains the definitions that Dagster loads, a module a subject: its assets, checks, jobs and schedule.

Each is thin: `pipelines.<subject>` processes the data, and `pipelines.shown` prepares what an analyst sees. `sensors`
watches all subjects but imports. This module contains what they share; `pipelines.definitions` combines them.
"""

from typing import Final

OWNERS: Final = ["team:packaging-data"]
"""The owners of every asset."""
