"""Regrades companies by the active rule-set, a run each, for commands."""

from collections.abc import Sequence
from uuid import UUID

import dagster as dg

from pipelines import regrading
from pipelines.engine.resources import Resources
from pipelines.engine.runs import of_company
from pipelines.engine.tags import REGRADE
from pipelines.regrading import Totals


def regrade_portfolios(
    resources: Resources, instance: dg.DagsterInstance, chosen: Sequence[UUID], *, only_open: bool = False
) -> Totals:
    """Regrade these companies by the active rule-set, and return the totals, earlier runs of the regrade included.

    All are requested first, so that the service does the rest when the command is killed.
    """
    pool = resources.postgres
    with pool.system() as conn:
        version = resources.rule_sets.active(conn).version
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
