"""Defines the job that sends a company's changes to its webhooks; the work itself is in `pipelines.webhooks`."""

from datetime import datetime

import dagster as dg

from pipelines import webhooks
from pipelines.engine import tags
from pipelines.engine.interruption import interruptible
from pipelines.engine.partitions import company_of_run, company_partitions
from pipelines.engine.resources import Postgres, ServiceClock, Shutdown, WebhookSending
from pipelines.engine.run_requests import WantedRun
from pipelines.webhooks.deliver import TurnTaken
from warehouse.sessions import Connection
from warehouse.webhooks import deliveries


@dg.op(out=dg.Out(dg.Nothing))
def due_deliveries(
    context: dg.OpExecutionContext,
    postgres: Postgres,
    clock: ServiceClock,
    webhook_sending: WebhookSending,
    shutdown: Shutdown,
) -> None:
    """Send what is due; what a receiver does not take is tried again later, by another run."""
    company_id, named = company_of_run(context, postgres.pool)
    with interruptible(context, shutdown.event) as proceed:
        try:
            outcomes = webhooks.deliver_due(postgres.pool, company_id, webhook_sending.sender, clock.clock, proceed)
        except TurnTaken:
            raise dg.Failure("Another run sends for this company; this one is requested again.") from None
        context.add_output_metadata({**named, **{f"messages_{outcome}": count for outcome, count in outcomes.items()}})


@dg.job(partitions_def=company_partitions, description="A company's changes, sent to its webhooks.")
def send_webhooks() -> None:
    """One op: each round of messages is recorded by itself."""
    due_deliveries()


def webhooks_due(conn: Connection, now: datetime) -> dict[str, WantedRun]:
    """Return one run for each company with changes to send: new ones, and those that are to be tried again."""
    found = deliveries.companies(conn, now)
    return {each.slug: WantedRun(each.work, {tags.COMPANY: str(each.company_id), **tags.FOLLOWED}) for each in found}
