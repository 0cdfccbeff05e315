"""Companies published: a run of `publish_portfolio` for one, of `publish_together` for many.

Whoever publishes comes here: the command (`pipelines.runs.snapshot`) and the worker that follows writes
(`pipelines.following`). With a snapshot comes all that is computed from it.
"""

from collections.abc import Iterator, Sequence
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines.definitions import defs
from pipelines.jobs import run_config
from pipelines.partitions import companies, partition_of
from pipelines.resources import Workshop
from pipelines.steps.figures.keep import are_behind
from pipelines.tags import CODE_LOCATION, FIRST_COMPANY, FOLLOWED, read_company
from warehouse.snapshots import Snapshot, current

JOB: Final = "publish_portfolio"
TOGETHER: Final = "publish_together"
MANY: Final = 5
"""So many companies at once have one run together: a run of their own costs each more than its portfolio."""
AT_ONCE: Final = 50
"""The most of one run: for so long other workers leave them alone."""


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


def publish_companies(
    workshop: Workshop, instance: dg.DagsterInstance, company_ids: Sequence[UUID], *, followed: bool = False
) -> None:
    """Companies published in one run, whether they wrote (`followed`) or somebody asked.

    What went wrong is in its record: whose snapshot is the same as before was not published.
    """
    keys = [str(company_id) for company_id in company_ids]
    instance.add_dynamic_partitions(str(companies.name), keys)
    defs.resolve_job_def(TOGETHER).execute_in_process(
        run_config=run_config("published_companies", {"company_ids": keys}),
        instance=instance,
        tags={FIRST_COMPANY: keys[0], **(FOLLOWED if followed else {}), **CODE_LOCATION},
        resources={"workshop": workshop},
        raise_on_error=False,
    )


def publish_all(workshop: Workshop, instance: dg.DagsterInstance, company_ids: Sequence[UUID]) -> Iterator[Snapshot]:
    """The companies' new snapshots, a few by runs of their own, many together; for whoever asked for them.

    Raises `dagster.Failure`, after all others, where a company's was not published.
    """
    if len(company_ids) < MANY:
        for company_id in company_ids:
            snapshot = publish_company(workshop, instance, company_id)
            assert snapshot is not None  # else it was raised
            yield snapshot
        return
    broken = list[str]()
    for first in range(0, len(company_ids), AT_ONCE):
        together = company_ids[first : first + AT_ONCE]
        before = {company_id: current(workshop.data_dir, company_id) for company_id in together}
        publish_companies(workshop, instance, together)
        for company_id in together:
            snapshot = current(workshop.data_dir, company_id)
            if snapshot is None or snapshot == before[company_id] or are_behind(workshop.data_dir, company_id):
                broken.append(str(company_id))
            else:
                yield snapshot
    if broken:
        raise dg.Failure(f"Not published: {', '.join(broken)}. Their run in Dagster has each reason.")
