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

from compliance.declarations.document import scoped_tonnes
from compliance.rollup.tonnes import TONNES_SCHEMA, Figures
from pipelines.declarations.latest import halves_by_year, tonnes_by_period, tonnes_of_latest_years
from pipelines.defs import OWNERS
from pipelines.defs.catalogue import jurisdiction_catalogue
from pipelines.defs.imports.handover import Packed
from pipelines.defs.publication import current_snapshot, portfolio_snapshot
from pipelines.engine import checks, tags
from pipelines.engine.checks import Check, Frames, Stored, Verdict
from pipelines.engine.interruption import interruptible
from pipelines.engine.partitions import company_of, company_partitions
from pipelines.engine.resources import Portfolios, Postgres, RuleSets, Shutdown
from pipelines.figures import compute, keep, proof
from pipelines.figures.portfolio import blocks
from pipelines.shown import columns, preview
from schemas import contracts
from schemas.json_values import JsonMapping
from warehouse import figures as stored_files
from warehouse.figures import Basis, StoredFigures

GROUP: Final = "rollups"
MOST_FIGURES: Final = 200
"""Maximum rows of a table in a run's metadata, enough for one company's usual declarations; the files have all."""
_VERDICTS: Final = contracts.made(
    compute.OBLIGATION_SCHEMA, key=["market", "year", "obligation", "material"], needed=["verdict"]
)
_PERIOD: Final = preview.period("year", "half")


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


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"parquet"},
    tags={"pcds/stage": "published"},
    partitions_def=company_partitions,
    deps=[portfolio_snapshot],
    metadata=columns.metadata("portfolio"),
)
def portfolio(
    context: dg.AssetExecutionContext, postgres: Postgres, portfolios: Portfolios
) -> dg.MaterializeResult[None]:
    """The company's current snapshot as figures are computed from it: SKUs, parts with grams, units per market."""
    snapshot = current_snapshot(portfolios.folder, company_of(postgres.pool, context.partition_key))
    with postgres.pool.company(snapshot.company_id) as conn:
        named = preview.company(conn, snapshot.company_id)
    tags.name_company(context, snapshot.company_id, named["company"])
    return dg.MaterializeResult(
        metadata={**named, **preview.of_snapshot(snapshot), **columns.metadata("portfolio")},
    )


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"polars"},
    tags={"pcds/stage": "computed"},
    partitions_def=company_partitions,
    metadata=columns.metadata("figures"),
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
    snapshot = current_snapshot(portfolios.folder, company_of(postgres.pool, context.partition_key))
    with postgres.pool.company(snapshot.company_id) as conn:
        catalogue, rules = compute.loaded_catalogue(conn), rule_sets.registry.active(conn)
        named = preview.company(conn, snapshot.company_id)
    with interruptible(context, shutdown.event) as proceed:
        found = compute.compute_figures(blocks(snapshot), catalogue.entries, rules, proceed)
    origin = Basis(snapshot.path, snapshot.as_of, snapshot.number, rules.version, catalogue.source_hash)
    by_period = tonnes_by_period(found, origin.as_of.year)
    return dg.MaterializeResult(
        value=Computed(found, origin),
        metadata={
            **named,
            **figures_metadata(found, origin),
            "seconds": round(time.perf_counter() - started, 3),
            "dagster/row_count": found.tonnes.height,
            "tonnes_by_market": preview.table(("market and period", "tonnes"), by_period.items(), most=MOST_FIGURES),
            "tonnes_by_market_picture": preview.bars("Tonnes by market, latest year and its halves", by_period),
            "halves": halves_by_year(found),
            "tonnes_by_category": preview.frame_table(_by_category(found.tonnes), most=MOST_FIGURES),
            "uncounted": preview.frame_table(_by_reason(found.uncounted), most=MOST_FIGURES),
            **columns.metadata("figures"),
        },
    )


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"polars", "parquet"},
    tags={"pcds/stage": "published"},
    metadata=columns.metadata("obligations"),
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
    verdicts, company_id = (
        compute.compute_obligations(figures.figures),
        company_of(postgres.pool, context.partition_key),
    )
    checks.refuse_broken("The verdicts break their contract.", {"obligations": (_VERDICTS, verdicts)})
    stored = keep.publish_figures(portfolios.folder, company_id, figures.origin, figures.figures, verdicts)
    with postgres.pool.company(company_id) as conn:
        named = preview.company(conn, company_id)
    counted = verdicts.group_by("verdict").len("rows").sort("verdict")
    return dg.MaterializeResult(
        value=stored,
        metadata={
            **named,
            **published_metadata(stored),
            "dagster/row_count": verdicts.height,
            "verdicts": preview.frame_table(counted),
            "reached": preview.frame_table(
                verdicts.filter(pl.col("verdict").is_in(["above", "near"])).select(
                    "market",
                    "year",
                    "obligation",
                    "material",
                    "tonnes",
                    "tonnes_upper",
                    "threshold_tonnes",
                    "verdict",
                    "reason",
                ),
                most=MOST_FIGURES,
            ),
            **columns.metadata("obligations"),
        },
    )


def figures_metadata(found: Figures, origin: Basis) -> dict[str, dg.MetadataValue | str | float]:
    """Return the figures' basis, under a declaration's names, and their sums, which the UI plots over runs."""
    return {
        "as_of": dg.MetadataValue.timestamp(origin.as_of),
        "snapshot": origin.snapshot,
        "ruleset_version": origin.ruleset_version,
        "catalogue_hash": origin.catalogue_hash,
        "figures": found.tonnes.height,
        "tonnes_latest_year": tonnes_of_latest_years(found, origin.as_of.year),
        "uncounted_skus": found.uncounted["sku_code"].n_unique(),
        "skus_of_undecided_scope": found.scope_missing["sku_code"].n_unique(),
    }


def published_metadata(figures: StoredFigures) -> dict[str, dg.MetadataValue | str | float]:
    """Describe the figures that are now current; `figures_changed` counts those that are new, changed or removed."""
    return {
        "as_of": dg.MetadataValue.timestamp(figures.origin.as_of),
        "snapshot": figures.origin.snapshot,
        "figures_changed": figures.rows_written,
        **{f"{table}_rows": rows for table, rows in figures.rows.items()},
    }


def _by_category(tonnes: pl.DataFrame) -> pl.DataFrame:
    """Return the figures that a declaration contains, latest year first within a market."""
    latest = tonnes.sort("market", "year", "half", "category_code", descending=[False, True, False, False])
    rows = [scoped_tonnes(row) for row in latest.iter_rows(named=True)]
    written = [pl.Series(name, [f"{row[name]:f}" for row in rows], pl.String) for name in keep.SCOPED]
    return latest.with_columns(written).select(
        "market",
        _PERIOD,
        "category_code",
        "tonnes",
        "units",
        "skus",
        "basis",
        *keep.SCOPED[1:],
        "scope_key",
        "confidence",
    )


def _by_reason(uncounted: pl.DataFrame) -> pl.DataFrame:
    """Count units and SKUs that are not counted in figures, by market, period and reason."""
    return (
        uncounted.group_by("market", _PERIOD, "reason")
        .agg(pl.len().alias("skus"), pl.col("units").sum().alias("units"))
        .sort("market", "period", "reason")
    )


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
    scoped = pl.col("in_scope_grams") + pl.col("undecided_grams")
    below = tonnes.filter(
        (pl.min_horizontal("single_use_grams", "in_scope_grams", "undecided_grams") < 0)
        | (pl.col("grams") < pl.max_horizontal(pl.col("single_use_grams"), scoped))
    )
    twice = tonnes.select(keep.FIGURE).is_duplicated().any()
    return Verdict(below.is_empty() and not twice, {"figures": tonnes.height, "impossible": preview.frame_table(below)})


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
