"""The sensor that has companies regraded: an activation or a release with newer rules has asked for it in the database.

Dagster starts a backfill from a sensor only by a class that is private, so these are runs of partitions, found by
their tag as one backfill is by its id (`pipelines.engine.tags.REGRADE`).
"""

from typing import Final

import dagster as dg

from pipelines import regrading
from pipelines.defs.catalogue.checks import held_by_older_rules
from pipelines.defs.regrading.jobs import regrade_portfolios
from pipelines.engine import asking, tags
from pipelines.engine.jobs import run_config
from pipelines.engine.partitions import added
from pipelines.engine.resources import Workshop
from warehouse.companies import slugs

LOOK_SECONDS: Final = 4


@dg.sensor(
    job=regrade_portfolios, minimum_interval_seconds=LOOK_SECONDS, default_status=dg.DefaultSensorStatus.RUNNING,
    description="Regrades each company whose regrade is asked for and not finished; says how many are left.",
)  # fmt: skip
def asked_regrades(context: dg.SensorEvaluationContext, workshop: dg.ResourceParam[Workshop]) -> dg.SensorResult:
    """One run request a company; what a run that was killed has done stays, and the next goes on there."""
    with workshop.pool.system() as conn:
        version = workshop.rulesets.active(conn).version
        waiting = {each.company_id: each for each in regrading.asked_of(conn)}
        named = slugs.of(conn, list(waiting))
    due = asking.due(context.instance, regrade_portfolios.name, named.values())
    left = f"{len(waiting)} by {version}"
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                run_key=f"{waiting[company_id].version}/{slug}/{waiting[company_id].at:%Y%m%dT%H%M%S.%f}"
                + asking.again(due[slug]),
                partition_key=slug,
                run_config=run_config("regraded_skus", {"only_open": True}),
                tags={
                    tags.REGRADE: waiting[company_id].version, tags.COMPANY: str(company_id), "dagster/priority": "-2",
                },
            )
            for company_id, slug in named.items() if slug in due
        ],
        dynamic_partitions_requests=added(context.instance, due),
        asset_events=[] if left == context.cursor else [
            dg.AssetCheckEvaluation(asset_key=dg.AssetKey("rule_set"), **held_by_older_rules(len(waiting), version)),
        ],
        cursor=left,
    )  # fmt: skip
