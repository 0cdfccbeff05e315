"""Runs `rollup`: computes tonnes and verdicts of one company or of all, a run each."""

import argparse
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines.engine.resources import Resources
from pipelines.engine.runs import Answer, OpenInstance, of_company
from pipelines.engine.runs.of_company import chosen_companies, publish_company
from pipelines.figures.keep import as_dict
from pipelines.figures.portfolio import up_to_date_snapshot
from warehouse import figures
from warehouse.figures import StoredFigures

HELP: Final = "compute tonnes by scheme category, and obligations"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the company."""
    parser.add_argument("--company", type=UUID, help="one company's id; all where it is left out")


def run(arguments: argparse.Namespace, resources: Resources, open_instance: OpenInstance) -> Answer:
    """Roll up; raises `dagster.Failure` where there is no such company, or where its figures fail a check."""
    chosen = chosen_companies(resources.postgres.pool, arguments.company)
    with open_instance() as instance:
        rolled_up = [_roll_up(resources, instance, company_id) for company_id in chosen]
    changed = sum(each.rows_written for each in rolled_up)
    return Answer(
        {"companies": [as_dict(each) for each in rolled_up]},
        f"{len(rolled_up)} companies rolled up, {changed} figures changed.",
    )


def _roll_up(resources: Resources, instance: dg.DagsterInstance, company_id: UUID) -> StoredFigures:
    """Return the company's current figures; a snapshot older than the last write is published anew first."""
    if up_to_date_snapshot(resources.postgres.pool, resources.portfolios.folder, company_id) is None:
        publish_company(resources, instance, company_id)
    else:
        of_company.run("roll_up", resources, instance, company_id)
    stored = figures.current(resources.portfolios.folder, company_id)
    assert stored is not None
    return stored
