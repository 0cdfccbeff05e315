"""`regrade`: what one company or all hold, graded by the rule-set of the day."""

import argparse
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines.definitions import defs
from pipelines.jobs import run_config
from pipelines.resources import Workshop
from pipelines.runs import Answer, OpenInstance
from pipelines.steps.regrade import Totals
from pipelines.tags import CODE_LOCATION

HELP: Final = "regrade portfolios"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Whose portfolio, and whether it was asked for before."""
    parser.add_argument("--company", type=UUID, help="one company's id; all where it is left out")
    parser.add_argument("--open", action="store_true", help="only what an activation has asked for")


def run(arguments: argparse.Namespace, workshop: Workshop, open_instance: OpenInstance) -> Answer:
    """Regrade; raises `dagster.Failure` where there is no such company."""
    with open_instance() as instance:
        totals = regrade_portfolios(workshop, instance, arguments.company, only_open=arguments.open)
    done = totals.regraded
    sentence = f"{done.changed} of {done.skus} SKUs of {totals.companies} companies changed by {done.version}."
    return Answer(totals.as_dict(), sentence)


def regrade_portfolios(
    workshop: Workshop, instance: dg.DagsterInstance, company_id: UUID | None = None, *, only_open: bool = False
) -> Totals:
    """The run, for one company or for all; raises `dagster.Failure` where there is no such company."""
    chosen = {} if company_id is None else {"company_id": str(company_id)}
    result = defs.resolve_job_def("regrade_portfolios").execute_in_process(
        run_config=run_config("regraded_skus", {**chosen, "only_open": only_open}),
        instance=instance, tags=CODE_LOCATION, resources={"workshop": workshop},
    )  # fmt: skip
    totals = result.output_for_node("regraded_skus")
    assert isinstance(totals, Totals)
    return totals
