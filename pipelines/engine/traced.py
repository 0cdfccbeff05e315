"""Traces a run and its steps, as a part of the trace of the request that asked for it.

A request writes its place in the trace into the run's tags. A publication is asked for by a sensor, which sees that a
company has written, and not which request wrote: it continues the trace of the company's last import, where that is
newer than the publication before it. What belongs here: spans of runs. What does not: spans within a step, which the
step itself has.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import dagster as dg

from pipelines.engine import tags
from warehouse import tracing

_IMPORTS: Final = "import_file"


@contextmanager
def run(instance: dg.DagsterInstance, traced: dg.DagsterRun) -> Iterator[None]:
    """Trace the run that the block executes."""
    if not tracing.is_on():
        yield
        return
    attributes = {
        "pcds.run_id": traced.run_id,
        "pcds.company_id": traced.tags.get(tags.COMPANY),
        "pcds.import_id": traced.tags.get(tags.IMPORT),
    }
    parent = traced.tags.get(tags.TRACEPARENT) or _last_import(instance, traced)
    with tracing.span(f"run {traced.job_name}", attributes, kind="CONSUMER", parent=parent):
        try:
            yield
        finally:
            for step in instance.get_run_step_stats(traced.run_id):
                if step.start_time is not None and step.end_time is not None:
                    failed = step.status is not None and step.status.name == "FAILURE"
                    tracing.record(f"step {step.step_key}", step.start_time, step.end_time, failed=failed)


def _last_import(instance: dg.DagsterInstance, traced: dg.DagsterRun) -> str | None:
    """Return the trace of the import that a publication publishes; None where it follows other writes alone."""
    partition = traced.tags.get(tags.PARTITION)
    if partition is None or not tags.FOLLOWED.items() <= traced.tags.items():
        return None
    of_company = {tags.PARTITION: partition}
    imported = instance.get_run_records(dg.RunsFilter(job_name=_IMPORTS, tags=of_company), limit=1)
    before = instance.get_run_records(
        dg.RunsFilter(job_name=traced.job_name, tags=of_company, statuses=[dg.DagsterRunStatus.SUCCESS]), limit=1
    )
    if not imported or (before and before[0].create_timestamp > imported[0].update_timestamp):
        return None
    return imported[0].dagster_run.tags.get(tags.TRACEPARENT)
