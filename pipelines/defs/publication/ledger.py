"""Defines the asset of writes, the head of the graph, from which snapshots and figures follow."""

from typing import Final

import dagster as dg

from pipelines.defs import OWNERS
from pipelines.engine.partitions import companies

ledger: Final = dg.AssetSpec(
    "ledger",
    group_name="intake",
    owners=OWNERS,
    kinds={"postgres"},
    tags={"pcds/stage": "received"},
    partitions_def=companies,
    description="A company's audit ledger: single writes, supplier answers and accepted reviews beside its imports. "
    "Its data version is the number of the last entry.",
)
