"""The executor of jobs whose steps may run on several machines: Dagster's own in this process, or an engine's.

Which one, the file says that `PCDS_EXECUTOR` names (docs/scaling.md); nothing here knows an engine. Jobs that pass
frames from asset to asset in memory take no executor from here: their run is one process under every launcher.
"""

from importlib import import_module
from pathlib import Path

import dagster as dg

from warehouse.settings import SettingsError


def chosen(file: Path | None) -> dg.ExecutorDefinition:
    """The executor of a file, configured as it says; without a file the steps run one after the other in the process.

    `executor` names it as `module:attribute`, `execution` has its configuration as a run's configuration would. Raises
    `SettingsError` where the file cannot be read or what it names is not there.
    """
    if file is None:
        return dg.in_process_executor
    if not file.is_file():
        raise SettingsError(f"PCDS_EXECUTOR is not usable: there is no file {file.name}.")
    described = dg.config_from_files([str(file)])
    module, _, attribute = str(described.get("executor")).partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError):
        found = None
    if not isinstance(found, dg.ExecutorDefinition):
        raise SettingsError(
            f"PCDS_EXECUTOR is not usable: `executor` in {file.name} must name an executor that is installed, such as "
            "dagster_celery:celery_executor."
        )
    return found.configured(dict(described.get("execution", {}).get("config", {})), name=found.name)
