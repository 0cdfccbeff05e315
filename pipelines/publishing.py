"""Companies published: a run of `publish_portfolio` for one, of `publish_together` for many.

Whoever publishes comes here: the command (`pipelines.runs.snapshot`) and the worker that follows writes
(`pipelines.following`). With a snapshot comes all that is computed from it.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines.definitions import defs
from pipelines.jobs import run_config
from pipelines.partitions import companies, partition_of
from pipelines.resources import Workshop
from pipelines.tags import CODE_LOCATION, FIRST_COMPANY, FOLLOWED, read_company
from warehouse.snapshots import Snapshot

JOB: Final = "publish_portfolio"
TOGETHER: Final = "publish_together"


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
        tags={**read_company(workshop.pool, company_id), **(FOLLOWED if followed else {}), **CODE_LOCATION},
        resources={"workshop": workshop},
        raise_on_error=not followed,
    )
    if not result.success and not result.asset_materializations_for_node("portfolio_snapshot"):
        return None
    snapshot = result.output_for_node("portfolio_snapshot")
    assert isinstance(snapshot, Snapshot)
    return snapshot


def publish_companies(workshop: Workshop, instance: dg.DagsterInstance, company_ids: Sequence[UUID]) -> None:
    """Companies that wrote, all in one run; what went wrong is in its record."""
    keys = [str(company_id) for company_id in company_ids]
    instance.add_dynamic_partitions(str(companies.name), keys)
    defs.resolve_job_def(TOGETHER).execute_in_process(
        run_config=run_config("published_companies", {"company_ids": keys}),
        instance=instance,
        tags={FIRST_COMPANY: keys[0], **FOLLOWED, **CODE_LOCATION},
        resources={"workshop": workshop},
        raise_on_error=False,
    )
