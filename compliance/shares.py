"""Decides whether a share over the parts of a SKU reaches a minimum where some values are missing (decisions §13).

The share is the mean of the parts' shares by weight: recycled plastic, a polymer's part of the pack. Where a value is
missing the least and the most possible decide: a missing share is from 0 to 100 %, a missing weight any from 0 on.
`meets` and `below` are said where every completion of the record says so, else `undecided`.
"""

from typing import Final

import polars as pl

PARTS_SCHEMA: Final = pl.Schema(
    {"sku_code": pl.String(), "grams": pl.Float64(), "share": pl.Float64(), "minimum": pl.Float64()}
)
"""A part: its weight, its share in percent, and the share that its SKU has to reach; the first two may be null."""
JUDGED_SCHEMA: Final = pl.Schema(
    {"sku_code": pl.String(), "least": pl.Float64(), "most": pl.Float64(), "verdict": pl.String()}
)
"""The bounds of a SKU's share in percent, and `meets`, `below` or `undecided`."""
_PLACES: Final = 9
"""Sums are compared to so many decimals: products of decimal weights are not exact in floats."""


def judge_shares(parts: pl.DataFrame) -> pl.DataFrame:
    """Return `JUDGED_SCHEMA` of every SKU that has a part in `parts` (`PARTS_SCHEMA`), by its code.

    The weight of a SKU's only part changes nothing; nor does a part of 0 g beside one that weighs something.
    """
    of_sku = [pl.len().over("sku_code") == 1, ~(pl.col("grams").fill_null(1) > 0).any().over("sku_code")]
    grams = pl.when(of_sku[0]).then(1.0).when(of_sku[1]).then(None).otherwise(pl.col("grams"))
    known, unknown = pl.col("grams").is_not_null(), pl.col("grams").is_null()
    minimum, weight = pl.col("minimum").first(), pl.col("grams").sum()
    columns: dict[str, pl.Expr] = {"weight": weight}
    for bound, missing in (("least", 0.0), ("most", 100.0)):
        share = pl.col("share").fill_null(missing)
        of_unweighed = share.filter(unknown)
        columns |= {
            f"{bound}_over": (pl.col("grams") * (share - pl.col("minimum"))).filter(known).sum().round(_PLACES),
            f"{bound}_mean": (pl.col("grams") * share).filter(known).sum() / weight,
            f"{bound}_unweighed": of_unweighed.min() if bound == "least" else of_unweighed.max(),
        }
    found = (
        parts.with_columns(grams.alias("grams"))
        .group_by("sku_code")
        .agg(minimum.alias("minimum"), **columns)
        .with_columns(has_weight=pl.col("weight") > 0)
    )
    weighed = {bound: pl.when("has_weight").then(f"{bound}_mean") for bound in ("least", "most")}
    may_be_below = (pl.col("has_weight") & (pl.col("least_over") < 0)) | (
        pl.col("least_unweighed") < pl.col("minimum")
    ).fill_null(value=False)
    reached_by_itself = (pl.col("most_unweighed") > pl.col("minimum")) | (
        ~pl.col("has_weight") & (pl.col("most_unweighed") >= pl.col("minimum"))
    )
    may_meet = (pl.col("has_weight") & (pl.col("most_over") >= 0)) | reached_by_itself.fill_null(value=False)
    verdict = (
        pl.when(~may_be_below)
        .then(pl.lit("meets"))
        .when(~may_meet)
        .then(pl.lit("below"))
        .otherwise(pl.lit("undecided"))
    )
    return found.select(
        "sku_code",
        pl.min_horizontal(weighed["least"], "least_unweighed").alias("least"),
        pl.max_horizontal(weighed["most"], "most_unweighed").alias("most"),
        verdict.alias("verdict"),
    ).sort("sku_code")
