"""Contains the definitions that Dagster loads, a module a subject: its assets, checks, jobs and schedule.

Each is thin: `pipelines.<subject>` processes the data, and `pipelines.metadata` prepares what an analyst sees.
`sensors` watches all subjects. This module contains what they share; `pipelines.definitions` combines them.
"""

from collections.abc import Callable, Mapping
from typing import (  # Any: what an asset takes and makes, and the parameters of Dagster's decorator
    Any,
    Final,
    TypeAlias,
)

import dagster as dg

from pipelines.engine.resources import Resources
from pipelines.engine.steps import interruptible
from pipelines.metadata import columns
from pipelines.operate import Proceed

OWNERS: Final = ["team:packaging-data"]
"""The owners of every asset."""


def about(name: str, group: str, stage: str, *kinds: str) -> dict[str, Any]:
    """Return what each asset says of itself: group, owners, stage, kinds, and a table's columns."""
    return {
        "group_name": group,
        "owners": OWNERS,
        "tags": {"pcds/stage": stage},
        "kinds": {*kinds},
        "metadata": columns.metadata(name) if name in columns.TABLES else None,
    }


def spec(name: str, group: str, stage: str, *kinds: str, **options: Any) -> dg.AssetSpec:
    """Return an asset that a step of several makes, or nobody; `options` are those of `dagster.AssetSpec`."""
    return dg.AssetSpec(name, **about(name, group, stage, *kinds), **options)


def asset(
    group: str, stage: str, *kinds: str, **options: Any
) -> Callable[[Callable[..., dg.MaterializeResult[Any]]], dg.AssetsDefinition]:
    """Return Dagster's decorator with what each asset says of itself; `options` are those of `dagster.asset`."""
    return lambda compute: dg.asset(**about(compute.__name__, group, stage, *kinds), **options)(compute)


Work: TypeAlias = Callable[[dg.OpExecutionContext, Resources, Proceed], Mapping[str, object]]
"""What an op does; it returns what the op shows, and calls `Proceed` before each piece of work."""


def op(*resources: str) -> Callable[[Work], dg.OpDefinition]:
    """Return the decorator of an op that produces no data, and uses the resources of these names.

    `Proceed` raises where the process stops, and the op then ends between two pieces of work.
    """

    def define(function: Work) -> dg.OpDefinition:
        @dg.op(
            name=function.__name__,
            description=function.__doc__,
            out=dg.Out(dg.Nothing),
            required_resource_keys={*resources, "shutdown"},
        )
        def stoppable(context: dg.OpExecutionContext) -> None:
            with interruptible(context, context.resources.shutdown) as proceed:
                context.add_output_metadata(function(context, context.resources, proceed))

        return stoppable

    return define


def daily_schedule(name: str, job_name: str, cron: str, run_config: Mapping[str, object]) -> dg.ScheduleDefinition:
    """Return the schedule of a daily job, in UTC, because days are UTC days (decisions §11)."""
    return dg.ScheduleDefinition(
        name=name,
        job_name=job_name,
        cron_schedule=cron,
        execution_timezone="UTC",
        run_config=run_config,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Begins the job once a day, by UTC; what the job does, its own page says.",
    )
