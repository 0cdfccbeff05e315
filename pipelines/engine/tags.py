"""Defines the tags of runs: those by which people find them, and those that only the machinery reads.

Dagster's pages hide a tag whose name begins with `.dagster/`; it is found by its name all the same.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar, Final  # Any: Dagster's own signature
from urllib.parse import unquote
from uuid import UUID

import dagster as dg

from warehouse.companies import queries
from warehouse.operate import dagster_home
from warehouse.operate.sessions import Pool

CODE_LOCATION: Final = {".dagster/repository": f"__repository__@{dagster_home.LOCATION}"}
"""With this tag the UI lists a run under its job, although no launcher has started it."""

FOLLOWED: Final = {".dagster/pcds_followed": "true"}
"""On runs that followed a write: a busy company has thousands a day, so their record is kept for two days only."""

USER: Final = "user"
"""Dagster's own: who launched the run."""

PCDS: Final = {USER: dagster_home.SERVICE}
"""On runs that the service or its commands start: the UI shows it as *Launched by*, else *manually*."""

IMPORT: Final = "pcds/import_id"
"""The import that the run processes."""

LEFT: Final = {".dagster/pcds_left": "true"}
"""On runs that end as canceled because their process stopped: nobody has terminated them."""

TERMINATED: Final = ".dagster/pcds_terminated"
"""On runs that a person has terminated: their import ends with the run, and no other run takes it up."""

PARTITION: Final = "dagster/partition"
"""Dagster's own, on every run of a company, however it was started: companies take turns by it."""

PRIORITY: Final = "dagster/priority"
"""Dagster's own, on queued runs: those of a higher number leave the queue first, equal ones in their order."""

COMPANY: Final = "pcds/company_id"
"""The company of the run."""

COMPANY_NAME: Final = "pcds/company"
"""The company's name at that time, for people."""

DAY: Final = ".dagster/pcds_day"
"""On daily runs where the service's clock is moved: the day that they are for."""

LARGE: Final = {".dagster/pcds_size": "large"}
"""On runs that may keep a worker busy for long: one at a time, so that small ones find a free worker (dagster.yaml)."""

LARGE_PUBLICATION: Final = {".dagster/pcds_publication_size": "large"}
"""On publications of large portfolios: one at a time, so that an import finds a free worker (dagster.yaml)."""

TRACEPARENT: Final = ".dagster/pcds_traceparent"
"""Where traces are sent: the request that the run continues (`warehouse.operate.tracing`)."""

REGRADE: Final = "pcds/regrade"
"""On every run of a regrade: the version it is for. dagster.yaml limits how many runs have it at a time."""


def by_actor(header: Callable[[str], str | None]) -> dict[str, str]:
    """Return the tag with who acts by a request to Dagster's web server; none where nobody may. `header` reads one."""
    actor = header(dagster_home.ACTOR_HEADER)
    return {USER: unquote(actor)} if actor else {}


def name_actor(instance: dg.DagsterInstance, submitted: dg.SubmitRunContext) -> dg.SubmitRunContext:
    """Return the submission with the run tagged with who asked for it, whatever the request itself says."""
    run, named = submitted.dagster_run, by_actor(submitted.get_request_header)
    if named.items() <= run.tags.items():
        return submitted
    instance.add_run_tags(run.run_id, named)
    return submitted._replace(dagster_run=run.with_tags({**run.tags, **named}))


def of_company(company_id: UUID, name: str) -> dict[str, str]:
    """Return the tags by which a company's runs are found."""
    return {COMPANY: str(company_id), COMPANY_NAME: name}


def of_import(import_id: UUID, company_id: UUID, filename: str) -> dict[str, str]:
    """Return the tags by which an import's runs are found (decisions §10)."""
    return {IMPORT: str(import_id), COMPANY: str(company_id), "pcds/filename": filename}


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
        slug = queries.slug_of(conn, [company_id])[company_id]
    instance.add_dynamic_partitions("companies", [slug])
    return slug


def company_of(pool: Pool, slug: str) -> UUID:
    """Return the company of a partition. Raises `dagster.Failure` where no company has the name."""
    with pool.system() as conn:
        company_id = queries.company(conn, slug)
    if company_id is None:
        raise dg.Failure(f"There is no company {slug}; `pcds company list` shows those there are.", allow_retries=False)
    return company_id


def company_of_run(
    context: dg.AssetExecutionContext | dg.OpExecutionContext, pool: Pool
) -> tuple[UUID, dict[str, str]]:
    """Return the company of a run, and what the run shows of it; a run that the UI started gets its tags too."""
    company_id = company_of(pool, context.partition_key)
    name = name_of(pool, company_id)
    if COMPANY_NAME not in context.run.tags:
        context.instance.add_run_tags(context.run.run_id, of_company(company_id, name))
    return company_id, {"company": name, "company_id": str(company_id)}


def name_of(pool: Pool, company_id: UUID) -> str:
    """Return a company's name, for people; none where it has been removed."""
    with pool.company(company_id) as conn:
        named = queries.of(conn, company_id)
    return named[0] if named else ""


def is_terminated(run: dg.DagsterRun) -> bool:
    """Return whether a person has requested the run's end, or has marked a run that no worker had as canceled.

    Runs without an origin are of `pcds`, and ended as canceled with their process.
    """
    marked = run.status == dg.DagsterRunStatus.CANCELED and run.job_code_origin is not None
    return TERMINATED in run.tags or (marked and not LEFT.keys() & run.tags.keys())
