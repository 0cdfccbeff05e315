"""Defines the job that sends one company's changes to its webhooks."""

import dagster as dg

from pipelines.defs.webhooks.ops import due_deliveries
from pipelines.engine.partitions import company_partitions


@dg.job(partitions_def=company_partitions, description="A company's changes, sent to its webhooks.")
def send_webhooks() -> None:
    """One op: each round of messages is recorded by itself."""
    due_deliveries()
