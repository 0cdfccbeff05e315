"""Watches for changes that webhooks are to be sent."""

import dagster as dg

from pipelines.defs.webhooks.jobs import send_webhooks
from pipelines.engine import run_requests, tags
from pipelines.engine.resources import Postgres, ServiceClock
from pipelines.engine.run_requests import WantedRun
from warehouse.webhooks import deliveries


@run_requests.sensor(
    job_name=send_webhooks.name,  # by its name: given the job, Dagster copies the sensor with parameters in beta
    description="Sends changes to webhooks: new ones, and those that are to be tried again.",
)
def webhooks_due(context: dg.SensorEvaluationContext, postgres: Postgres, clock: ServiceClock) -> dg.SensorResult:
    """Request one run a company."""
    with postgres.pool.system() as conn:
        found = deliveries.companies(conn, clock.now())
    requests = run_requests.requests_of_companies(
        context.instance,
        send_webhooks.name,
        {each.slug: WantedRun(each.work, {tags.COMPANY: str(each.company_id), **tags.FOLLOWED}) for each in found},
    )
    return dg.SensorResult(
        run_requests=requests, dynamic_partitions_requests=run_requests.partition_requests(context.instance, requests)
    )
