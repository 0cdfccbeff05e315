"""Defines group publication: a company's snapshot and the overview of its portfolio; and the ledger of writes.

Figures are computed from the same snapshot (`pipelines.defs.figures`).
"""

import time
from collections.abc import Iterator, Mapping
from typing import Final
from uuid import UUID

import dagster as dg

from pipelines.defs import OWNERS
from pipelines.defs.catalogue.assets import jurisdiction_catalogue
from pipelines.defs.regrading.assets import regraded_skus
from pipelines.engine import checks, tags
from pipelines.engine.interruption import interruptible
from pipelines.engine.partitions import company_of, company_partitions
from pipelines.engine.resources import Portfolios, Postgres, RuleSets, ServiceClock, Shutdown
from pipelines.shown import columns, preview
from warehouse import snapshots
from warehouse.analytics import Now, imports, overview
from warehouse.companies.queries import counters
from warehouse.skus import origins

GROUP: Final = "publication"


@dg.multi_observable_source_asset(  # type: ignore[untyped-decorator]  # Dagster names no type for it
    specs=[
        dg.AssetSpec(
            "ledger",
            group_name="intake",
            owners=OWNERS,
            kinds={"postgres"},
            tags={"pcds/stage": "received"},
            partitions_def=company_partitions,
            description="A company's audit ledger: single writes, supplier answers and accepted reviews beside its "
            "imports. Its data version is the number of the last entry.",
        )
    ]
)
def ledger(context: dg.AssetExecutionContext, postgres: Postgres) -> dg.ObserveResult:
    """Look at a company's last entry before the snapshot is made from it, so that Dagster knows which one it holds."""
    with postgres.pool.company(company_of(postgres.pool, context.partition_key)) as conn:
        return dg.ObserveResult(asset_key="ledger", data_version=dg.DataVersion(str(counters(conn).links)))


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"postgres", "parquet"},
    tags={"pcds/stage": "published"},
    metadata=columns.metadata("portfolio_snapshot"),
    partitions_def=company_partitions,
    deps=["ledger", "graded_skus", regraded_skus],
    check_specs=checks.SNAPSHOT_SPECS,
)
def portfolio_snapshot(
    context: dg.AssetExecutionContext,
    *,
    postgres: Postgres,
    clock: ServiceClock,
    rule_sets: RuleSets,
    portfolios: Portfolios,
    shutdown: Shutdown,
) -> checks.CheckedResult:
    """All SKUs, components (weights in g) and volumes (units placed on the market) of a company at one instant."""
    started = time.perf_counter()
    company_id = company_of(postgres.pool, context.partition_key)
    with interruptible(context, shutdown.event) as proceed:
        snapshot = snapshots.publish(
            postgres.pool, company_id, portfolios.folder, clock.now(), rule_sets.registry, proceed=proceed
        )
    spent = time.perf_counter() - started
    skus_by_import = imports(snapshot)
    with postgres.pool.company(company_id) as conn:
        counts, named = counters(conn), preview.company(conn, company_id)
        files = origins.files(conn, [*skus_by_import][: preview.PREVIEW_ROWS])
    tags.name_company(context, company_id, named["company"])
    return dg.MaterializeResult(
        metadata={
            **named,
            **preview.of_snapshot(snapshot),
            "dagster/row_count": snapshot.rows["skus"],
            "size_bytes": snapshot.size_bytes,
            "seconds": round(spent, 3),
            "skus_by_import": preview.table(
                ("import that wrote last", "file", "sent at (UTC)", "SKUs"),
                _by_import(skus_by_import, files),
                total=len(skus_by_import),
            ),
            "skus_by_single_writes": snapshot.rows["skus"] - sum(skus_by_import.values()),
            **columns.metadata("portfolio_snapshot"),
        },
        check_results=checks.snapshot(snapshot, links=counts.links, skus=counts.skus),
    )


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"duckdb"},
    tags={"pcds/stage": "reported"},
    partitions_def=company_partitions,
    deps=[portfolio_snapshot, jurisdiction_catalogue],
)
def portfolio_overview(
    context: dg.AssetExecutionContext, postgres: Postgres, clock: ServiceClock, portfolios: Portfolios
) -> checks.CheckedResult:
    """The company's SKUs by recyclability grade, DoC status, format flag, level and market, as assistants read them."""
    company_id = company_of(postgres.pool, context.partition_key)
    snapshot = snapshots.current(portfolios.folder, company_id)
    if snapshot is None:
        raise dg.Failure("No snapshot of this company is published yet; publish one first.", allow_retries=False)
    with postgres.pool.company(company_id) as conn:
        now, named = Now.read(conn, clock.clock), preview.company(conn, company_id)
    found = overview(snapshot, now)
    flags = ("code", "text", "applies_from", "skus", "certain", "depends")
    scope = ("code", "name", "system", "depth", "verified_on", "skus")
    return dg.MaterializeResult(
        metadata={
            **named,
            "as_of": dg.MetadataValue.timestamp(snapshot.as_of),
            "snapshot": snapshot.path,
            "skus": found["skus"],
            "skus_provisional": sum(found["provisional"].values()),
            **{f"grade_{grade}": number for grade, number in found["grades"].items()},
            "grades_picture": preview.grade_bars(found["grades"]),
            "markets_picture": preview.bars("SKUs by market", {row["market"]: row["skus"] for row in found["markets"]}),
            "doc_status": preview.table(("DoC status", "SKUs"), found["doc_status"].items()),
            "packaging_levels": preview.table(("level", "SKUs"), found["packaging_levels"].items()),
            "flags": preview.records(flags, found["annex_v_flags"]),
            "jurisdictions": preview.records(scope, found["jurisdictions"]),
        }
    )


def _by_import(skus_by_import: Mapping[UUID, int], files: Mapping[UUID, origins.File]) -> Iterator[tuple[object, ...]]:
    for import_id, file in files.items():
        sent_at = f"{file.sent_at:%Y-%m-%d %H:%M:%S}"
        yield import_id, file.filename, sent_at, skus_by_import[import_id]
