"""Defines group rollups: from a company's snapshot to tonnes by scheme category, compared with thresholds.

docs/figures.md explains what a figure means and how it is counted. Figures and obligations are one step: both become
current together, at its end, and what fails a check never does. So nothing is handed on through storage.
"""

import time
from collections.abc import Iterator
from typing import Final

import dagster as dg

from pipelines import figures
from pipelines.checks import figures as checks
from pipelines.checks.factory import Made, Stored, checks_of, chosen, made, refuse_broken, results_of, specs_of
from pipelines.checks.figures import current_snapshot
from pipelines.defs import asset, spec
from pipelines.defs.catalogue import jurisdiction_catalogue
from pipelines.defs.rules import regraded_skus
from pipelines.engine.resources import Portfolios, Postgres, RuleSets, ServiceClock, Shutdown
from pipelines.engine.runs import company_of, company_of_run, company_partitions
from pipelines.engine.steps import interruptible
from pipelines.figures import blocks
from pipelines.metadata import columns
from pipelines.metadata import figures as metadata
from warehouse.companies.queries import counters
from warehouse.figures import snapshots
from warehouse.figures.overview import imports, keep_head_figures, overview
from warehouse.figures.reader import Now
from warehouse.figures.stored import Basis

PUBLICATION_GROUP: Final = "publication"


@dg.multi_observable_source_asset(  # type: ignore[untyped-decorator]  # Dagster names no type for it
    specs=[
        spec(
            "ledger",
            "intake",
            "received",
            "postgres",
            partitions_def=company_partitions,
            description="A company's audit ledger: single writes, supplier answers and accepted reviews beside its "
            "imports. Its data version counts the writes that change what figures are made from.",
        )
    ]
)
def ledger(context: dg.AssetExecutionContext, postgres: Postgres) -> dg.ObserveResult:
    """Look at a company's last entry before the snapshot is made from it, so that Dagster knows which one it holds."""
    with postgres.company(company_of(postgres, context)) as conn:
        return dg.ObserveResult(asset_key="ledger", data_version=dg.DataVersion(str(counters(conn).figure_writes)))


@asset(
    PUBLICATION_GROUP,
    "published",
    "postgres",
    "parquet",
    partitions_def=company_partitions,
    deps=["ledger", "graded_skus", regraded_skus],
)
def portfolio_snapshot(
    context: dg.AssetExecutionContext,
    *,
    postgres: Postgres,
    clock: ServiceClock,
    rule_sets: RuleSets,
    portfolios: Portfolios,
    shutdown: Shutdown,
) -> dg.MaterializeResult[None]:
    """All SKUs, components (weights in g) and volumes (units placed on the market) of a company at one instant."""
    started = time.perf_counter()
    company_id, about = company_of_run(context, postgres)
    with interruptible(context, shutdown) as proceed:
        snapshot = snapshots.publish(postgres, company_id, portfolios, clock.now(), rule_sets, proceed=proceed)
    spent = round(time.perf_counter() - started, 3)
    with postgres.company(company_id) as conn:
        shown = metadata.portfolio_snapshot(conn, snapshot, imports(snapshot))
    return made(context, {**about, **shown, "seconds": spent, **columns.metadata("portfolio_snapshot")})


@asset(
    PUBLICATION_GROUP,
    "reported",
    "duckdb",
    partitions_def=company_partitions,
    deps=[portfolio_snapshot, jurisdiction_catalogue],
)
def portfolio_overview(
    context: dg.AssetExecutionContext, postgres: Postgres, clock: ServiceClock, portfolios: Portfolios
) -> dg.MaterializeResult[None]:
    """The company's SKUs by recyclability grade, DoC status, format flag, level and market, as assistants read them."""
    company_id, about = company_of_run(context, postgres)
    snapshot = current_snapshot(portfolios, company_id)
    with postgres.company(company_id) as conn:
        now = Now.read(conn, clock)
    return made(context, {**about, **metadata.portfolio_overview(snapshot, overview(snapshot, now))})


portfolio_snapshot_checks: Final = checks_of("portfolio_snapshot", *checks.SNAPSHOT)
publish_portfolio: Final = dg.define_asset_job(
    "publish_portfolio",
    selection=dg.AssetSelection.assets(
        "ledger", portfolio_snapshot, portfolio_overview, "portfolio", "figures", "obligations"
    ),
    description="A company's portfolio as it is now, and all that is computed from it.",
)

GROUP: Final = "rollups"
OBLIGATIONS: Final = dg.AssetKey("obligations")


@asset(GROUP, "published", "parquet", partitions_def=company_partitions, deps=[portfolio_snapshot])
def portfolio(
    context: dg.AssetExecutionContext, postgres: Postgres, portfolios: Portfolios
) -> dg.MaterializeResult[None]:
    """The company's current snapshot as figures are computed from it: SKUs, parts with grams, units per market."""
    company_id, about = company_of_run(context, postgres)
    snapshot = metadata.portfolio(current_snapshot(portfolios, company_id))
    return made(context, {**about, **snapshot, **columns.metadata("portfolio")})


portfolio_checks: Final = checks_of("portfolio", checks.PORTFOLIO)


@dg.multi_asset(
    specs=[
        spec(
            "figures",
            GROUP,
            "computed",
            "polars",
            deps=[portfolio, jurisdiction_catalogue],
            description="Tonnes of packaging placed on each market in a year or half, by scheme category: grams times "
            "units / 10^6. What cannot be counted (no weight, no material, no category) is listed separately in units "
            "and SKUs, never as zero.",
            skippable=True,
        ),
        spec(
            "obligations",
            GROUP,
            "published",
            "polars",
            "parquet",
            deps=["figures"],
            description="Tonnes of each calendar year against the thresholds of its market: above, near (within 20 %), "
            "below, undecidable. No fee and no legal advice: each verdict names its rule, its source and how sure the "
            "source is. With it all of the company's figures are published together.",
            skippable=True,
        ),
    ],
    check_specs=specs_of("figures", *checks.FIGURES),
    partitions_def=company_partitions,
    can_subset=True,
)
def company_figures(
    context: dg.AssetExecutionContext,
    postgres: Postgres,
    rule_sets: RuleSets,
    portfolios: Portfolios,
    shutdown: Shutdown,
) -> Iterator[Made]:
    """Compute a company's figures and its obligations by them, and publish both where no check of the figures fails.

    Chosen alone, the figures or their checks are computed and shown, and nothing is published.
    """
    started = time.perf_counter()
    company_id, about = company_of_run(context, postgres)
    snapshot = current_snapshot(portfolios, company_id)
    with postgres.company(company_id) as conn:
        catalogue, rules = figures.loaded_catalogue(conn), rule_sets.active(conn)
    with interruptible(context, shutdown) as proceed:
        figures_of_company = figures.compute_figures(blocks(snapshot), catalogue.entries, rules, proceed)
    origin = Basis(
        snapshot.path, snapshot.as_of, snapshot.number, rules.version, catalogue.source_hash, snapshot.writes
    )
    spent = {"seconds": round(time.perf_counter() - started, 3)}
    stored = Stored(postgres, portfolios, rule_sets, company_id, figures_of_company)
    verdicts = [*results_of("figures", checks.FIGURES, stored)]
    shown_of = {**about, **metadata.figures(figures_of_company, origin), **spent, **columns.metadata("figures")}
    computed = dg.MaterializeResult[None](asset_key="figures", metadata=shown_of, check_results=verdicts)
    yield from chosen(context, computed)
    if OBLIGATIONS not in context.selected_asset_keys:
        return
    if not all(verdict.passed for verdict in verdicts):
        raise dg.Failure("The figures fail a check, so they are not published.", allow_retries=False)
    judged = figures.compute_obligations(figures_of_company)
    refuse_broken("The verdicts break their contract.", {"obligations": (checks.VERDICTS, judged)})
    published = figures.publish_figures(portfolios, company_id, origin, figures_of_company, judged)
    with postgres.company(company_id) as conn:
        keep_head_figures(conn, snapshot, published)
    shown_of = {**about, **metadata.obligations(published, judged), **columns.metadata("obligations")}
    yield made(context, shown_of, OBLIGATIONS)


obligations_checks: Final = checks_of("obligations", checks.OBLIGATIONS)
roll_up: Final = dg.define_asset_job(
    "roll_up",
    selection=dg.AssetSelection.groups(GROUP),
    description="A company's tonnes and verdicts from its current snapshot; a new snapshot brings them by itself.",
)
