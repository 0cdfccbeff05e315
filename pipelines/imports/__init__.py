"""An import's life: submitted and queued, claimed by a run, written in chunks, completed or failed, polled.

One file per part: `submit` is what the API calls, `process` the work, `report` the rows of the error report, `settle`
the ends. A run's claim and what a poll answers are `warehouse.imports`. Reading the file itself is
`pipelines.reading`; what a written row means is `pipelines.writing.write`. Nothing here knows Dagster.
"""

from pipelines.imports.submit import submit

__all__ = ["submit"]
