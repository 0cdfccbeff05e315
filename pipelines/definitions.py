"""The code location: every subject's definitions and what they work with, put together and nothing else."""

from pathlib import Path

import dagster as dg

from pipelines.engine.outputs import outputs
from pipelines.engine.resources import service_log, workshop_resource

defs = dg.Definitions.merge(
    dg.load_from_defs_folder(path_within_project=Path(__file__)),
    dg.Definitions(
        resources={"workshop": workshop_resource, "io_manager": outputs},
        loggers={"console": service_log},
        executor=dg.in_process_executor,  # a run is one process under every launcher
    ),
)
