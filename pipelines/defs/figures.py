"""Defines group rollups: from a company's snapshot to tonnes by scheme category, compared with thresholds.

docs/figures.md explains what a figure means and how it is counted. Figures and obligations are one step: both become
current together, at its end, and what fails a check never does. So nothing is handed on through storage.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import UUID

import dagster as dg
import polars as pl

from compliance.rollup.tonnes import TONNES_SCHEMA, Figures
from pipelines.defs import about, asset
from pipelines.defs.catalogue import jurisdiction_catalogue
from pipelines.defs.publication import current_snapshot, portfolio_snapshot
from pipelines.engine import checks
from pipelines.engine.checks import Check, Frames, Stored, Verdict
from pipelines.engine.leaving import interruptible
from pipelines.engine.partitions import company_of_run, company_partitions
from pipelines.engine.resources import Portfolios, Postgres, RuleSets, Shutdown
from pipelines.figures import compute, keep, proof
from pipelines.figures.portfolio import blocks
from pipelines.shown import columns, preview
from pipelines.shown import figures as shown
from schemas import contracts
from warehouse import figures as stored_files
from warehouse.figures import Basis, StoredFigures

GROUP: Final = "rollups"
OBLIGATIONS: Final = dg.AssetKey("obligations")
_VERDICTS: Final = contracts.made(
    compute.OBLIGATION_SCHEMA, key=["market", "year", "obligation", "material"], needed=["verdict"]
)


@asset(GROUP, "published", "parquet", partitions_def=company_partitions, deps=[portfolio_snapshot])
def portfolio(
    context: dg.AssetExecutionContext, postgres: Postgres, portfolios: Portfolios
) -> dg.MaterializeResult[None]:
    """The company's current snapshot as figures are computed from it: SKUs, parts with grams, units per market."""
    company_id, named = company_of_run(context, postgres)
    snapshot = preview.of_snapshot(current_snapshot(portfolios, company_id))
    return dg.MaterializeResult(metadata={**named, **snapshot, **columns.metadata("portfolio")})


def _is_whole(stored: Stored) -> Verdict:
    wrong = proof.count_faults(current_snapshot(stored.folder, stored.company))
    return Verdict(not any(wrong), wrong._asdict())


portfolio_checks: Final = checks.checks_of(
    "portfolio",
    Check(
        "portfolio_is_whole",
        "Each SKU once, no component or volume of an unknown SKU, no weight or number of units below 0.",
        _is_whole,
    ),
)


def _tonnes(stored: Stored) -> Frames:
    contract = contracts.made(TONNES_SCHEMA, key=keep.FIGURE, needed=["grams", "units", "skus"])
    return {"tonnes": (contract, stored.value.tonnes)}


def _add_up(stored: Stored) -> Verdict:
    found: Figures = stored.value
    with stored.pool.company(stored.company) as conn:
        by_code = {entry.code: entry for entry in compute.loaded_catalogue(conn).entries}
    differing = proof.differences(current_snapshot(stored.folder, stored.company), found, by_code)
    periods = found.tonnes.select(proof.PERIOD).n_unique()
    return Verdict(differing.is_empty(), {"periods": periods, "differing": preview.frame_table(differing)})


def _stand_once(stored: Stored) -> Verdict:
    tonnes = stored.value.tonnes
    wrong = proof.impossible(tonnes)
    twice = tonnes.select(keep.FIGURE).is_duplicated().any()
    return Verdict(wrong.is_empty() and not twice, {"figures": tonnes.height, "impossible": preview.frame_table(wrong)})


_FIGURES_CHECKS: Final = (
    checks.contract_check(_tonnes),
    Check(
        "categories_add_up",
        "The tonnes of all categories are weight times units, summed a second way; less where a SKU is uncounted, "
        "never more.",
        _add_up,
    ),
    Check(
        "figures_stand_once",
        "One figure per market, year, half and category; none below 0, single-use tonnes within it, and so what is in "
        "scope and what is undecided together.",
        _stand_once,
    ),
)
"""Evaluated by the step that computes the figures, before they are published."""


@dg.multi_asset(
    specs=[
        dg.AssetSpec(
            "figures",
            deps=[portfolio, jurisdiction_catalogue],
            description="Tonnes of packaging placed on each market in a year or half, by scheme category: grams times "
            "units / 10^6. What cannot be counted (no weight, no material, no category) is listed separately in units "
            "and SKUs, never as zero.",
            skippable=True,
            **about("figures", GROUP, "computed", "polars"),
        ),
        dg.AssetSpec(
            "obligations",
            deps=["figures"],
            description="Tonnes of each calendar year against the thresholds of its market: above, near (within 20 %), "
            "below, undecidable. No fee and no legal advice: each verdict names its rule, its source and how sure the "
            "source is. With it all of the company's figures are published together.",
            skippable=True,
            **about("obligations", GROUP, "published", "polars", "parquet"),
        ),
    ],
    check_specs=checks.specs_of("figures", *_FIGURES_CHECKS),
    partitions_def=company_partitions,
    can_subset=True,
)
def company_figures(
    context: dg.AssetExecutionContext,
    postgres: Postgres,
    rule_sets: RuleSets,
    portfolios: Portfolios,
    shutdown: Shutdown,
) -> Iterator[checks.Made]:
    """Compute a company's figures and its obligations by them, and publish both where no check of the figures fails.

    Chosen alone, the figures or their checks are computed and shown, and nothing is published.
    """
    started = time.perf_counter()
    company_id, named = company_of_run(context, postgres)
    snapshot = current_snapshot(portfolios, company_id)
    with postgres.company(company_id) as conn:
        catalogue, rules = compute.loaded_catalogue(conn), rule_sets.active(conn)
    with interruptible(context, shutdown) as proceed:
        found = compute.compute_figures(blocks(snapshot), catalogue.entries, rules, proceed)
    origin = Basis(snapshot.path, snapshot.as_of, snapshot.number, rules.version, catalogue.source_hash)
    spent = {"seconds": round(time.perf_counter() - started, 3)}
    stored = Stored(postgres, portfolios, rule_sets, company_id, found)
    verdicts = [*checks.results_of("figures", _FIGURES_CHECKS, stored)]
    metadata = {**named, **shown.figures_metadata(found, origin), **spent, **columns.metadata("figures")}
    computed = dg.MaterializeResult[None](asset_key="figures", metadata=metadata, check_results=verdicts)
    yield from checks.chosen(context, computed)
    if OBLIGATIONS not in context.selected_asset_keys:
        return
    if not all(verdict.passed for verdict in verdicts):
        raise dg.Failure("The figures fail a check, so they are not published.", allow_retries=False)
    judged = compute.compute_obligations(found)
    checks.refuse_broken("The verdicts break their contract.", {"obligations": (_VERDICTS, judged)})
    published = keep.publish_figures(portfolios, company_id, origin, found, judged)
    shown_of = {**named, **shown.published_metadata(published, judged), **columns.metadata("obligations")}
    yield dg.MaterializeResult(asset_key=OBLIGATIONS, metadata=shown_of)


def current_figures(folder: Path, company_id: UUID) -> StoredFigures:
    """Return the company's published figures. Raises `dagster.Failure` where there are none."""
    found = stored_files.current(folder, company_id)
    if found is None:
        raise dg.Failure("No figures of this company are published yet; publish it first.", allow_retries=False)
    return found


def _verdicts(stored: Stored) -> Frames:
    held = current_figures(stored.folder, stored.company)
    return {"obligations": (_VERDICTS, pl.read_parquet(held.obligations))}


obligations_checks: Final = checks.checks_of("obligations", checks.contract_check(_verdicts))
roll_up: Final = dg.define_asset_job(
    "roll_up",
    selection=dg.AssetSelection.groups(GROUP),
    description="A company's tonnes and verdicts from its current snapshot; a new snapshot brings them by itself.",
)
