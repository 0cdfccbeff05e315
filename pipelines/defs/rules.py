"""Defines group grading's regrade: the SKUs of a company, graded by the active rule-set; its checks and its job.

A run may be stopped, killed or started again at any time and by any process: a row of the database records how far a
regrade has come (`pipelines.rules`).
"""

import time
from typing import Final

import dagster as dg
import polars as pl

from pipelines import rules
from pipelines.defs import asset
from pipelines.defs.catalogue import rule_set
from pipelines.engine import checks, preview, tags
from pipelines.engine.checks import Frames, Stored
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Importing, Postgres, RuleSets, ServiceClock, Shutdown
from pipelines.engine.schedules import WantedRun
from pipelines.engine.steps import interruptible
from pipelines.engine.tags import company_of_run, company_partitions
from schemas import contracts
from warehouse import rules as rules_warehouse
from warehouse.companies import queries
from warehouse.companies.queries import counters
from warehouse.operate.sessions import Connection
from warehouse.skus import portfolio

GROUP: Final = "grading"
_GRADES: Final = {
    "recyclability_grade": pl.String(),
    "grade_provisional": pl.Boolean(),
    "ruleset_version": pl.String(),
    "lowest_score": pl.Float64(),
    "highest_score": pl.Float64(),
    "skus": pl.Int64(),
}
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
    company_id, named = company_of_run(context, postgres)
    if not config.only_open:
        with postgres.company(company_id) as conn:
            rules_warehouse.request(conn, company_id, rule_sets.active(conn).version, clock.now())
    services = rules.Services(postgres, clock, rule_sets, importing.chunk_rows, context.run.run_id)
    with interruptible(context, shutdown) as proceed:
        rules.wait_once(postgres, company_id, proceed)
        rules.regrade_company(services, company_id, proceed)
    with postgres.company(company_id) as conn:
        version, links = rule_sets.active(conn).version, counters(conn).links
    done = rules_warehouse.total(postgres, [company_id], version).regraded
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
            "first_changes": preview.table(_BY_GRADE, done.examples, most=rules_warehouse.EXAMPLES, total=done.changed),
            **checks.metadata("regraded_skus"),
        },
    )


def _graded(stored: Stored) -> Frames:
    """Return how many of the company's SKUs have which grade, by whether it is provisional and by rule-set."""
    with stored.pool.company(stored.company) as conn:
        rows = portfolio.grades(conn)
    key = ["recyclability_grade", "grade_provisional", "ruleset_version"]
    contract = contracts.made(_GRADES, key=key, needed=["skus"])
    return {"grades": (contract, pl.DataFrame(rows, _GRADES, orient="row"))}


regraded_skus_checks: Final = checks.checks_of("regraded_skus", checks.contract_check(_graded))
regrade_portfolios: Final = dg.define_asset_job(
    "regrade_portfolios",
    selection=dg.AssetSelection.assets(regraded_skus),
    tags={tags.REGRADE: "asked"},
    description="What a company holds, graded by the rule-set of the day, going on where it stopped.",
)


def asked_regrades(conn: Connection) -> dict[str, WantedRun]:
    """Return the runs of regrades that an activation or a release with newer rules has requested, by slug.

    Dagster starts a backfill from a sensor only by a private class, so these are runs of partitions, found by their tag
    as a backfill's runs are by its id. Work of a run that was killed stays, and the next run continues there.
    """
    waiting = rules_warehouse.asked_of(conn)
    named = queries.slug_of(conn, [each.company_id for each in waiting]) if waiting else {}
    config = run_config(regraded_skus={"only_open": True})
    return {
        named[each.company_id]: WantedRun(
            f"{each.version}/{each.at:%Y%m%dT%H%M%S.%f}",
            {tags.REGRADE: each.version, tags.COMPANY: str(each.company_id), "dagster/priority": "-2"},
            config,
        )
        for each in waiting
    }
