"""Checks that a snapshot is whole and that its figures equal the placed weight, by a second computation in floats.

It shares no step with the rollup: weights are summed per SKU, times units, per market and period. Where SKUs are
uncounted the figures may be less, never more; a year of which one half is there is that half, neither less nor more.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.rollup.periods import HALF_YEARLY, market_of
from compliance.rollup.tonnes import Figures
from warehouse.snapshots import Snapshot

PERIOD: Final = ("market", "year", "half")
_TOLERANCE: Final = 1e-9
_YEAR: Final = 0
_OF_PERIODS: Final = ("half_missing", "half_year_conflict")
"""Reasons that are about the rows of a period: what is there counts."""


class FaultCounts(NamedTuple):
    """Faulty rows of a snapshot, by fault."""

    codes_twice: int
    components_of_no_sku: int
    volumes_of_no_sku: int
    below_zero: int


def count_faults(snapshot: Snapshot) -> FaultCounts:
    """Count the rows that no complete snapshot has; all counts should be 0."""
    codes = pl.scan_parquet(snapshot.skus).select("sku_code")
    components, volumes = pl.scan_parquet(snapshot.components), pl.scan_parquet(snapshot.volumes)
    counts = [
        codes.select(pl.len() - pl.col("sku_code").n_unique()),
        components.join(codes, on="sku_code", how="anti").select(pl.len()),
        volumes.join(codes, on="sku_code", how="anti").select(pl.len()),
        pl.concat(
            [
                components.select((pl.col("weight_g") < 0).sum()).select(pl.all().cast(pl.UInt32).alias("rows")),
                volumes.select((pl.col("units_placed") < 0).sum()).select(pl.all().cast(pl.UInt32).alias("rows")),
            ]
        ).sum(),
    ]
    return FaultCounts(*(int(frame.item()) for frame in pl.collect_all(counts)))


def impossible(tonnes: pl.DataFrame) -> pl.DataFrame:
    """Return the figures that cannot be: below 0, or less than single use, or than what is in scope and undecided."""
    scoped = pl.col("in_scope_grams") + pl.col("undecided_grams")
    return tonnes.filter(
        (pl.min_horizontal("single_use_grams", "in_scope_grams", "undecided_grams") < 0)
        | (pl.col("grams") < pl.max_horizontal(pl.col("single_use_grams"), scoped))
    )


def differences(snapshot: Snapshot, figures: Figures, jurisdictions: Mapping[str, Jurisdiction]) -> pl.DataFrame:
    """Return the periods whose counted grams differ from the placed: `market`, `year`, `half`, `counted`, `placed`."""
    counted = figures.tonnes.group_by(PERIOD).agg(pl.col("grams").sum().cast(pl.Float64).alias("counted"))
    not_of_periods = ~pl.col("reason").is_in(_OF_PERIODS)
    gaps = figures.uncounted.filter(not_of_periods).select(PERIOD).unique()
    gaps = gaps.with_columns(pl.lit(value=True).alias("has_gaps"))
    compared = counted.join(_placed(snapshot, jurisdictions), on=PERIOD, how="left").join(gaps, on=PERIOD, how="left")
    more = pl.col("counted") > pl.col("placed") * (1 + _TOLERANCE)
    less = pl.col("counted") < pl.col("placed") * (1 - _TOLERANCE)
    incomplete = pl.col("has_gaps").fill_null(value=False)
    return compared.filter(pl.col("placed").is_null() | more | (less & ~incomplete)).select(
        *PERIOD, "counted", "placed"
    )


def _placed(snapshot: Snapshot, jurisdictions: Mapping[str, Jurisdiction]) -> pl.DataFrame:
    """Sum the grams of everything placed, by period; in a half-yearly market a year is its own row, else its halves."""
    own = pl.scan_parquet(snapshot.skus).select("sku_code", pl.col("weight_grams").fill_null(0).alias("own"))
    parts = pl.scan_parquet(snapshot.components).group_by("sku_code").agg(pl.col("weight_g").sum().alias("parts"))
    grams = own.join(parts, on="sku_code", how="left").select("sku_code", pl.coalesce("parts", "own").alias("grams"))
    volumes = pl.scan_parquet(snapshot.volumes).filter(pl.col("units_placed").is_not_null())
    codes = volumes.select(pl.col("market").unique()).collect()["market"]
    markets = {code: market_of(code, jurisdictions) for code in codes}
    rows = volumes.with_columns(pl.col("market").replace(markets)).join(grams, on="sku_code", how="inner")
    placed = rows.with_columns((pl.col("grams") * pl.col("units_placed")).alias("placed"))
    has_year = (pl.col("half") == _YEAR).any().over("sku_code", "market", "year")
    years = placed.filter(pl.col("market").is_in(HALF_YEARLY)).filter(~has_year)
    every = pl.concat([placed, years.with_columns(pl.lit(_YEAR, pl.Int8).alias("half"))])
    return every.group_by(PERIOD).agg(pl.col("placed").sum()).collect()
