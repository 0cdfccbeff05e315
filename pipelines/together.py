"""Many companies published in one run: what `publish_portfolio` does for one, without its pictures and tables.

A run of Dagster takes several times the work of a small company's snapshot and figures. So where many wrote at once,
one run takes them one after the other. Each shows its materialisations in its own partition; one that fails keeps its
last complete snapshot and figures, is named when the run fails at its end, and holds no other up.
"""

import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import dagster as dg

from compliance.rollup.tonnes import Figures
from pipelines import checks, figure_checks
from pipelines.assets import preview, rollups
from pipelines.assets.housekeeping import Stopping, interruptible
from pipelines.resources import Workshop
from pipelines.steps import housekeeping
from pipelines.steps.figures import compute, keep, proof
from pipelines.steps.figures.portfolio import blocks
from warehouse import snapshots
from warehouse.figures import Origin, StoredFigures
from warehouse.queries.companies import counted
from warehouse.snapshots import Snapshot


class Companies(dg.Config):
    """Whose portfolios."""

    company_ids: list[str]


@dg.op(out=dg.Out(dg.Nothing))
def published_companies(
    context: dg.OpExecutionContext, config: Companies, workshop: dg.ResourceParam[Workshop]
) -> None:
    """A snapshot, tonnes and verdicts of each company, in the partition of its name."""
    broken = []
    with interruptible(context, workshop) as proceed:
        for company_id in map(UUID, config.company_ids):
            try:
                _publish(context, workshop, company_id, proceed)
            except Stopping:
                raise
            except Exception:  # whatever it was, the others are published
                context.log.exception("Company %s keeps its last snapshot and figures.", company_id)
                broken.append(str(company_id))
    if broken:
        raise dg.Failure(f"Not published: {', '.join(broken)}. The log has each reason.", allow_retries=False)


@dg.job(description="The portfolios of many companies that wrote at once, and the figures that are computed from them.")
def publish_together() -> None:
    """One step over all of them."""
    published_companies()


def _publish(
    context: dg.OpExecutionContext, workshop: Workshop, company_id: UUID, proceed: housekeeping.Proceed
) -> None:
    begun = time.perf_counter()
    snapshot = snapshots.publish(
        workshop.pool, company_id, workshop.data_dir, workshop.clock.now(), workshop.rulesets, proceed=proceed
    )
    with workshop.pool.company(company_id) as conn:
        held, named = counted(conn), preview.company(conn, company_id)
    whole = figure_checks.portfolio(proof.faults(snapshot))
    _hold([*checks.snapshot(snapshot, links=held.links, skus=held.skus), whole])
    _show(context, "portfolio_snapshot", company_id, {
        **named, **preview.of_snapshot(snapshot), "size_bytes": snapshot.size_bytes,
        "seconds": round(time.perf_counter() - begun, 3),
    })  # fmt: skip
    begun = time.perf_counter()
    found, kept = _rolled_up(workshop, snapshot, proceed)
    spent = round(time.perf_counter() - begun, 3)
    _show(context, "figures", company_id, {**named, **rollups.numbers(found, kept.origin), "seconds": spent})
    _show(context, "obligations", company_id, {**named, **rollups.published(kept)})


def _rolled_up(workshop: Workshop, snapshot: Snapshot, proceed: housekeeping.Proceed) -> tuple[Figures, StoredFigures]:
    with workshop.pool.company(snapshot.company_id) as conn:
        catalogue, rules = compute.loaded_catalogue(conn), workshop.rulesets.active(conn)
    found = compute.figures_of(blocks(snapshot), catalogue.entries, rules, proceed)
    by_code = {entry.code: entry for entry in catalogue.entries}
    _hold(figure_checks.figures(found, proof.differences(snapshot, found, by_code)))
    origin = Origin(snapshot.path, snapshot.as_of, snapshot.number, rules.version, catalogue.source_hash)
    return found, keep.keep(workshop.data_dir, snapshot.company_id, origin, found, compute.obligations_of(found))


def _hold(results: list[dg.AssetCheckResult]) -> None:
    """Raise `dagster.Failure` where a check fails that blocks in a company's own run."""
    failed = [result for result in results if not result.passed and result.severity == dg.AssetCheckSeverity.ERROR]
    if failed:
        raise dg.Failure(
            f"{', '.join(str(result.check_name) for result in failed)} failed.",
            metadata={name: value for result in failed for name, value in result.metadata.items()},
        )


def _show(context: dg.OpExecutionContext, asset: str, company_id: UUID, metadata: Mapping[str, Any]) -> None:
    """Say in the company's partition what it has now."""
    context.log_event(dg.AssetMaterialization(asset, partition=str(company_id), metadata=metadata))
