"""Defines the op that sends a company's changes to its webhooks; the work itself is in `pipelines.webhooks`."""

import dagster as dg

from pipelines import webhooks
from pipelines.engine import tags
from pipelines.engine.interruption import interruptible
from pipelines.engine.partitions import company_of
from pipelines.engine.resources import Postgres, ServiceClock, Shutdown, WebhookSending
from pipelines.shown import preview
from pipelines.webhooks.deliver import TurnTaken


@dg.op(out=dg.Out(dg.Nothing))
def due_deliveries(
    context: dg.OpExecutionContext,
    postgres: Postgres,
    clock: ServiceClock,
    webhook_sending: WebhookSending,
    shutdown: Shutdown,
) -> None:
    """Send what is due; what a receiver does not take is tried again later, by another run."""
    company_id = company_of(postgres.pool, context.partition_key)
    with postgres.pool.company(company_id) as conn:
        named = preview.company(conn, company_id)
    tags.name_company(context, company_id, named["company"])
    with interruptible(context, shutdown.event) as proceed:
        try:
            outcomes = webhooks.deliver_due(postgres.pool, company_id, webhook_sending.sender, clock.clock, proceed)
        except TurnTaken:
            raise dg.Failure("Another run sends for this company; this one is requested again.") from None
        context.add_output_metadata({**named, **{f"messages_{outcome}": count for outcome, count in outcomes.items()}})
