"""Defines the job that writes a company's waiting exports; the work itself is in `pipelines.exports`.

The API requests a run for each. Where that request, or the run, was lost, a sensor does (`pipelines.defs.sensors`).
"""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines import exports
from pipelines.engine import tags
from pipelines.engine.interruption import interruptible
from pipelines.engine.partitions import company_of_run, company_partitions
from pipelines.engine.resources import ObjectStore, Portfolios, Postgres, ServiceClock, Shutdown
from pipelines.engine.run_requests import WantedRun
from pipelines.exports import Place
from warehouse.exports import claims
from warehouse.imports.queue import SMALL_ROWS
from warehouse.sessions import Connection

_ASKED_FOR: Final = timedelta(seconds=4)
"""How long after an export was asked for the request of its run is left to the API."""


@dg.op(out=dg.Out(dg.Nothing))
def waiting_exports(
    context: dg.OpExecutionContext,
    *,
    postgres: Postgres,
    object_store: ObjectStore,
    clock: ServiceClock,
    portfolios: Portfolios,
    shutdown: Shutdown,
) -> None:
    """Write the files of the company's waiting exports; a run that finds none has nothing to do."""
    company_id, named = company_of_run(context, postgres.pool)
    place = Place(postgres.pool, object_store.objects, clock.clock, portfolios.folder, company_id)
    with interruptible(context, shutdown.event) as proceed:
        outcomes = exports.export_waiting(place, UUID(context.run.run_id), proceed)
        context.add_output_metadata({**named, **{f"exports_{outcome}": count for outcome, count in outcomes.items()}})


@dg.job(partitions_def=company_partitions, description="A company's exports that were asked for, each as a file.")
def export_portfolio() -> None:
    """One op: each export is claimed, written and ended by itself."""
    waiting_exports()


def queued_exports(conn: Connection, now: datetime) -> dict[str, WantedRun]:
    """Return one run for each company whose exports wait or have stalled; it writes all of them."""
    return {
        each.slug: WantedRun(
            each.work, {tags.COMPANY: str(each.company_id), **(tags.LARGE if each.skus > SMALL_ROWS else {})}
        )
        for each in claims.companies(conn, now, asked_for=_ASKED_FOR)
    }
