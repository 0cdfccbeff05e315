"""Watches for companies to publish again: after they wrote, or when their files are lost or out of date.

Both sensors look at the current state. So no company is forgotten when a process is killed, and none is requested
twice.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final

import dagster as dg

from pipelines.defs.imports.jobs import import_file
from pipelines.defs.publication.jobs import publish_portfolio
from pipelines.engine import run_requests, tags
from pipelines.engine.resources import Portfolios, Postgres, ServiceClock
from pipelines.engine.run_requests import WantedRun
from pipelines.figures.keep import are_behind
from warehouse.clock import Clock
from warehouse.snapshots import follow
from warehouse.snapshots.follow import Published, Stale

WRITE_QUIET_TIME: Final = timedelta(seconds=8)
"""How long a write waits for further writes: a publication beside the next import would slow that import."""
WAIT_WHILE_IMPORTING: Final = timedelta(seconds=20)
"""The longest that writes wait while files are imported: more writes come, and imports need the machine."""
WAIT_WHILE_MIGRATING: Final = timedelta(seconds=60)
"""The same for a company that sends file after file: its portfolio would be read anew beside each next file."""
LARGE_PORTFOLIO_SKUS: Final = 5_000
"""From how many SKUs on a publication keeps a worker busy for more than a second."""
NEXT_FILE_WITHIN: Final = timedelta(seconds=4)
"""How soon after an import another one counts as following it: its file is being uploaded meanwhile."""
LOST_SECONDS: Final = 60
"""How often the sensor looks for missing files: one query, and a small file or two for each company."""


@run_requests.sensor(
    job=publish_portfolio,
    description="Publishes each company that has written since its snapshot, or whose snapshot a new day changes.",
)
def written_portfolios(context: dg.SensorEvaluationContext, postgres: Postgres, clock: ServiceClock) -> dg.SensorResult:
    """Request one run per company and last write; the next waits until that run has ended."""
    postgres.pool.stamp()  # stamps committed writes whose writer ended before it could
    now = clock.now()
    with postgres.pool.system() as conn:
        stale = follow.stale(conn, now.date())
    importing = bool(stale) and _are_importing(context.instance)
    return _publication_requests(
        context.instance,
        {
            each.slug: _wanted_run(each, _state(each, now.date()), large=each.skus >= LARGE_PORTFOLIO_SKUS)
            for each in stale
            if each.since is None or each.since <= now - _wait(each, importing=importing)
        },
    )


@run_requests.sensor(
    job=publish_portfolio,
    minimum_interval_seconds=LOST_SECONDS,
    description="Publishes each company whose snapshot or figures are not in this data directory, or not whole.",
)
def lost_portfolios(
    context: dg.SensorEvaluationContext, postgres: Postgres, clock: ServiceClock, portfolios: Portfolios
) -> dg.SensorResult:
    """Request a run where one was broken off or terminated, a file was lost, or a backup was restored."""
    with postgres.pool.system() as conn:
        found = follow.published(conn)
    minute = f"lost-{clock.now():%Y%m%dT%H%M}"
    return _publication_requests(
        context.instance,
        {
            each.slug: _wanted_run(each, f"{each.position}/{minute}")
            for each in found
            if follow.is_astray(each, portfolios.folder) or are_behind(portfolios.folder, each.company_id)
        },
    )


def _wait(found: Stale, *, importing: bool) -> timedelta:
    """Return how old the oldest write of a company must be; `importing`: files of any company are imported now."""
    if not (importing or found.importing):
        return WRITE_QUIET_TIME
    return WAIT_WHILE_MIGRATING if found.importing or found.imported else WAIT_WHILE_IMPORTING


def _are_importing(instance: dg.DagsterInstance) -> bool:
    """Return whether an import of any company is under way or has just ended."""
    just_ended = dg.RunsFilter(job_name=import_file.name, updated_after=Clock().now() - NEXT_FILE_WITHIN)
    under_way = dg.RunsFilter(job_name=import_file.name, statuses=run_requests.UNDER_WAY)
    return any(instance.get_run_records(wanted, limit=1) for wanted in (just_ended, under_way))


def _publication_requests(instance: dg.DagsterInstance, wanted: Mapping[str, WantedRun]) -> dg.SensorResult:
    requests = run_requests.requests_of_companies(instance, publish_portfolio.name, wanted)
    return dg.SensorResult(
        run_requests=requests, dynamic_partitions_requests=run_requests.partition_requests(instance, requests)
    )


def _wanted_run(found: Stale | Published, state: str, *, large: bool = False) -> WantedRun:
    size = tags.LARGE_PUBLICATION if large else {}
    return WantedRun(state, {tags.COMPANY: str(found.company_id), "dagster/priority": "-1", **tags.FOLLOWED, **size})


def _state(found: Stale, today: date) -> str:
    """Identify the write to publish by position and time; after a backup is restored, positions occur again."""
    since = f"{today:%Y%m%d}" if found.since is None else f"{found.since:%Y%m%dT%H%M%S.%f}"
    return f"{found.position}/{since}"
