"""`regrade`: what one company or all hold, graded by the rule-set of the day."""

import argparse
from typing import Final
from uuid import UUID

from pipelines.regrading import alone, regrade_portfolios
from pipelines.resources import Workshop
from pipelines.runs import Answer, OpenInstance

HELP: Final = "regrade portfolios"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Whose portfolio, and whether it was asked for before."""
    parser.add_argument("--company", type=UUID, help="one company's id; all where it is left out")
    parser.add_argument("--open", action="store_true", help="only what an activation has asked for")


def run(arguments: argparse.Namespace, workshop: Workshop, open_instance: OpenInstance) -> Answer:
    """Regrade, after whoever is at it now; raises `dagster.Failure` where there is no such company."""
    with alone(workshop, waiting=True), open_instance() as instance:
        totals = regrade_portfolios(workshop, instance, arguments.company, only_open=arguments.open)
    done = totals.regraded
    sentence = f"{done.changed} of {done.skus} SKUs of {totals.companies} companies changed by {done.version}."
    return Answer(totals.as_dict(), sentence)
