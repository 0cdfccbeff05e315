"""One Dagster run from the command line, recorded like any other (`python -m pipelines.run catalogue-refresh --json`).

For `pcds` and the supervisor, whose processes do not import Dagster: they start this one and read its answer.
"""

import argparse
import json
import logging
import sys
from pathlib import Path

import dagster as dg

from pipelines.definitions import defs
from pipelines.instance import shared_instance
from pipelines.jobs import run_config
from pipelines.resources import Workshop, opened
from pipelines.steps import catalogue
from pipelines.steps.catalogue import Changes
from warehouse import logs
from warehouse.database import Database
from warehouse.settings import Settings


def main() -> int:
    """Run what the arguments name. Exit status 0: done; 1: refused, with one sentence on standard error."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.run", description=main.__doc__)
    commands = parser.add_subparsers(required=True)
    refresh = commands.add_parser("catalogue-refresh", help="load the jurisdiction catalogue")
    refresh.add_argument("--file", type=Path, help="an operator's CSV; it stands until the next refresh")
    refresh.add_argument("--if-needed", action="store_true", help="only where the release brings another catalogue")
    refresh.add_argument("--json", action="store_true", help="one JSON object on standard output")
    arguments = parser.parse_args()
    settings = Settings.load()
    logs.configure(settings)
    _say_once()
    with opened(settings) as workshop:
        if arguments.if_needed and not _needed(workshop):
            return 0
        with shared_instance(settings, Database.of(settings)) as instance:
            try:
                changes = refresh_catalogue(workshop, instance, arguments.file)
            except dg.Failure as refused:
                print(refused.description, file=sys.stderr)
                return 1
    print(json.dumps(changes.as_dict()) if arguments.json else _sentence(changes))
    return 0


def refresh_catalogue(workshop: Workshop, instance: dg.DagsterInstance, file: Path | None) -> Changes:
    """Load an operator's file, or the release's; raises `dagster.Failure` with the file's faults."""
    source = {} if file is None else {"file": str(file.absolute())}
    result = defs.resolve_job_def("refresh_catalogue").execute_in_process(
        run_config=run_config("jurisdiction_catalogue", source), instance=instance, resources={"workshop": workshop}
    )
    changes = result.output_for_node("jurisdiction_catalogue")
    assert isinstance(changes, Changes)
    return changes


def _say_once() -> None:
    """Keep a run's faults out of the log: here they are one sentence, and the run's record has them whole."""
    logger = logging.getLogger("dagster.run")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())


def _needed(workshop: Workshop) -> bool:
    with workshop.pool.system() as conn:
        return catalogue.is_needed(conn, catalogue.read(None))


def _sentence(changes: Changes) -> str:
    counts = {name: len(getattr(changes, name)) for name in ("added", "changed", "removed", "demoted")}
    return ", ".join(f"{number} {name}" for name, number in counts.items()) + f", {changes.unchanged} unchanged."


if __name__ == "__main__":
    sys.exit(main())
