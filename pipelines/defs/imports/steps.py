"""Makes an asset of an import that may end without making anything: a run that finds nothing to do is no failure.

An asset with checks has to make something, unless it is one of a set that may be made in part (Dagster 1.13). So each
is a set of one.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final  # Any: the value of an asset, and Dagster's signature

import dagster as dg

from pipelines.defs import OWNERS
from pipelines.defs.imports.faults import fail_import_once
from pipelines.engine.partitions import company_partitions

Made = Iterator[dg.MaterializeResult[Any]]

NO_FILE: Final = "Nothing to do: the company has sent no file yet."


def import_step(
    check: dg.AssetCheckSpec,
    *,
    group_name: str,
    kinds: set[str],
    stage: str,
    metadata: Mapping[str, Any] | None = None,
    value: type | None = None,
    deps: list[dg.AssetsDefinition] | None = None,
) -> Callable[[Callable[..., Made]], dg.AssetsDefinition]:
    """Return a decorator: the function yields one result, or says in the run's log why there is none."""

    def asset(function: Callable[..., Made]) -> dg.AssetsDefinition:
        out = dg.AssetOut(
            is_required=False,
            group_name=group_name,
            owners=OWNERS,
            kinds=kinds,
            tags={"pcds/stage": stage},
            metadata=metadata,
            description=function.__doc__,
            dagster_type=dg.Any if value is None else dg.PythonObjectDagsterType(value),
        )
        return dg.multi_asset(
            name=function.__name__,
            outs={function.__name__: out},
            deps=deps,
            partitions_def=company_partitions,
            check_specs=[check],
            hooks={fail_import_once},
            can_subset=True,
        )(function)

    return asset
