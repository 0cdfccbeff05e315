"""What runs are configured with, wherever they are asked for. Nothing here knows Dagster: the API asks as well."""

from collections.abc import Mapping
from typing import Final

LOGGER: Final = "console"
"""The service's log (`pipelines.engine.run_log`), under the name of Dagster's own, in whose place it stands."""


def run_config(**of_assets: Mapping[str, object]) -> dict[str, object]:
    """The configuration of a run, by asset.

    It names the log because Dagster uses no other than its own where a run does not: `Definitions` cannot make one the
    default, and a job's default configuration is not that of its partitions.
    """
    ops = {asset: {"config": {**config}} for asset, config in of_assets.items()}
    return {"loggers": {LOGGER: {}}} | ({"ops": ops} if ops else {})
