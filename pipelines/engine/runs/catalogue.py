"""Loads the jurisdiction catalogue from the release's pinned file or an operator's own, for commands."""

from pathlib import Path

import dagster as dg

from compliance.tables import TableError
from pipelines import catalogue
from pipelines.catalogue import Changes
from pipelines.defs.catalogue import CHANGES
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Resources
from pipelines.engine.runs import execution
from pipelines.engine.tags import PCDS, USER
from warehouse.sessions import Pool


def refresh_catalogue(
    resources: Resources, instance: dg.DagsterInstance, file: Path | None, *, operator: str | None = None
) -> Changes:
    """Load an operator's file, or the release's; raises `dagster.Failure` with the file's faults."""
    try:
        name = None if file is None else catalogue.copy_for_runs(resources.portfolios, file)
    except TableError as fault:
        raise dg.Failure(str(fault)) from None
    options = {"file": name, "operator": operator}
    source = {name: value for name, value in options.items() if value is not None}
    ended = execution.run(
        "refresh_catalogue",
        resources,
        instance,
        run_config=run_config(jurisdiction_catalogue=source),
        tags=PCDS if operator is None else {USER: operator},
    )
    [materialization] = instance.all_logs(ended.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    materialised = materialization.asset_materialization
    assert materialised is not None
    changes = materialised.metadata[CHANGES].value
    assert isinstance(changes, dict)
    return Changes(**changes)


def is_load_needed(pool: Pool) -> bool:
    """Return whether the release brings another catalogue than is stored."""
    with pool.system() as conn:
        return catalogue.is_needed(conn, catalogue.read(None))
