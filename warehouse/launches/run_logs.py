"""The names under which logs of runs lie in the object store, where several machines share one.

`<nobody>/run-logs/<run>/compute_logs/<capture>.err`: a run is not a company's alone, so that they are nobody's. What
is in them, and where they lie on one machine, is `pipelines.engine.run_logs`.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from warehouse.objects import is_key

OWNER: Final = UUID(int=0)
FOLDER: Final = "run-logs"


def key(log_key: Sequence[str], ending: str) -> str | None:
    """Where a log lies by Dagster's key for it; None for what is no such key."""
    found = f"{OWNER}/{folder(log_key)}.{ending}"
    return found if is_key(found) else None


def folder(prefix: Sequence[str]) -> str:
    """The folder of all logs whose keys begin so."""
    return "/".join((FOLDER, *prefix))


def parts(key: str) -> list[str]:
    """Dagster's key of a log, of the object's without its ending."""
    return key.split("/")[2:]
