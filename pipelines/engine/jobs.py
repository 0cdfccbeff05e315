"""Makes the configuration of runs, wherever they are requested. It imports no Dagster: the API uses it as well."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from schemas.json_values import JsonObject
from warehouse.operate import dagster_home

LOGGER: Final = "console"
"""The service's log (`pipelines.definitions`), under the name of Dagster's own logger, which it replaces."""
IMPORT_STEP: Final = "imported_file"
"""The step that imports a file; its configuration names the import."""
REPOSITORY: Final = {"repositoryLocationName": dagster_home.LOCATION, "repositoryName": "__repository__"}
"""Where Dagster's web server finds the jobs."""


def run_config(**of_steps: Mapping[str, object]) -> dict[str, object]:
    """Return the configuration of a run, by step; an asset's step has its name.

    It names the log because a run without that uses Dagster's own: `Definitions` cannot set a default, and a job's
    default configuration does not apply to its partitions.
    """
    ops = {step: {"config": {**config}} for step, config in of_steps.items()}
    return {"loggers": {LOGGER: {}}} | ({"ops": ops} if ops else {})


def import_config(import_id: UUID | str) -> dict[str, object]:
    """Return the configuration of an import's run."""
    return run_config(**{IMPORT_STEP: {"import_id": str(import_id)}})


def execution_params(job: str, config: Mapping[str, object], tags: Mapping[str, str]) -> JsonObject:
    """Return the parameters of the mutation `launchRun`."""
    return {
        "selector": {**REPOSITORY, "jobName": job},
        "runConfigData": config,
        "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in tags.items()]},
    }
