"""Defines the jobs by which a company's data leaves: exports as files, mails to suppliers, changes to webhooks.

The work is in `pipelines.exports`, `pipelines.suppliers` and `pipelines.changes`. The API requests a run for each
export. Where that request or the run was lost, and for all else that is due, a sensor does (`pipelines.defs.sensors`).
"""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines import changes, exports, suppliers
from pipelines.changes import TurnTaken
from pipelines.defs import op
from pipelines.engine.resources import Resources
from pipelines.engine.runs import company_of_run, company_partitions
from pipelines.operate import Proceed


@op("postgres", "object_store", "clock", "portfolios")
def waiting_exports(context: dg.OpExecutionContext, resources: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Write the files of the company's waiting exports; a run that finds none has nothing to do."""
    company_id, about = company_of_run(context, resources.postgres)
    place = exports.Place(resources.postgres, resources.object_store, resources.clock, resources.portfolios, company_id)
    outcomes = exports.export_waiting(place, UUID(context.run.run_id), proceed)
    return {**about, **{f"exports_{outcome}": count for outcome, count in outcomes.items()}}


@op("postgres", "clock", "settings")
def due_mails(context: dg.OpExecutionContext, resources: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Send the company's due mails; what the mail server does not take is tried again later, by another run.

    Where no mail server is set, as a person may start this by hand, the run says so and the mails stay due.
    """
    company_id, about = company_of_run(context, resources.postgres)
    post = suppliers.Post.from_settings(resources.settings)
    if post is None:
        return {**about, "nothing_sent": "Nothing is mailed: PCDS_SMTP_URL is not set."}
    outcomes = suppliers.send_due(resources.postgres, company_id, post, resources.clock, proceed)
    return {**about, **{f"mails_{outcome}": count for outcome, count in outcomes.items()}}


@op("postgres", "clock", "settings")
def due_deliveries(context: dg.OpExecutionContext, resources: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Send what is due; what a receiver does not take is tried again later, by another run."""
    company_id, about = company_of_run(context, resources.postgres)
    sender = changes.Sender.from_settings(resources.settings)
    try:
        outcomes = changes.deliver_due(resources.postgres, company_id, sender, resources.clock, proceed)
    except TurnTaken:
        raise dg.Failure("Another run sends for this company; this one is requested again.") from None
    return {**about, **{f"messages_{outcome}": count for outcome, count in outcomes.items()}}


export_portfolio: Final = dg.GraphDefinition("export_portfolio", node_defs=[waiting_exports]).to_job(
    description="A company's exports that were asked for, each as a file.",
    partitions_def=company_partitions,
)
send_mails: Final = dg.GraphDefinition("send_mails", node_defs=[due_mails]).to_job(
    description="A company's due mails to suppliers, handed to the mail server.",
    partitions_def=company_partitions,
)
send_webhooks: Final = dg.GraphDefinition("send_webhooks", node_defs=[due_deliveries]).to_job(
    description="A company's changes, sent to its webhooks.",
    partitions_def=company_partitions,
)
