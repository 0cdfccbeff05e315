"""Defines group grading's regrade: the SKUs of a company, graded by the active rule-set; its checks and its job.

A run may be stopped, killed or started again at any time and by any process: a row of the database records how far a
regrade has come (`pipelines.rules`).
"""

import time
from typing import Final

import dagster as dg

from pipelines import rules
from pipelines.checks.catalogue import REGRADED
from pipelines.checks.factory import checks_of
from pipelines.defs import asset
from pipelines.defs.catalogue import rule_set
from pipelines.engine import tags
from pipelines.engine.resources import Importing, Postgres, RuleSets, ServiceClock, Shutdown
from pipelines.engine.runs import company_of_run, company_partitions
from pipelines.engine.steps import interruptible
from pipelines.metadata import columns
from pipelines.metadata.tables import table
from warehouse import rules as rules_warehouse
from warehouse.companies.queries import counters

GROUP: Final = "grading"
_BY_GRADE: Final = ("sku_code", "grade before", "grade after")


class Regrade(dg.Config):
    """`only_open` limits the run to regrades that an activation or a release with newer rules has requested."""

    only_open: bool = False


@asset(GROUP, "stored", "postgres", partitions_def=company_partitions, deps=[rule_set])
def regraded_skus(
    context: dg.AssetExecutionContext,
    config: Regrade,
    *,
    postgres: Postgres,
    clock: ServiceClock,
    rule_sets: RuleSets,
    importing: Importing,
    shutdown: Shutdown,
) -> dg.MaterializeResult[None]:
    """The company's SKUs by the active rule-set: a matrix of grades before and after, and the first fifty changes.

    Only SKUs whose grade or trace changed are written, each as a new version with an entry in its company's ledger. It
    waits until no write by an older rule-set is under way, and continues where an earlier run stopped.
    """
    started = time.perf_counter()
    company_id, about = company_of_run(context, postgres)
    if not config.only_open:
        with postgres.company(company_id) as conn:
            rules_warehouse.request(conn, company_id, rule_sets.active(conn).version, clock.now())
    services = rules.Services(postgres, clock, rule_sets, importing.chunk_rows, context.run.run_id)
    with interruptible(context, shutdown) as proceed:
        rules.wait_once(postgres, company_id, proceed)
        rules.regrade_company(services, company_id, proceed)
    with postgres.company(company_id) as conn:
        version, writes = rule_sets.active(conn).version, counters(conn).figure_writes
    done = rules_warehouse.total(postgres, [company_id], version).regraded
    return dg.MaterializeResult(
        data_version=dg.DataVersion(str(writes)),  # a regrade that changed nothing leaves the snapshot up to date
        metadata={
            **about,
            "dagster/row_count": done.skus,
            "skus": done.skus,
            "skus_changed": done.changed,
            "ruleset_version": version,
            "seconds": round(time.perf_counter() - started, 3),
            "matrix": table(("grade before → after", "SKUs"), sorted(done.matrix.items())),
            "first_changes": table(_BY_GRADE, done.examples, most=rules_warehouse.EXAMPLES, total=done.changed),
            **columns.metadata("regraded_skus"),
        },
    )


regraded_skus_checks: Final = checks_of("regraded_skus", REGRADED)
regrade_portfolios: Final = dg.define_asset_job(
    "regrade_portfolios",
    selection=dg.AssetSelection.assets(regraded_skus),
    tags={tags.REGRADE: "asked"},
    description="What a company holds, graded by the rule-set of the day, going on where it stopped.",
)
