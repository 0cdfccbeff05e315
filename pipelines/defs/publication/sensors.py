"""The sensors that have a company published again: after it wrote, or when its files are lost or behind.

Both ask about what is there. So nothing is forgotten, whichever process was killed, and nothing is asked for twice.
"""

from datetime import date, timedelta
from typing import Final

import dagster as dg

from pipelines.defs.publication.jobs import publish_portfolio
from pipelines.engine import asking, tags
from pipelines.engine.partitions import added
from pipelines.engine.resources import Workshop
from pipelines.figures.keep import are_behind
from warehouse.snapshots import follow
from warehouse.snapshots.follow import Published, Stale

LOOK_SECONDS: Final = 4
"""Less than the five seconds of the daemon's loop, which would else miss every second tick."""
IMPORTING_WAITS: Final = timedelta(seconds=15)
"""So long writes of a company wait that imports, because more of them come."""
LOST_SECONDS: Final = 60
"""How often it is looked whose files lack: one question and a small file or two for each company."""


@dg.sensor(
    job=publish_portfolio, minimum_interval_seconds=LOOK_SECONDS, default_status=dg.DefaultSensorStatus.RUNNING,
    description="Publishes each company that has written since its snapshot, or whose snapshot a new day changes.",
)  # fmt: skip
def written_portfolios(context: dg.SensorEvaluationContext, workshop: dg.ResourceParam[Workshop]) -> dg.SensorResult:
    """One run request per company and last write; the next waits until that run has ended."""
    workshop.pool.stamp()  # what a writer committed that never came back to say so
    now = workshop.clock.now()
    with workshop.pool.system() as conn:
        found = follow.stale(conn, now.date())
    waiting = {
        each.slug: each for each in found
        if not each.importing or each.since is None or each.since <= now - IMPORTING_WAITS
    }  # fmt: skip
    due = asking.due(context.instance, publish_portfolio.name, waiting)
    chosen = {slug: waiting[slug] for slug in due}
    return dg.SensorResult(
        run_requests=[
            _request(each, _state(each, now.date()) + asking.again(due[slug])) for slug, each in chosen.items()
        ],
        dynamic_partitions_requests=added(context.instance, chosen),
    )  # fmt: skip


@dg.sensor(
    job=publish_portfolio, minimum_interval_seconds=LOST_SECONDS, default_status=dg.DefaultSensorStatus.RUNNING,
    description="Publishes each company whose snapshot or figures are not in this data directory, or not whole.",
)  # fmt: skip
def lost_portfolios(context: dg.SensorEvaluationContext, workshop: dg.ResourceParam[Workshop]) -> dg.SensorResult:
    """A run was broken off or terminated half way, a file was lost, or a backup was put back."""
    with workshop.pool.system() as conn:
        found = follow.published(conn)
    lost = {
        each.slug: each for each in found
        if follow.is_astray(each, workshop.data_dir) or are_behind(workshop.data_dir, each.company_id)
    }  # fmt: skip
    due = asking.due(context.instance, publish_portfolio.name, lost)
    look = f"lost-{workshop.clock.now():%Y%m%dT%H%M}"
    return dg.SensorResult(
        run_requests=[_request(lost[slug], f"{lost[slug].position}/{look}") for slug in due],
        dynamic_partitions_requests=added(context.instance, due),
    )


def _request(found: Stale | Published, state: str) -> dg.RunRequest:
    return dg.RunRequest(
        run_key=f"{found.slug}/{state}",
        partition_key=found.slug,
        tags={tags.COMPANY: str(found.company_id), "dagster/priority": "-1", **tags.FOLLOWED},
        run_config={"loggers": {"console": {}}},
    )


def _state(found: Stale, today: date) -> str:
    """What is to be published: the last write, and since when; after a backup was put back numbers come again."""
    since = f"{today:%Y%m%d}" if found.since is None else f"{found.since:%Y%m%dT%H%M%S.%f}"
    return f"{found.position}/{since}"
