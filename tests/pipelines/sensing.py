"""A sensor's tick, and the runs that it asks for, as the daemon would start them: once for each run key."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import dagster as dg
from dagster._core.definitions.data_version import CachingStaleStatusResolver
from dagster._core.loader import LoadingContextForTest

from pipelines.definitions import defs
from pipelines.engine.resources import Resources
from warehouse.companies import queries
from warehouse.operate.sessions import Pool


def tick(
    sensor: dg.SensorDefinition, instance: dg.DagsterInstance, resources: Resources, *, cursor: str | None = None
) -> dg.SensorResult:
    """What a tick asks for."""
    with dg.build_sensor_context(
        instance=instance, cursor=cursor, resources=resources.as_definitions(), definitions=defs
    ) as context:
        found: Any = sensor(context)
    return found if isinstance(found, dg.SensorResult) else dg.SensorResult(skip_reason=found)


def follow(
    sensor: dg.SensorDefinition,
    instance: dg.DagsterInstance,
    resources: Resources,
    *,
    only: Callable[[dg.RunRequest], bool] = lambda _: True,
) -> list[dg.ExecuteInProcessResult]:
    """A tick and the runs that it asks for; a run key that had a run has no other."""
    asked = tick(sensor, instance, resources)
    for request in asked.dynamic_partitions_requests or ():
        instance.add_dynamic_partitions(request.partitions_def_name, list(request.partition_keys))
    for event in asked.asset_events:
        instance.report_runless_asset_event(event)
    started = [start(sensor, instance, resources, request) for request in asked.run_requests or () if only(request)]
    return [run for run in started if run is not None]


def requested_by(company: UUID, job_name: str | None = None) -> Callable[[dg.RunRequest], bool]:
    """Which requests are for this company, of one job or of any: those of other tests are in the same database."""
    return lambda request: request.tags.get("pcds/company_id") == str(company) and job_name in {None, request.job_name}


def of_job(*job_names: str) -> Callable[[dg.RunRequest], bool]:
    """Which requests are for these jobs."""
    return lambda request: request.job_name in job_names


def statuses(instance: dg.DagsterInstance, pool: Pool, company: UUID, *assets: str) -> dict[str, str]:
    """As the UI shows them for a company: FRESH, STALE (it says *Unsynced*) or MISSING."""
    graph = defs.resolve_asset_graph()
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    with pool.system() as conn:
        [slug] = queries.slug_of(conn, [company]).values()
    partitioned = {name: graph.get(dg.AssetKey(name)).is_partitioned for name in assets}
    return {
        name: resolver.get_status(dg.AssetKey(name), slug if by_company else None).value
        for name, by_company in partitioned.items()
    }


def start(
    sensor: dg.SensorDefinition, instance: dg.DagsterInstance, resources: Resources, request: dg.RunRequest
) -> dg.ExecuteInProcessResult | None:
    """The run of a request; None where its key had one."""
    key = {"dagster/run_key": str(request.run_key), "dagster/sensor_name": sensor.name}
    if instance.get_runs(dg.RunsFilter(tags=key)):
        return None
    return defs.resolve_job_def(request.job_name or sensor.job_name).execute_in_process(
        run_config=request.run_config,
        partition_key=request.partition_key,
        instance=instance,
        tags={**request.tags, **key},
        resources=resources.as_definitions(),
        raise_on_error=False,
    )
