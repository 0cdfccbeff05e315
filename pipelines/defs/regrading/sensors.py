"""Requests regrades that an activation or a release with newer rules has recorded in the database.

Dagster starts a backfill from a sensor only by a private class, so these are runs of partitions, found by their tag as
a backfill's runs are by its id (`pipelines.engine.tags.REGRADE`).
"""

import dagster as dg

from pipelines import regrading
from pipelines.defs.catalogue.checks import held_by_older_rules
from pipelines.defs.regrading.jobs import regrade_portfolios
from pipelines.engine import asking, tags
from pipelines.engine.asking import Wanted
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Postgres, RuleSets
from warehouse.companies import slugs


@asking.sensor(
    job=regrade_portfolios,
    description="Regrades each company whose regrade is asked for and not finished; says how many are left.",
)
def asked_regrades(context: dg.SensorEvaluationContext, postgres: Postgres, rule_sets: RuleSets) -> dg.SensorResult:
    """Request one run a company; work of a run that was killed stays, and the next run continues there."""
    with postgres.pool.system() as conn:
        version = rule_sets.known.active(conn).version
        waiting = regrading.asked_of(conn)
        named = slugs.of(conn, [each.company_id for each in waiting])
    requests = asking.of_companies(
        context.instance, regrade_portfolios.name, {named[each.company_id]: _wanted(each) for each in waiting}
    )
    left = f"{len(waiting)} by {version}"
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=asking.partitions_of(context.instance, requests),
        asset_events=[]
        if left == context.cursor
        else [
            dg.AssetCheckEvaluation(asset_key=dg.AssetKey("rule_set"), **held_by_older_rules(len(waiting), version)),
        ],
        cursor=left,
    )


def _wanted(asked: regrading.Asked) -> Wanted:
    run_tags = {tags.REGRADE: asked.version, tags.COMPANY: str(asked.company_id), "dagster/priority": "-2"}
    config = run_config(regraded_skus={"only_open": True})
    return Wanted(f"{asked.version}/{asked.at:%Y%m%dT%H%M%S.%f}", run_tags, config)
