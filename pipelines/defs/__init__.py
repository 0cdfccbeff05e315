"""Contains the definitions that Dagster loads, a folder a subject: `assets`, `checks`, `jobs`, `schedules`, `sensors`.

Each is thin: `pipelines.<subject>` processes the data, and `pipelines.shown` prepares what an analyst sees. This module
contains what all subjects share; `pipelines.definitions` combines them.
"""

from typing import Final

OWNERS: Final = ["team:packaging-data"]
"""The owners of every asset."""
