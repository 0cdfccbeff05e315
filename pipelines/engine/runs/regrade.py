"""Runs `regrade`: regrades one company or all by the active rule-set, a run each."""

import argparse
from collections.abc import Sequence
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines import regrading
from pipelines.engine.resources import Resources
from pipelines.engine.runs import Answer, OpenInstance, of_company
from pipelines.engine.tags import REGRADE
from pipelines.regrading import Totals

HELP: Final = "regrade portfolios"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the company, and whether to regrade only where it was requested before."""
    parser.add_argument("--company", type=UUID, help="one company's id; all where it is left out")
    parser.add_argument("--open", action="store_true", help="only what an activation has asked for")


def run(arguments: argparse.Namespace, resources: Resources, open_instance: OpenInstance) -> Answer:
    """Regrade; raises `dagster.Failure` where there is no such company. A run of the service may run beside it."""
    chosen = of_company.chosen_companies(resources.postgres.pool, arguments.company)
    with open_instance() as instance:
        totals = regrade_portfolios(resources, instance, chosen, only_open=arguments.open)
    done = totals.regraded
    sentence = f"{done.changed} of {done.skus} SKUs of {totals.companies} companies changed by {done.version}."
    return Answer(totals.as_dict(), sentence)


def regrade_portfolios(
    resources: Resources, instance: dg.DagsterInstance, chosen: Sequence[UUID], *, only_open: bool = False
) -> Totals:
    """Regrade these companies by the active rule-set, and return the totals, earlier runs of the regrade included.

    All are requested first, so that the service does the rest when the command is killed.
    """
    pool = resources.postgres.pool
    with pool.system() as conn:
        version = resources.rule_sets.registry.active(conn).version
    if not only_open:
        for company_id in chosen:
            with pool.company(company_id) as conn:
                regrading.request(conn, company_id, version, resources.clock.now())
    for company_id in regrading.open_regrades(pool):
        if company_id in chosen:
            of_company.run(
                "regrade_portfolios",
                resources,
                instance,
                company_id,
                config={"regraded_skus": {"only_open": True}},
                run_tags={REGRADE: version},
            )
    return regrading.total(pool, chosen, version)
