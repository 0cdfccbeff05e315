"""Contains the definitions that Dagster loads, a module a subject: its assets, checks, jobs and schedule.

Each is thin: `pipelines.<subject>` processes the data, and `pipelines.shown` prepares what an analyst sees. `sensors`
watches all subjects but imports. This module contains what they share; `pipelines.definitions` combines them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final  # Any: what an asset takes and makes, and the parameters of Dagster's decorator

import dagster as dg

from pipelines.engine.interruption import interruptible
from pipelines.engine.resources import Resources
from pipelines.housekeeping import Proceed
from pipelines.shown import columns

OWNERS: Final = ["team:packaging-data"]
"""The owners of every asset."""


def asset(
    group: str, stage: str, *kinds: str, **options: Any
) -> Callable[[Callable[..., dg.MaterializeResult[Any]]], dg.AssetsDefinition]:
    """Return Dagster's decorator with what each asset says of itself: owners, stage, kinds, and a table's columns.

    `options` are those of `dagster.asset`.
    """

    def define(compute: Callable[..., dg.MaterializeResult[Any]]) -> dg.AssetsDefinition:
        name = compute.__name__
        shown = columns.metadata(name) if name in columns.TABLES else None
        decorate = dg.asset(
            group_name=group, owners=OWNERS, tags={"pcds/stage": stage}, kinds={*kinds}, metadata=shown, **options
        )
        defined: dg.AssetsDefinition = decorate(compute)
        return defined

    return define


def op(
    *resources: str,
) -> Callable[[Callable[[dg.OpExecutionContext, Resources, Proceed], Mapping[str, object]]], dg.OpDefinition]:
    """Return the decorator of an op that produces no data, and uses the resources of these names.

    The function does the work and returns what it did, for the op's metadata. It calls `Proceed` before each piece of
    work, which raises where the process stops.
    """

    def define(
        function: Callable[[dg.OpExecutionContext, Resources, Proceed], Mapping[str, object]],
    ) -> dg.OpDefinition:
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
