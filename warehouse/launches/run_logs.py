"""Names the logs of runs in the object store, where several machines share one.

The keys are `<nobody>/run-logs/<run>/compute_logs/<capture>.err`, under the id of no company because a run may concern
several. `pipelines.engine.run_logs` writes the logs, and names their place on a single machine.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from warehouse.objects import is_key

OWNER: Final = UUID(int=0)
FOLDER: Final = "run-logs"


def key(log_key: Sequence[str], ending: str) -> str | None:
    """Return the object's key for Dagster's key of a log; None where Dagster's key is no such key."""
    found = f"{OWNER}/{folder(log_key)}.{ending}"
    return found if is_key(found) else None


def folder(prefix: Sequence[str]) -> str:
    """Return the folder of all logs whose keys begin with this prefix."""
    return "/".join((FOLDER, *prefix))


def parts(key: str) -> list[str]:
    """Return Dagster's key of a log from the object's key without its ending."""
    return key.split("/")[2:]
