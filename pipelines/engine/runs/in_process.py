"""Executes a command's run in the command's own process, under a lock, so that run monitoring sees that it lives.

Without the lock the daemon of a service that runs beside the command would take the run for one that lost its worker.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from uuid import uuid4

import dagster as dg

from pipelines.definitions import defs
from pipelines.engine.resources import Resources
from pipelines.engine.tags import CODE_LOCATION
from warehouse.launches import queries as launches
from warehouse.sessions import Pool


def run_in_this_process(
    job: str,
    resources: Resources,
    instance: dg.DagsterInstance,
    *,
    tags: Mapping[str, str],
    run_config: Mapping[str, object],
    partition: str | None,
    raise_on_error: bool,
) -> dg.DagsterRun:
    """Run the job to its end, with these resources in place of the declared ones."""
    with _locked_run_id(resources.postgres.pool) as run_id:
        result = defs.resolve_job_def(job).execute_in_process(
            run_id=run_id,
            run_config=run_config,
            partition_key=partition,
            instance=instance,
            tags={**CODE_LOCATION, **tags},
            resources=resources.as_definitions(),
            raise_on_error=raise_on_error,
        )
    ended = instance.get_run_by_id(result.run_id)
    assert ended is not None
    return ended


@contextmanager
def _locked_run_id(pool: Pool) -> Iterator[str]:
    """Yield the id of the run that the block executes."""
    run_id = str(uuid4())
    with pool.listening(launches.CANCELS) as connection:
        worker_id = launches.enrol(connection)
        launches.hold(connection, worker_id, run_id)
        yield run_id
        launches.end(connection, worker_id, run_id)
