"""Checks that a snapshot is whole and that its figures equal the placed weight, by a second computation in floats.

It shares no step with the rollup: weights are summed per SKU, times units, per market and period. Where SKUs are
uncounted the figures may be less, never more.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.rollup.periods import market_of
from compliance.rollup.tonnes import Figures
from warehouse.snapshots import Snapshot

PERIOD: Final = ("market", "year", "half")
_TOLERANCE: Final = 1e-9
_YEAR: Final = 0


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


def differences(snapshot: Snapshot, figures: Figures, jurisdictions: Mapping[str, Jurisdiction]) -> pl.DataFrame:
    """Return the periods whose counted grams differ from the placed: `market`, `year`, `half`, `counted`, `placed`."""
    counted = figures.tonnes.group_by(PERIOD).agg(pl.col("grams").sum().cast(pl.Float64).alias("counted"))
    gaps = figures.uncounted.select(PERIOD).unique().with_columns(pl.lit(value=True).alias("has_gaps"))
    compared = counted.join(_placed(snapshot, jurisdictions), on=PERIOD, how="left").join(gaps, on=PERIOD, how="left")
    more = pl.col("counted") > pl.col("placed") * (1 + _TOLERANCE)
    less = pl.col("counted") < pl.col("placed") * (1 - _TOLERANCE)
    incomplete = pl.col("has_gaps").fill_null(value=False) | ((pl.col("market") == "GB") & (pl.col("half") == _YEAR))
    return compared.filter(pl.col("placed").is_null() | more | (less & ~incomplete)).select(
        *PERIOD, "counted", "placed"
    )


def _placed(snapshot: Snapshot, jurisdictions: Mapping[str, Jurisdiction]) -> pl.DataFrame:
    """Sum the grams of everything placed, by period; a year also contains the rows of its halves."""
    own = pl.scan_parquet(snapshot.skus).select("sku_code", pl.col("weight_grams").fill_null(0).alias("own"))
    parts = pl.scan_parquet(snapshot.components).group_by("sku_code").agg(pl.col("weight_g").sum().alias("parts"))
    grams = own.join(parts, on="sku_code", how="left").select("sku_code", pl.coalesce("parts", "own").alias("grams"))
    rows = (
        pl.scan_parquet(snapshot.volumes)
        .join(grams, on="sku_code", how="inner")
        .group_by(PERIOD)
        .agg((pl.col("grams") * pl.col("units_placed")).sum().alias("placed"))
        .collect()
    )
    markets = {code: market_of(code, jurisdictions) for code in rows["market"].unique()}
    rows = rows.with_columns(pl.col("market").replace(markets))
    years = rows.filter(pl.col("half") > _YEAR).with_columns(pl.lit(_YEAR, pl.Int8).alias("half"))
    return pl.concat([rows, years]).group_by(PERIOD).agg(pl.col("placed").sum())
