"""Defines the jobs by which a company's data leaves: exports as files, mails to suppliers, changes to webhooks.

The work is in `pipelines.exports`, `pipelines.suppliers` and `pipelines.changes`. The API requests a run for each
export.
Where that request or the run was lost, and for all else that is due, a sensor does (`pipelines.defs.sensors`).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines import changes, exports, suppliers
from pipelines.changes import TurnTaken
from pipelines.defs import op
from pipelines.engine import tags
from pipelines.engine.resources import Resources
from pipelines.engine.schedules import WantedRun
from pipelines.engine.tags import company_of_run, company_partitions
from pipelines.operate import Proceed
from warehouse import exports as exports_warehouse
from warehouse.changes import webhooks as webhooks_changes
from warehouse.imports.claims import SMALL_ROWS
from warehouse.operate.sessions import Connection
from warehouse.suppliers import companies_with_due_mails

_ASKED_FOR: Final = timedelta(seconds=4)
"""How long after an export was asked for the request of its run is left to the API."""


@op("postgres", "object_store", "clock", "portfolios")
def waiting_exports(context: dg.OpExecutionContext, resources: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Write the files of the company's waiting exports; a run that finds none has nothing to do."""
    company_id, named = company_of_run(context, resources.postgres)
    place = exports.Place(resources.postgres, resources.object_store, resources.clock, resources.portfolios, company_id)
    outcomes = exports.export_waiting(place, UUID(context.run.run_id), proceed)
    return {**named, **{f"exports_{outcome}": count for outcome, count in outcomes.items()}}


@op("postgres", "clock", "settings")
def due_mails(context: dg.OpExecutionContext, resources: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Send the company's due mails; what the mail server does not take is tried again later, by another run.

    Where no mail server is set, as a person may start this by hand, the run says so and the mails stay due.
    """
    company_id, named = company_of_run(context, resources.postgres)
    post = suppliers.Post.of(resources.settings)
    if post is None:
        return {**named, "nothing_sent": "Nothing is mailed: PCDS_SMTP_URL is not set."}
    outcomes = suppliers.send_due(resources.postgres, company_id, post, resources.clock, proceed)
    return {**named, **{f"mails_{outcome}": count for outcome, count in outcomes.items()}}


@op("postgres", "clock", "settings")
def due_deliveries(context: dg.OpExecutionContext, resources: Resources, proceed: Proceed) -> Mapping[str, object]:
    """Send what is due; what a receiver does not take is tried again later, by another run."""
    company_id, named = company_of_run(context, resources.postgres)
    sender = changes.Sender.of(resources.settings)
    try:
        outcomes = changes.deliver_due(resources.postgres, company_id, sender, resources.clock, proceed)
    except TurnTaken:
        raise dg.Failure("Another run sends for this company; this one is requested again.") from None
    return {**named, **{f"messages_{outcome}": count for outcome, count in outcomes.items()}}


@dg.job(partitions_def=company_partitions, description="A company's exports that were asked for, each as a file.")
def export_portfolio() -> None:
    """One op: each export is claimed, written and ended by itself."""
    waiting_exports()


@dg.job(partitions_def=company_partitions, description="A company's due mails to suppliers, handed to the mail server.")
def send_mails() -> None:
    """One op: each mail is a transaction of its own."""
    due_mails()


@dg.job(partitions_def=company_partitions, description="A company's changes, sent to its webhooks.")
def send_webhooks() -> None:
    """One op: each round of messages is recorded by itself."""
    due_deliveries()


def queued_exports(conn: Connection, now: datetime) -> dict[str, WantedRun]:
    """Return one run for each company whose exports wait or have stalled; it writes all of them."""
    return {
        each.slug: WantedRun(
            each.work, {tags.COMPANY: str(each.company_id), **(tags.LARGE if each.skus > SMALL_ROWS else {})}
        )
        for each in exports_warehouse.companies(conn, now, asked_for=_ASKED_FOR)
    }


def mails_due(conn: Connection, now: datetime) -> dict[str, WantedRun]:
    """Return one run for each company with mails that are due, or are to be tried again."""
    found = companies_with_due_mails(conn, now)
    return {each.slug: WantedRun(each.work, {tags.COMPANY: str(each.company_id), **tags.FOLLOWED}) for each in found}


def webhooks_due(conn: Connection, now: datetime) -> dict[str, WantedRun]:
    """Return one run for each company with changes to send: new ones, and those that are to be tried again."""
    found = webhooks_changes.companies(conn, now)
    return {each.slug: WantedRun(each.work, {tags.COMPANY: str(each.company_id), **tags.FOLLOWED}) for each in found}
