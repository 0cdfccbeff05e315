"""Defines the checks of group rollups, which block inside the run: figures that fail one are never published."""

from typing import Final

import dagster as dg
import polars as pl

from compliance.rollup.tonnes import Figures
from pipelines.engine.partitions import company_partitions
from pipelines.figures.proof import PERIOD, FaultCounts
from pipelines.shown import preview

PORTFOLIO: Final = dg.AssetCheckSpec(
    "portfolio_is_whole",
    asset="portfolio",
    blocking=True,
    partitions_def=company_partitions,
    description="Each SKU once, no component or volume of an unknown SKU, no weight or number of units below 0.",
)
FIGURES: Final = [
    dg.AssetCheckSpec(
        "categories_add_up",
        asset="figures",
        blocking=True,
        partitions_def=company_partitions,
        description="The tonnes of all categories are weight times units, summed a second way; less where a SKU is "
        "uncounted, never more.",
    ),
    dg.AssetCheckSpec(
        "figures_stand_once",
        asset="figures",
        blocking=True,
        partitions_def=company_partitions,
        description="One figure per market, year, half and category; none below 0, single-use tonnes within it, and so "
        "what is in scope and what is undecided together.",
    ),
]


def portfolio(wrong: FaultCounts) -> dg.AssetCheckResult:
    """Check whether figures can be computed from the snapshot."""
    return dg.AssetCheckResult(
        check_name="portfolio_is_whole",
        passed=not any(wrong),
        metadata=wrong._asdict(),
    )


def figures(found: Figures, differences: pl.DataFrame) -> list[dg.AssetCheckResult]:
    """Check whether the figures may be published."""
    named = found.tonnes.select(*PERIOD, "category_code")
    scoped = pl.col("in_scope_grams") + pl.col("undecided_grams")
    below = found.tonnes.filter(
        (pl.min_horizontal("single_use_grams", "in_scope_grams", "undecided_grams") < 0)
        | (pl.col("grams") < pl.max_horizontal(pl.col("single_use_grams"), scoped))
    )
    return [
        dg.AssetCheckResult(
            check_name="categories_add_up",
            passed=differences.is_empty(),
            metadata={"periods": named.select(PERIOD).n_unique(), "differing": preview.frame_table(differences)},
        ),
        dg.AssetCheckResult(
            check_name="figures_stand_once",
            passed=not named.is_duplicated().any() and below.is_empty(),
            metadata={"figures": named.height, "impossible": preview.frame_table(below)},
        ),
    ]
