"""Watches for mails that are due."""

import dagster as dg

from pipelines.defs.mail.jobs import send_mails
from pipelines.engine import run_requests, tags
from pipelines.engine.resources import Mailing, Postgres, ServiceClock
from pipelines.engine.run_requests import WantedRun
from warehouse.review import mails


@run_requests.sensor(
    minimum_interval_seconds=15,
    job_name=send_mails.name,  # by its name: given the job, Dagster copies the sensor with parameters that are in beta
    description="Sends the mails to suppliers that are due, or to be tried again.",
)
def mails_due(
    context: dg.SensorEvaluationContext, postgres: Postgres, clock: ServiceClock, mailing: Mailing
) -> dg.SensorResult | dg.SkipReason:
    """Request one run a company; without a mail server nothing is requested, and the mails wait."""
    if mailing.post is None:
        return dg.SkipReason("PCDS_SMTP_URL is not set; nothing is mailed.")
    with postgres.pool.system() as conn:
        found = mails.companies(conn, clock.now())
    requests = run_requests.requests_of_companies(
        context.instance,
        send_mails.name,
        {each.slug: WantedRun(each.work, {tags.COMPANY: str(each.company_id), **tags.FOLLOWED}) for each in found},
    )
    return dg.SensorResult(
        run_requests=requests, dynamic_partitions_requests=run_requests.partition_requests(context.instance, requests)
    )
