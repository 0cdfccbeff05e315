"""Combines every subject's definitions and their resources into the code location, and contains nothing else."""

from pathlib import Path

import dagster as dg

from pipelines.engine.loggers import LOGGERS
from pipelines.engine.outputs import outputs
from pipelines.engine.resources import declared_resources
from warehouse.settings import Settings

defs = dg.Definitions.merge(
    dg.load_from_defs_folder(path_within_project=Path(__file__)),
    dg.Definitions(
        resources={**declared_resources(Settings.load())._asdict(), "io_manager": outputs},
        loggers=LOGGERS,
        executor=dg.in_process_executor,  # a run is one process under every launcher
    ),
)
