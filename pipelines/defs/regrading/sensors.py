"""Requests regrades that an activation or a release with newer rules has recorded in the database.

Dagster starts a backfill from a sensor only by a private class, so these are runs of partitions, found by their tag as
a backfill's runs are by its id (`pipelines.engine.tags.REGRADE`).
"""

import dagster as dg

from pipelines import regrading
from pipelines.defs.catalogue.checks import older_rules_verdict
from pipelines.defs.regrading.jobs import regrade_portfolios
from pipelines.engine import run_requests, tags
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Postgres, RuleSets
from pipelines.engine.run_requests import WantedRun
from warehouse.companies import slugs


@run_requests.sensor(
    job=regrade_portfolios,
    description="Regrades each company whose regrade is asked for and not finished; says how many are left.",
)
def asked_regrades(context: dg.SensorEvaluationContext, postgres: Postgres, rule_sets: RuleSets) -> dg.SensorResult:
    """Request one run a company; work of a run that was killed stays, and the next run continues there.

    A company that a backfill or a person regrades now is left to that run.
    """
    with postgres.pool.system() as conn:
        version = rule_sets.registry.active(conn).version
        waiting = regrading.asked_of(conn)
        named = slugs.of(conn, [each.company_id for each in waiting])
    wanted = {named[each.company_id]: _wanted_run(each) for each in waiting}
    for taken in run_requests.being_materialised(context.instance, "regraded_skus", wanted):
        del wanted[taken]
    requests = run_requests.requests_of_companies(context.instance, regrade_portfolios.name, wanted)
    left = f"{len(waiting)} by {version}"
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=run_requests.partition_requests(context.instance, requests),
        asset_events=[]
        if left == context.cursor
        else [
            dg.AssetCheckEvaluation(asset_key=dg.AssetKey("rule_set"), **older_rules_verdict(len(waiting), version)),
        ],
        cursor=left,
    )


def _wanted_run(request: regrading.Asked) -> WantedRun:
    run_tags = {tags.REGRADE: request.version, tags.COMPANY: str(request.company_id), "dagster/priority": "-2"}
    config = run_config(regraded_skus={"only_open": True})
    return WantedRun(f"{request.version}/{request.at:%Y%m%dT%H%M%S.%f}", run_tags, config)
