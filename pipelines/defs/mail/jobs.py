"""Defines the job that sends one company's due mails."""

import dagster as dg

from pipelines.defs.mail.ops import due_mails
from pipelines.engine.partitions import company_partitions


@dg.job(partitions_def=company_partitions, description="A company's due mails to suppliers, handed to the mail server.")
def send_mails() -> None:
    """One op: each mail is a transaction of its own."""
    due_mails()
