"""Runs `catalogue-refresh`: loads the jurisdiction catalogue from the release's pinned file or an operator's own."""

import argparse
from pathlib import Path
from typing import Final

import dagster as dg

from compliance.tables import TableError
from pipelines import catalogue
from pipelines.catalogue import Changes
from pipelines.defs.catalogue import CHANGES
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Resources
from pipelines.engine.runs import Answer, OpenInstance, execution
from pipelines.engine.tags import PCDS
from warehouse.sessions import Pool

HELP: Final = "load the jurisdiction catalogue"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the file, and whether to look first."""
    parser.add_argument("--file", type=Path, help="an operator's CSV; it stands until the next refresh")
    parser.add_argument("--operator", help="the account that asked for it; the service itself where it is left out")
    parser.add_argument("--if-needed", action="store_true", help="only where the release brings another catalogue")


def run(arguments: argparse.Namespace, resources: Resources, open_instance: OpenInstance) -> Answer | None:
    """Load the catalogue; None where no load was needed."""
    if arguments.if_needed and not _is_load_needed(resources.postgres.pool):
        return None
    with open_instance() as instance:
        changes = refresh_catalogue(resources, instance, arguments.file, operator=arguments.operator)
    return Answer(changes.as_dict(), _sentence(changes))


def refresh_catalogue(
    resources: Resources, instance: dg.DagsterInstance, file: Path | None, *, operator: str | None = None
) -> Changes:
    """Load an operator's file, or the release's; raises `dagster.Failure` with the file's faults."""
    try:
        name = None if file is None else catalogue.copy_for_runs(resources.portfolios.folder, file)
    except TableError as fault:
        raise dg.Failure(str(fault)) from None
    options = {"file": name, "operator": operator}
    source = {name: value for name, value in options.items() if value is not None}
    ended = execution.run(
        "refresh_catalogue",
        resources,
        instance,
        run_config=run_config(jurisdiction_catalogue=source),
        tags=PCDS if operator is None else {"user": operator},
    )
    return _changes_of(instance, ended.run_id)


def _changes_of(instance: dg.DagsterInstance, run_id: str) -> Changes:
    """Return what the run changed, from the metadata of its asset."""
    [materialization] = instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    materialised = materialization.asset_materialization
    assert materialised is not None
    changes = materialised.metadata[CHANGES].value
    assert isinstance(changes, dict)
    return Changes(**changes)


def _is_load_needed(pool: Pool) -> bool:
    with pool.system() as conn:
        return catalogue.is_needed(conn, catalogue.read(None))


def _sentence(changes: Changes) -> str:
    counts = {name: len(getattr(changes, name)) for name in ("added", "changed", "removed", "demoted")}
    return ", ".join(f"{number} {name}" for name, number in counts.items()) + f", {changes.unchanged} unchanged."
