"""An import's life: submitted and queued, claimed by a run, written in chunks, completed or failed, polled.

One file per part: `submit` and `status` are what the API calls, `claim` is the right to write the next chunk,
`process` the work, `report` the rows of the error report, `settle` the ends. Reading the file itself is
`pipelines.reading`; what a written row means is `pipelines.writing.write`. Nothing here knows Dagster.
"""

from pipelines.imports.status import status
from pipelines.imports.submit import submit

__all__ = ["status", "submit"]
