"""Defines the op that sends a company's due mails; the work itself is in `pipelines.mail`."""

import dagster as dg

from pipelines import mail
from pipelines.engine import tags
from pipelines.engine.interruption import interruptible
from pipelines.engine.partitions import company_of
from pipelines.engine.resources import Mailing, Postgres, ServiceClock, Shutdown
from pipelines.shown import preview


@dg.op(out=dg.Out(dg.Nothing))
def due_mails(
    context: dg.OpExecutionContext, postgres: Postgres, clock: ServiceClock, mailing: Mailing, shutdown: Shutdown
) -> None:
    """Send the company's due mails; what the mail server does not take is tried again later, by another run."""
    post = mailing.post
    if post is None:
        raise dg.Failure("PCDS_SMTP_URL is not set; nothing is mailed.", allow_retries=False)
    company_id = company_of(postgres.pool, context.partition_key)
    with postgres.pool.company(company_id) as conn:
        named = preview.company(conn, company_id)
    tags.name_company(context, company_id, named["company"])
    with interruptible(context, shutdown.event) as proceed:
        outcomes = mail.send_due(postgres.pool, company_id, post, clock.clock, proceed)
        context.add_output_metadata({**named, **{f"mails_{outcome}": count for outcome, count in outcomes.items()}})
