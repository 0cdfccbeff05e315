"""Writes the faults of a run to the service's log (`warehouse.logs`); its events are in Dagster.

A run whose configuration does not name it (`pipelines.engine.jobs`), such as that of an asset materialised from its own
page, writes to standard error by Dagster's own logger; `python_logs` of dagster.yaml sets how much.
"""

import logging
from typing import Final

import dagster as dg

from pipelines.engine.jobs import LOGGER


def _service_log(_context: dg.InitLoggerContext) -> logging.Logger:
    logger = logging.getLogger("dagster.run")
    logger.setLevel(logging.WARNING)
    return logger


LOGGERS: Final = {
    LOGGER: dg.LoggerDefinition(
        _service_log, description="What goes wrong in a run, in the process's log; every event is in Dagster's storage."
    )
}
"""The loggers of the definitions."""
