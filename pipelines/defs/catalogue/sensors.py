"""Watches for another active version of the rules and for a missed daily refresh of the catalogue."""

from typing import Final

import dagster as dg

from pipelines.defs.catalogue.assets import VERSION, rule_set
from pipelines.defs.catalogue.jobs import read_rule_set
from pipelines.defs.catalogue.schedules import BY_SCHEDULE
from pipelines.engine import run_requests
from pipelines.engine.daily import missed_tick_sensor
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Postgres, RuleSets

missed_catalogue: Final = missed_tick_sensor("refresh_catalogue", BY_SCHEDULE)


@run_requests.sensor(
    job=read_rule_set,
    description="Has the asset rule_set read anew when an operator or a release has another version grade.",
)
def active_rules(
    context: dg.SensorEvaluationContext, postgres: Postgres, rule_sets: RuleSets
) -> dg.SensorResult | dg.SkipReason:
    """Request a run where Dagster's latest materialization has another version."""
    with postgres.pool.system() as conn:
        version = rule_sets.registry.active(conn).version
    latest = context.instance.get_latest_materialization_event(rule_set.key)
    reported = latest.asset_materialization if latest is not None else None
    if reported is not None and reported.metadata[VERSION].value == version:
        return dg.SkipReason(f"{version} grades, as Dagster knows.")
    due = run_requests.due_partitions(context.instance, read_rule_set.name, [run_requests.UNPARTITIONED])
    before = "none" if latest is None else f"{latest.timestamp:.0f}"
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(run_key=f"{version}/{before}{run_requests.retry_suffix(failures)}", run_config=run_config())
            for failures in due.values()
        ]
    )
