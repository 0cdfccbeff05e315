"""Group publication: a company's portfolio as it leaves the database, for figures and answers that read all of it."""

import time
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines import checks
from pipelines.assets import preview
from pipelines.assets.grading import graded_skus
from pipelines.assets.intake import OWNERS
from pipelines.partitions import companies
from pipelines.resources import Workshop
from warehouse import snapshots
from warehouse.queries.companies import counted
from warehouse.snapshots import Snapshot

GROUP: Final = "publication"


@dg.asset(
    group_name=GROUP, owners=OWNERS, kinds={"postgres", "parquet"}, tags={"pcds/stage": "published"},
    partitions_def=companies, deps=[graded_skus], dagster_type=dg.PythonObjectDagsterType(Snapshot),
    check_specs=checks.SNAPSHOT_SPECS,
)  # fmt: skip
def portfolio_snapshot(context: dg.AssetExecutionContext, workshop: dg.ResourceParam[Workshop]) -> checks.CheckedResult:
    """All SKUs, components (weights in g) and volumes (units placed on the market) of a company at one instant."""
    begun = time.perf_counter()
    company_id = UUID(context.partition_key)
    snapshot = snapshots.publish(workshop.pool, company_id, workshop.data_dir, workshop.clock.now(), workshop.rulesets)
    spent = time.perf_counter() - begun
    with workshop.pool.company(company_id) as conn:
        held = counted(conn)
    return dg.MaterializeResult(
        value=snapshot,
        metadata={
            "company_id": str(company_id),
            "as_of": dg.MetadataValue.timestamp(snapshot.as_of),
            "number": snapshot.number,
            "path": snapshot.path,
            **{f"{table}_rows": rows for table, rows in snapshot.rows.items()},
            "size_bytes": snapshot.size_bytes,
            "seconds": round(spent, 3),
            "dagster/column_schema": preview.column_schema(snapshots.SKUS.to_frame()),
        },
        check_results=checks.snapshot(snapshot, links=held.links, skus=held.skus),
    )
