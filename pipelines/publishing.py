"""One company published: a run of `publish_portfolio`, with all that is computed from the snapshot.

Whoever publishes comes here: the command (`pipelines.runs.snapshot`) and the worker that follows writes
(`pipelines.following`).
"""

from typing import Final
from uuid import UUID

import dagster as dg

from pipelines.definitions import defs
from pipelines.partitions import partition_of
from pipelines.resources import Workshop
from pipelines.tags import CODE_LOCATION, COMPANY, FOLLOWED
from warehouse.snapshots import Snapshot

JOB: Final = "publish_portfolio"


def publish_company(
    workshop: Workshop, instance: dg.DagsterInstance, company_id: UUID, *, followed: bool = False
) -> Snapshot | None:
    """The company's new snapshot.

    Where somebody asked for it, what went wrong is raised. Where it `followed` a write, None says that the run failed
    before there was a snapshot; its record has the reason.
    """
    result = defs.resolve_job_def(JOB).execute_in_process(
        run_config={"loggers": {"console": {}}},
        partition_key=partition_of(instance, company_id),
        instance=instance,
        tags={COMPANY: str(company_id), **(FOLLOWED if followed else {}), **CODE_LOCATION},
        resources={"workshop": workshop},
        raise_on_error=not followed,
    )
    if not result.success and not result.asset_materializations_for_node("portfolio_snapshot"):
        return None
    snapshot = result.output_for_node("portfolio_snapshot")
    assert isinstance(snapshot, Snapshot)
    return snapshot
