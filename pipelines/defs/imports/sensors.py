"""Requests a run for each import that has none because the API's own request was lost.

The API requests a run as soon as it has accepted a file (`api.launching`). This sensor requests one for imports without
a run after some seconds, and for stalled ones, whose run ended without them, or is with a worker that lives and hangs:
that run is ended. A claim lets only one run have an import.
While the machine lacks the place for it, an import waits: the more runs it has had, the longer until the next.
An import whose last run a person has terminated is ended instead (`pipelines.defs.imports.claimed`).
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines.defs.imports import claimed
from pipelines.defs.imports.jobs import import_file
from pipelines.engine import run_requests, tags
from pipelines.engine.jobs import import_config
from pipelines.engine.resources import Postgres, ServiceClock
from warehouse.clock import Clock
from warehouse.imports import claims
from warehouse.imports.queue import SMALL_ROWS, OpenImport, open_imports
from warehouse.launches import queries as launches
from warehouse.sessions import Pool

_ASKED_FOR: Final = timedelta(seconds=4)
"""How long after a file was accepted the request of its run is left to the API."""
_LOST_AFTER: Final = timedelta(seconds=20)
"""A run recorded for this long, but neither launched nor queued, was lost by the webserver; monitoring ends it."""


_LONGEST_PAUSE_SECONDS: Final = 60
"""The most that an import waits between two runs: a disk may be full for hours, and is then free again."""


@run_requests.sensor(
    job=import_file,
    description="Requests a run for each import that waits or has stalled and that no unfinished run works on; "
    "ends those whose last run was terminated.",
)
def queued_imports(context: dg.SensorEvaluationContext, postgres: Postgres, clock: ServiceClock) -> dg.SensorResult:
    """Request one run per open import without a run; the run key counts the runs it has had."""
    with postgres.pool.system() as conn:
        waiting = open_imports(conn, clock.now(), asked_for=_ASKED_FOR)
    requested = [
        request
        for found in waiting
        if (request := _requested(context.instance, postgres.pool, clock.clock, found)) is not None
    ]
    idle = f"{len(waiting)} imports wait, and a run works on each, or it is to be tried again later."
    return dg.SensorResult(
        run_requests=requested,
        dynamic_partitions_requests=run_requests.partition_requests(context.instance, requested),
        skip_reason=None if requested else idle if waiting else "No import waits.",
    )


def _is_worked_on(record: dg.RunRecord) -> bool:
    if record.dagster_run.status == dg.DagsterRunStatus.NOT_STARTED:
        return Clock().now() - record.create_timestamp < _LOST_AFTER
    return record.dagster_run.status in run_requests.UNDER_WAY


def _is_hung(instance: dg.DagsterInstance, pool: Pool, clock: Clock, found: OpenImport, run: dg.DagsterRun) -> bool:
    """Return whether the run's worker lives and has stopped sending heartbeats; the run is then ended.

    A process that is stopped keeps its lock, by which run monitoring takes it for a working one. What it goes on to
    write when it wakes up is refused, for want of the claim.
    """
    with pool.system() as conn:
        if launches.state(conn, run.run_id) != "running":
            return False
    if not claims.take_away(pool, clock, found.company_id, found.id, UUID(run.run_id)):
        return False
    with pool.system() as conn:
        launches.give_up(conn, run.run_id)
    instance.report_run_failed(run, "Its worker sends no heartbeats any more; another run continues the import.")
    return True


def _waits(records: Sequence[dg.RunRecord]) -> bool:
    """Return whether the newest run ended too shortly before for another one: the second one comes at once."""
    if len(records) < 2:
        return False
    pause = min(2 ** (len(records) - 1), _LONGEST_PAUSE_SECONDS)
    return (
        timedelta(0) <= Clock().now() - records[0].update_timestamp < timedelta(seconds=pause)
    )  # no jump of the clock


def _requested(instance: dg.DagsterInstance, pool: Pool, clock: Clock, found: OpenImport) -> dg.RunRequest | None:
    records = instance.get_run_records(dg.RunsFilter(job_name=import_file.name, tags={tags.IMPORT: str(found.id)}))
    for record in records:
        if _is_worked_on(record) and not _is_hung(instance, pool, clock, found, record.dagster_run):
            return None
    if records and claimed.is_terminated(last := records[0].dagster_run):  # the newest comes first
        claimed.end_import(pool, clock, found.company_id, found.id, last.run_id)
        return None
    if _waits(records):
        return None
    return dg.RunRequest(
        run_key=f"{found.id}/{len(records)}",
        partition_key=found.slug,
        run_config=import_config(found.id),
        tags={
            **tags.of_import(found.id, found.company_id, found.filename),
            **(tags.LARGE if found.rows_total > SMALL_ROWS else {}),
        },
    )
