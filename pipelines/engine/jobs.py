"""What runs of jobs are given."""

from collections.abc import Mapping


def run_config(asset: str, config: Mapping[str, object]) -> dict[str, object]:
    """The configuration of a run whose first asset takes `config`, with the service's log in place of Dagster's."""
    return {"ops": {asset: {"config": config}}, "loggers": {"console": {}}}
