"""Makes the configuration of runs, wherever they are requested. It imports no Dagster: the API uses it as well."""

from collections.abc import Mapping
from typing import Final

LOGGER: Final = "console"
"""The service's log (`pipelines.engine.loggers`), under the name of Dagster's own logger, which it replaces."""


def run_config(**of_assets: Mapping[str, object]) -> dict[str, object]:
    """Return the configuration of a run, by asset.

    It names the log because a run without that uses Dagster's own: `Definitions` cannot set a default, and a job's
    default configuration does not apply to its partitions.
    """
    ops = {asset: {"config": {**config}} for asset, config in of_assets.items()}
    return {"loggers": {LOGGER: {}}} | ({"ops": ops} if ops else {})
