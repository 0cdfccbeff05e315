"""The definitions that Dagster loads, a folder per subject: `assets`, `checks`, `jobs`, `schedules`, `sensors`.

Each is thin: what happens to data is `pipelines.<subject>`, what an analyst sees of it is `pipelines.shown`. What all
subjects share is here; how they come together is `pipelines.definitions`.
"""

from typing import Final

OWNERS: Final = ["team:packaging-data"]
"""Of every asset."""
