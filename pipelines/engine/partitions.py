"""Partitions assets by company, each partition named by the company's slug.

A slug is a column of the database (`companies.slug`): readable, unique and never changed. A partition is added when its
company is first worked on; Dagster keeps it until somebody removes it there.
"""

from datetime import datetime
from typing import Any, ClassVar, Final  # Any: Dagster's own signature
from uuid import UUID

import dagster as dg

from pipelines.engine import tags
from pipelines.shown import preview
from warehouse.companies import slugs
from warehouse.sessions import Pool


class _Companies(dg.DynamicPartitionsDefinition):
    """Dynamic partitions that a process caches: Dagster looks one up some sixty times a run, a query each time."""

    _known: ClassVar[set[str]] = set()

    def has_partition_key(
        self, partition_key: str, current_time: datetime | None = None, dynamic_partitions_store: Any = None
    ) -> bool:
        """Return whether the company has its partition; only new processes notice a partition that somebody removed."""
        if partition_key in self._known:
            return True
        found = super().has_partition_key(partition_key, current_time, dynamic_partitions_store)
        if found:
            self._known.add(partition_key)
        return found


company_partitions: Final = _Companies(name="companies")


def partition_of(instance: dg.DagsterInstance, pool: Pool, company_id: UUID) -> str:
    """Return the company's partition, and add it where it is missing."""
    with pool.system() as conn:
        slug = slugs.of(conn, [company_id])[company_id]
    instance.add_dynamic_partitions("companies", [slug])
    return slug


def company_of(pool: Pool, slug: str) -> UUID:
    """Return the company of a partition. Raises `dagster.Failure` where no company has the name."""
    with pool.system() as conn:
        company_id = slugs.company(conn, slug)
    if company_id is None:
        raise dg.Failure(f"There is no company {slug}; `pcds company list` shows those there are.", allow_retries=False)
    return company_id


def company_of_run(
    context: dg.AssetExecutionContext | dg.OpExecutionContext, pool: Pool
) -> tuple[UUID, dict[str, str]]:
    """Return the company of a run, and what the run shows of it; a run that the UI started gets its tags too."""
    company_id = company_of(pool, context.partition_key)
    with pool.company(company_id) as conn:
        shown = preview.company(conn, company_id)
    if tags.COMPANY_NAME not in context.run.tags:
        context.instance.add_run_tags(context.run.run_id, tags.of_company(company_id, shown["company"]))
    return company_id, shown
