"""Finds out about a run: its company and partition, who asked for it, whether a person ended it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, TypeAlias  # Any: Dagster's own signature
from uuid import UUID

import dagster as dg

from pipelines.engine import tags
from warehouse.companies import queries
from warehouse.operate.sessions import Pool


class _Companies(dg.DynamicPartitionsDefinition):
    """Dynamic partitions that a process caches: Dagster looks one up some sixty times a run, a query each time."""

    _known: ClassVar[set[str]] = set()

    def has_partition_key(
        self, partition_key: str, current_time: datetime | None = None, dynamic_partitions_store: Any = None
    ) -> bool:
        """Return whether the company has its partition; only new processes notice a partition that somebody removed."""
        if partition_key in self._known:
            return True
        is_there = super().has_partition_key(partition_key, current_time, dynamic_partitions_store)
        if is_there:
            self._known.add(partition_key)
        return is_there

    def get_partition_keys_in_range(self, partition_key_range: dg.PartitionKeyRange) -> Sequence[str]:
        """Return the partitions of a range; one alone is returned unseen: `company_of` refuses it with a sentence."""
        first, last = partition_key_range
        return [first] if first == last else super().get_partition_keys_in_range(partition_key_range)


company_partitions: Final = _Companies(name="companies")


def partition_of(instance: dg.DagsterInstance, pool: Pool, company_id: UUID) -> str:
    """Return the company's partition, and add it where it is missing."""
    with pool.system() as conn:
        slug = queries.slug_of(conn, [company_id])[company_id]
    instance.add_dynamic_partitions("companies", [slug])
    return slug


Context: TypeAlias = dg.AssetExecutionContext | dg.AssetCheckExecutionContext | dg.OpExecutionContext


def company_of(pool: Pool, context: Context) -> UUID:
    """Return the company of a run's partition. Raises `dagster.Failure` where it has none, or no company has the name.

    Whoever launches a run by hand may leave its partition out, or write one that is none.
    """
    if not context.has_partition_key:
        raise dg.Failure("This run is of no company; launch it again and choose a partition.", allow_retries=False)
    with pool.system() as conn:
        company_id = queries.company(conn, context.partition_key)
    if company_id is None:
        sentence = f"There is no company {context.partition_key}; choose a partition that Dagster lists."
        raise dg.Failure(sentence, allow_retries=False)
    return company_id


def company_of_run(
    context: dg.AssetExecutionContext | dg.OpExecutionContext, pool: Pool
) -> tuple[UUID, dict[str, str]]:
    """Return the company of a run, and what the run shows of it; a run that the UI started gets its tags too."""
    company_id = company_of(pool, context)
    name = name_of(pool, company_id)
    if tags.COMPANY_NAME not in context.run.tags:
        context.instance.add_run_tags(context.run.run_id, tags.of_company(company_id, name))
    return company_id, {"company": name, "company_id": str(company_id)}


def name_of(pool: Pool, company_id: UUID) -> str:
    """Return a company's name, for people; none where it has been removed."""
    with pool.company(company_id) as conn:
        row = queries.find_company(conn, company_id)
    return row[0] if row else ""


def name_actor(instance: dg.DagsterInstance, submitted: dg.SubmitRunContext) -> dg.SubmitRunContext:
    """Return the submission with the run tagged with who asked for it, whatever the request itself says."""
    run, actor_tag = submitted.dagster_run, tags.by_actor(submitted.get_request_header)
    if actor_tag.items() <= run.tags.items():
        return submitted
    instance.add_run_tags(run.run_id, actor_tag)
    return submitted._replace(dagster_run=run.with_tags({**run.tags, **actor_tag}))


def is_terminated(run: dg.DagsterRun) -> bool:
    """Return whether a person has requested the run's end, or has marked a run that no worker had as canceled.

    Runs without an origin are of `pcds`, and ended as canceled with their process.
    """
    marked = run.status == dg.DagsterRunStatus.CANCELED and run.job_code_origin is not None
    return tags.TERMINATED in run.tags or (marked and not tags.LEFT.keys() & run.tags.keys())
