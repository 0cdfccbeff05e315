"""Defines group grading's regrade: the SKUs of a company, graded by the active rule-set.

A run may be stopped, killed or started again at any time and by any process: a row of the database records how far a
regrade has come (`pipelines.regrading`).
"""

import time
from typing import Final

import dagster as dg

from pipelines import regrading
from pipelines.defs import OWNERS
from pipelines.defs.catalogue.assets import rule_set
from pipelines.engine import tags
from pipelines.engine.interruption import interruptible
from pipelines.engine.partitions import company_of, company_partitions
from pipelines.engine.resources import Importing, Postgres, RuleSets, ServiceClock, Shutdown
from pipelines.shown import columns, preview
from warehouse.companies.queries import counters

GROUP: Final = "grading"
_BY_GRADE: Final = ("sku_code", "grade before", "grade after")


class Regrade(dg.Config):
    """`only_open` limits the run to regrades that an activation or a release with newer rules has requested."""

    only_open: bool = False


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"postgres"},
    tags={"pcds/stage": "stored"},
    partitions_def=company_partitions,
    metadata=columns.metadata("regraded_skus"),
    deps=[rule_set],
)
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
    company_id = company_of(postgres.pool, context.partition_key)
    with postgres.pool.company(company_id) as conn:
        version, named = rule_sets.registry.active(conn).version, preview.company(conn, company_id)
        if not config.only_open:
            regrading.request(conn, company_id, version, clock.now())
    tags.name_company(context, company_id, named["company"])
    services = regrading.Services(
        postgres.pool, clock.clock, rule_sets.registry, importing.chunk_rows, context.run.run_id
    )
    with interruptible(context, shutdown.event) as proceed:
        regrading.wait_once(postgres.pool, company_id, proceed)
        regrading.regrade_company(services, company_id, proceed)
    with postgres.pool.company(company_id) as conn:
        version, links = rule_sets.registry.active(conn).version, counters(conn).links
    done = regrading.total(postgres.pool, [company_id], version).regraded
    return dg.MaterializeResult(
        data_version=dg.DataVersion(str(links)),  # a regrade that changed nothing leaves the snapshot up to date
        metadata={
            **named,
            "dagster/row_count": done.skus,
            "skus": done.skus,
            "skus_changed": done.changed,
            "ruleset_version": version,
            "seconds": round(time.perf_counter() - started, 3),
            "matrix": preview.table(("grade before → after", "SKUs"), sorted(done.matrix.items())),
            "first_changes": preview.table(_BY_GRADE, done.examples, most=regrading.EXAMPLES, total=done.changed),
            **columns.metadata("regraded_skus"),
        },
    )
