"""Requests a run for exports that have none because the API's own request, or their run, was lost."""

from datetime import timedelta
from typing import Final

import dagster as dg

from pipelines.defs.exports.jobs import export_portfolio
from pipelines.engine import run_requests, tags
from pipelines.engine.resources import Postgres, ServiceClock
from pipelines.engine.run_requests import WantedRun
from warehouse.exports import claims
from warehouse.imports.queue import SMALL_ROWS

_ASKED_FOR: Final = timedelta(seconds=4)
"""How long after an export was asked for the request of its run is left to the API."""


@run_requests.sensor(
    job_name=export_portfolio.name,  # by its name: given the job, Dagster copies the sensor with parameters in beta
    description="Requests a run for exports that wait or have stalled and that no unfinished run of the company has.",
)
def queued_exports(context: dg.SensorEvaluationContext, postgres: Postgres, clock: ServiceClock) -> dg.SensorResult:
    """Request one run a company, which writes all of its waiting exports."""
    with postgres.pool.system() as conn:
        found = claims.companies(conn, clock.now(), asked_for=_ASKED_FOR)
    wanted = {
        each.slug: WantedRun(
            each.work, {tags.COMPANY: str(each.company_id), **(tags.LARGE if each.skus > SMALL_ROWS else {})}
        )
        for each in found
    }
    requests = run_requests.requests_of_companies(context.instance, export_portfolio.name, wanted)
    return dg.SensorResult(
        run_requests=requests, dynamic_partitions_requests=run_requests.partition_requests(context.instance, requests)
    )
