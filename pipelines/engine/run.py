"""Runs one Dagster job from the command line, recorded like any other (`python -m pipelines.engine.run rollup`).

`pcds` and the supervisor do not import Dagster: they start this process and read its answer, one JSON object.
`pipelines.engine.commands` contains the runs.
"""

import argparse
import json
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

import dagster as dg

from pipelines.engine import commands, execution
from pipelines.engine.instance import shared_instance
from pipelines.engine.resources import Resources, open_resources
from warehouse.operate import logs
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings
from warehouse.operate.surroundings import sentence_of


def main() -> int:
    """Run the job that the arguments name. Exit status 0: done; 1: refused, with one sentence on standard error."""
    arguments = _arguments()
    settings = Settings.load()
    logs.configure(settings)
    # A run's faults stay out of the log: this command prints one sentence, and the run's record has them whole.
    logger = logging.getLogger("dagster.run")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    try:
        if not arguments.if_needed:  # with this the supervisor calls it, before its services start
            execution.prefer_service(settings)
        with open_resources(settings) as resources:
            if not arguments.if_needed or commands.is_load_needed(resources.postgres):
                with shared_instance(settings, Database.of(settings)) as instance:
                    print(json.dumps(_answer(arguments, resources, instance)))
    except Exception as error:
        sentence = error.description if isinstance(error, dg.Failure) else sentence_of(error)
        if sentence is None:  # a fault of this program: its traceback is needed
            raise
        print(sentence, file=sys.stderr)
        return 1
    return 0


def _answer(arguments: argparse.Namespace, resources: Resources, instance: dg.DagsterInstance) -> Mapping[str, object]:
    """Return what the run changed: the published record."""
    if arguments.run == "catalogue-refresh":
        return commands.refresh_catalogue(resources, instance, arguments.file, operator=arguments.operator).as_dict()
    chosen = commands.chosen_companies(resources.postgres, arguments.company)
    if arguments.run == "regrade":
        return commands.regrade_portfolios(resources, instance, chosen, only_open=arguments.open).as_dict()
    if arguments.run == "rollup":
        return {"companies": [commands.roll_up(resources, instance, company_id) for company_id in chosen]}
    return {"companies": [snapshot.as_dict() for snapshot in commands.publish_all(resources, instance, chosen)]}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m pipelines.engine.run", description=main.__doc__)
    parser.add_argument("run", choices=["catalogue-refresh", "regrade", "rollup", "snapshot"])
    parser.add_argument("--company", type=UUID, help="one company's id; all where it is left out")
    parser.add_argument("--open", action="store_true", help="regrade only what an activation has asked for")
    parser.add_argument("--file", type=Path, help="an operator's catalogue; it stands until the next refresh")
    parser.add_argument("--operator", help="the account that asked for it; the service itself where it is left out")
    parser.add_argument("--if-needed", action="store_true", help="only where the release brings another catalogue")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
