"""The sensor that starts import runs through Dagster's own launchers, for deployments on several machines.

It is stopped by default: on one machine the warm worker does the same a hundred times faster (`pipelines.worker`).
Both may run at once; a claim lets only one of them have an import.
"""

import dagster as dg

from pipelines import tags
from pipelines.jobs import import_file, run_config
from pipelines.resources import Workshop
from pipelines.steps.imports.queue import open_imports


@dg.sensor(
    job=import_file, minimum_interval_seconds=5, default_status=dg.DefaultSensorStatus.STOPPED,
    description="Requests one run for each import that waits or has stalled. Not needed beside the warm worker.",
)  # fmt: skip
def queued_imports(workshop: dg.ResourceParam[Workshop]) -> dg.SensorResult:
    """One run request per open import, position and attempt: a stalled import is asked for again, a queued one once.

    The position is in the key because attempts begin anew with each committed chunk.
    """
    with workshop.pool.system() as conn:
        waiting = open_imports(conn, workshop.clock.now())
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                run_key=f"{found.id}/{found.position}/{found.attempts}",
                run_config=run_config("uploaded_file", {"import_id": str(found.id)}),
                tags=tags.of_import(found.id, found.company_id, found.filename),
            )
            for found in waiting
        ]
    )
