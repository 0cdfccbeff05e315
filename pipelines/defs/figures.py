"""Defines group rollups: from a company's snapshot to tonnes by scheme category, compared with thresholds.

docs/figures.md explains what a figure means and how it is counted. The three assets run together, partitioned by
company; their results become current only when the last one publishes them, and what fails a check never does.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple, Self
from uuid import UUID

import dagster as dg
import polars as pl

from compliance.rollup.tonnes import TONNES_SCHEMA, Figures
from pipelines.defs import asset
from pipelines.defs.catalogue import jurisdiction_catalogue
from pipelines.defs.publication import current_snapshot, portfolio_snapshot
from pipelines.engine import checks
from pipelines.engine.checks import Check, Frames, Stored, Verdict
from pipelines.engine.interruption import interruptible
from pipelines.engine.outputs import Packed
from pipelines.engine.partitions import company_of_run, company_partitions
from pipelines.engine.resources import Portfolios, Postgres, RuleSets, Shutdown
from pipelines.figures import compute, keep, proof
from pipelines.figures.portfolio import blocks
from pipelines.shown import columns, preview
from pipelines.shown import figures as shown
from schemas import contracts
from schemas.json_values import JsonMapping
from warehouse import figures as stored_files
from warehouse.figures import Basis, StoredFigures

GROUP: Final = "rollups"
_VERDICTS: Final = contracts.made(
    compute.OBLIGATION_SCHEMA, key=["market", "year", "obligation", "material"], needed=["verdict"]
)


class Computed(NamedTuple):
    """Figures that are not published yet, and the basis that they were computed from."""

    figures: Figures
    origin: Basis

    def packed(self) -> Packed:
        """Return the parts that outputs store, so that obligations can run alone."""
        return {**asdict(self.origin), "as_of": self.origin.as_of.isoformat()}, self.figures._asdict()

    @classmethod
    def unpacked(cls, about: JsonMapping, tables: Mapping[str, pl.DataFrame]) -> Self:
        """Return the value of these parts; `about` is JSON, so its values have no known type."""
        origin = Basis(**{**about, "as_of": datetime.fromisoformat(about["as_of"])})
        basis = pl.col("basis").cast(TONNES_SCHEMA["basis"])
        return cls(Figures(**{**tables, "tonnes": tables["tonnes"].with_columns(basis)}), origin)


@asset(GROUP, "published", "parquet", partitions_def=company_partitions, deps=[portfolio_snapshot])
def portfolio(
    context: dg.AssetExecutionContext, postgres: Postgres, portfolios: Portfolios
) -> dg.MaterializeResult[None]:
    """The company's current snapshot as figures are computed from it: SKUs, parts with grams, units per market."""
    company_id, named = company_of_run(context, postgres)
    snapshot = preview.of_snapshot(current_snapshot(portfolios, company_id))
    return dg.MaterializeResult(metadata={**named, **snapshot, **columns.metadata("portfolio")})


@asset(
    GROUP,
    "computed",
    "polars",
    partitions_def=company_partitions,
    deps=[portfolio, jurisdiction_catalogue],
    dagster_type=dg.PythonObjectDagsterType(Computed),
)
def figures(
    context: dg.AssetExecutionContext,
    postgres: Postgres,
    rule_sets: RuleSets,
    portfolios: Portfolios,
    shutdown: Shutdown,
) -> dg.MaterializeResult[Computed]:
    """Tonnes of packaging placed on each market in a year or half, by scheme category: grams times units / 10^6.

    What cannot be counted (no weight, no material, no category) is listed separately in units and SKUs, never as zero.
    """
    started = time.perf_counter()
    company_id, named = company_of_run(context, postgres)
    snapshot = current_snapshot(portfolios, company_id)
    with postgres.company(company_id) as conn:
        catalogue, rules = compute.loaded_catalogue(conn), rule_sets.active(conn)
    with interruptible(context, shutdown) as proceed:
        found = compute.compute_figures(blocks(snapshot), catalogue.entries, rules, proceed)
    origin = Basis(snapshot.path, snapshot.as_of, snapshot.number, rules.version, catalogue.source_hash)
    return dg.MaterializeResult(
        value=Computed(found, origin),
        metadata={
            **named,
            **shown.figures_metadata(found, origin),
            "seconds": round(time.perf_counter() - started, 3),
            **columns.metadata("figures"),
        },
    )


@asset(
    GROUP,
    "published",
    "polars",
    "parquet",
    partitions_def=company_partitions,
    dagster_type=dg.PythonObjectDagsterType(StoredFigures),
)
def obligations(
    context: dg.AssetExecutionContext, figures: Computed, postgres: Postgres, portfolios: Portfolios
) -> dg.MaterializeResult[StoredFigures]:
    """Tonnes of each calendar year against the thresholds of its market: above, near (within 20 %), below, undecidable.

    No fee and no legal advice: each verdict names its rule, its source and how sure the source is. This asset publishes
    all of the company's figures together.
    """
    company_id, named = company_of_run(context, postgres)
    verdicts = compute.compute_obligations(figures.figures)
    checks.refuse_broken("The verdicts break their contract.", {"obligations": (_VERDICTS, verdicts)})
    stored = keep.publish_figures(portfolios, company_id, figures.origin, figures.figures, verdicts)
    shown_of = shown.published_metadata(stored, verdicts)
    return dg.MaterializeResult(value=stored, metadata={**named, **shown_of, **columns.metadata("obligations")})


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
    computed: Computed = stored.value
    contract = contracts.made(TONNES_SCHEMA, key=keep.FIGURE, needed=["grams", "units", "skus"])
    return {"tonnes": (contract, computed.figures.tonnes)}


def _add_up(stored: Stored) -> Verdict:
    computed: Computed = stored.value
    with stored.pool.company(stored.company) as conn:
        by_code = {entry.code: entry for entry in compute.loaded_catalogue(conn).entries}
    snapshot = current_snapshot(stored.folder, stored.company)
    differing = proof.differences(snapshot, computed.figures, by_code)
    periods = computed.figures.tonnes.select(proof.PERIOD).n_unique()
    return Verdict(differing.is_empty(), {"periods": periods, "differing": preview.frame_table(differing)})


def _stand_once(stored: Stored) -> Verdict:
    tonnes = stored.value.figures.tonnes
    wrong = proof.impossible(tonnes)
    twice = tonnes.select(keep.FIGURE).is_duplicated().any()
    return Verdict(wrong.is_empty() and not twice, {"figures": tonnes.height, "impossible": preview.frame_table(wrong)})


figures_checks: Final = checks.checks_of(
    "figures",
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
    value=Computed,
)


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
