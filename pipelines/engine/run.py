"""Runs one Dagster job from the command line, recorded like any other (`python -m pipelines.engine.run rollup --json`).

`pcds` and the supervisor do not import Dagster: they start this process and read its answer. `pipelines.engine.runs`
contains the runs.
"""

import argparse
import json
import logging
import sys
from contextlib import nullcontext
from types import ModuleType
from typing import Final

import dagster as dg

from pipelines.engine.instance import shared_instance
from pipelines.engine.resources import open_resources
from pipelines.engine.runs import catalogue, execution, regrade, rollup, snapshot
from warehouse import logs
from warehouse.database import Database
from warehouse.settings import Settings
from warehouse.surroundings import sentence_of

RUNS: Final[dict[str, ModuleType]] = {
    "catalogue-refresh": catalogue,
    "regrade": regrade,
    "rollup": rollup,
    "snapshot": snapshot,
}


def main() -> int:
    """Run the job that the arguments name. Exit status 0: done; 1: refused, with one sentence on standard error."""
    arguments = _arguments()
    settings = Settings.load()
    logs.configure(settings)
    _silence_run_log()
    try:
        return _run(arguments, settings)
    except Exception as error:
        sentence = sentence_of(error)
        if sentence is None:  # a fault of this program: its traceback is needed
            raise
        print(sentence, file=sys.stderr)
        return 1


def _run(arguments: argparse.Namespace, settings: Settings) -> int:
    # The supervisor calls it before its services start.
    before_start = getattr(arguments, "if_needed", False)
    with open_resources(settings) as resources, nullcontext() if before_start else execution.prefer_service(settings):
        try:
            answer = arguments.run(arguments, resources, lambda: shared_instance(settings, Database.of(settings)))
        except dg.Failure as refused:
            print(refused.description, file=sys.stderr)
            return 1
    if answer is not None:
        print(json.dumps(answer.record) if arguments.json else answer.sentence)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m pipelines.engine.run", description=main.__doc__)
    commands = parser.add_subparsers(required=True)
    for name, module in RUNS.items():
        command = commands.add_parser(name, help=module.HELP)
        command.add_argument("--json", action="store_true", help="one JSON object on standard output")
        command.set_defaults(run=module.run)
        module.add_arguments(command)
    return parser.parse_args()


def _silence_run_log() -> None:
    """Keep a run's faults out of the log: this command prints one sentence, and the run's record has them whole."""
    logger = logging.getLogger("dagster.run")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())


if __name__ == "__main__":
    sys.exit(main())
