"""Combines every subject's definitions and their resources into the code location, and links assets to their source."""

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path

import dagster as dg

from pipelines.engine.jobs import LOGGER
from pipelines.engine.resources import declared_resources
from warehouse.operate.settings import Settings

_LINKS = "dagster/code_references"

# Dagster copies a sensor that names jobs of ops with all its parameters, and warns of its own use of one.
warnings.filterwarnings("ignore", "Parameter `owners` of initializer `SensorDefinition", dg.BetaWarning)


def _from_top(spec: dg.AssetSpec) -> dg.AssetSpec:
    """Return the asset linked to its source by a path from the repository's top, as no path of a machine is shown."""
    if not isinstance(links := spec.metadata.get(_LINKS), dg.CodeReferencesMetadataValue):
        return spec
    top = Path(__file__).parent.parent
    references: list[dg.LocalFileCodeReference | dg.UrlCodeReference] = [
        dg.LocalFileCodeReference(file_path=str(Path(link.file_path).relative_to(top)), line_number=link.line_number)
        for link in links.code_references
        if isinstance(link, dg.LocalFileCodeReference)
    ]
    return spec.replace_attributes(
        metadata={**spec.metadata, _LINKS: dg.CodeReferencesMetadataValue(code_references=references)}
    )


def _linked(assets: Sequence[object]) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    """Return the assets, each once, with the file and line of the function that makes it where one does."""
    once = {id(asset): asset for asset in assets}.values()  # each module that names one has it
    outside = [asset for asset in once if isinstance(asset, dg.AssetSpec)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        linked = dg.with_source_code_references([asset for asset in once if isinstance(asset, dg.AssetsDefinition)])
        made = [asset.map_asset_specs(_from_top) for asset in linked if isinstance(asset, dg.AssetsDefinition)]
    return [*made, *outside]


@dg.logger(None, description="What goes wrong in a run, in the process's log; every event is in Dagster's storage.")
def _service_log(_context: dg.InitLoggerContext) -> logging.Logger:
    """Return the service's log (`warehouse.operate.logs`), which takes the faults of a run.

    A run whose configuration does not name it (`pipelines.engine.jobs`), such as that of an asset materialised from its
    own page, writes to standard error by Dagster's own logger; `python_logs` of dagster.yaml sets how much.
    """
    logger = logging.getLogger("dagster.run")
    logger.setLevel(logging.WARNING)
    return logger


def _combined() -> dg.Definitions:
    loaded = dg.load_from_defs_folder(path_within_project=Path(__file__))
    return dg.Definitions(
        assets=_linked([*(loaded.assets or ())]),
        asset_checks=loaded.asset_checks,
        jobs=loaded.jobs,
        schedules=loaded.schedules,
        sensors=loaded.sensors,
        resources=declared_resources(Settings.load()),
        loggers={LOGGER: _service_log},
        executor=dg.in_process_executor,  # a run is one process under every launcher
    )


defs = _combined()  # the only definitions of this module: the code server refuses others beside them
