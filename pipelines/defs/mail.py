"""Defines the job that sends a company's due mails; the work itself is in `pipelines.mail`."""

from datetime import datetime

import dagster as dg

from pipelines import mail
from pipelines.engine import tags
from pipelines.engine.interruption import interruptible
from pipelines.engine.partitions import company_of_run, company_partitions
from pipelines.engine.resources import Mailing, Postgres, ServiceClock, Shutdown
from pipelines.engine.run_requests import WantedRun
from warehouse.review import mails
from warehouse.sessions import Connection


@dg.op(out=dg.Out(dg.Nothing))
def due_mails(
    context: dg.OpExecutionContext, postgres: Postgres, clock: ServiceClock, mailing: Mailing, shutdown: Shutdown
) -> None:
    """Send the company's due mails; what the mail server does not take is tried again later, by another run."""
    post = mailing.post
    if post is None:
        raise dg.Failure("PCDS_SMTP_URL is not set; nothing is mailed.", allow_retries=False)
    company_id, named = company_of_run(context, postgres.pool)
    with interruptible(context, shutdown.event) as proceed:
        outcomes = mail.send_due(postgres.pool, company_id, post, clock.clock, proceed)
        context.add_output_metadata({**named, **{f"mails_{outcome}": count for outcome, count in outcomes.items()}})


@dg.job(partitions_def=company_partitions, description="A company's due mails to suppliers, handed to the mail server.")
def send_mails() -> None:
    """One op: each mail is a transaction of its own."""
    due_mails()


def mails_due(conn: Connection, now: datetime) -> dict[str, WantedRun]:
    """Return one run for each company with mails that are due, or are to be tried again."""
    found = mails.companies(conn, now)
    return {each.slug: WantedRun(each.work, {tags.COMPANY: str(each.company_id), **tags.FOLLOWED}) for each in found}
