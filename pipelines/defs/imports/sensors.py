"""The sensor that asks for the run of each import that has none: where the API's own question was lost.

The API asks as soon as it has accepted a file (`api.launching`). What nobody asked for within some seconds, and what
has stalled (its run ended without it), is asked for here. A claim lets only one run have an import. One whose last run
a person has terminated is not asked for again: it is ended (`pipelines.defs.imports.terminated`).
"""

from datetime import timedelta
from typing import Final

import dagster as dg

from pipelines.defs.imports import terminated
from pipelines.defs.imports.jobs import import_file
from pipelines.engine import asking, tags
from pipelines.engine.jobs import run_config
from pipelines.engine.resources import Postgres, ServiceClock
from warehouse.clock import Clock
from warehouse.imports.queue import SMALL_ROWS, OpenImport, open_imports
from warehouse.sessions import Pool

_ASKED_FOR: Final = timedelta(seconds=4)
"""So long after a file was accepted its run is the API's to ask for."""
_LOST_AFTER: Final = timedelta(seconds=20)
"""A run that was recorded and not even launched or queued for so long was lost by the webserver; monitoring ends it."""
_UNFINISHED: Final = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


@asking.sensor(
    job=import_file,
    description="Requests a run for each import that waits or has stalled and that no unfinished run works on; "
    "ends those whose last run was terminated.",
)
def queued_imports(context: dg.SensorEvaluationContext, postgres: Postgres, clock: ServiceClock) -> dg.SensorResult:
    """One run request per open import without a run, by the number of the runs it has had."""
    with postgres.pool.system() as conn:
        waiting = open_imports(conn, clock.now(), asked_for=_ASKED_FOR)
    requested = [
        request
        for found in waiting
        if (request := _requested(context.instance, postgres.pool, clock.clock, found)) is not None
    ]
    return dg.SensorResult(
        run_requests=requested, dynamic_partitions_requests=asking.partitions_of(context.instance, requested)
    )


def _is_worked_on(record: dg.RunRecord) -> bool:
    if record.dagster_run.status == dg.DagsterRunStatus.NOT_STARTED:
        return Clock().now() - record.create_timestamp < _LOST_AFTER
    return record.dagster_run.status in _UNFINISHED


def _requested(instance: dg.DagsterInstance, pool: Pool, clock: Clock, found: OpenImport) -> dg.RunRequest | None:
    records = instance.get_run_records(dg.RunsFilter(job_name=import_file.name, tags={tags.IMPORT: str(found.id)}))
    if any(_is_worked_on(record) for record in records):
        return None
    if records and terminated.is_terminated(last := records[0].dagster_run):  # the newest comes first
        terminated.end_import(pool, clock, found.company_id, found.id, last.run_id)
        return None
    return dg.RunRequest(
        run_key=f"{found.id}/{len(records)}",
        partition_key=found.slug,
        run_config=run_config(uploaded_file={"import_id": str(found.id)}),
        tags={
            **tags.of_import(found.id, found.company_id, found.filename),
            **(tags.LARGE if found.rows_total > SMALL_ROWS else {}),
        },
    )
