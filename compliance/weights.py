"""Judges weights: the two that a SKU may have (stated, and the sum of its parts), likely ones, and shares of its parts.

Every door renders these verdicts: a write's warning, an import's report, the item page, the review. Gaps over a whole
portfolio find the same SKUs by SQL (`warehouse.figures.reader`), with the tolerance that stands here.
"""

import math
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

import polars as pl

from compliance import ruleset
from compliance.tables import record_of_row, rows
from compliance.words import resolve_format
from schemas.issues import Issue
from schemas.messages import Figure, Message
from schemas.skus.types import Component

TOLERANCE: Final = 0.05 * (1 + 1e-12)
"""Share by which the stated weight and the sum of the parts may differ without a warning (decisions §3).

It is 5 %, and what a difference of floats may be off: 0.315 g are 5 % more than 0.3 g, and no more.
"""
_EQUAL: Final = 1e-9
"""Share within which a weight that was read and is written back is the same: a file may cut its last digits."""

WeightSource = Literal["declared", "components"]
"""Which weight of a SKU is answered: the one that was stated for it, or the sum of its parts (decisions §13)."""


def weight_source(stated_g: float | None, parts_g: float | None) -> WeightSource | None:
    """Return which of the two weights, in g, is answered; None where there is neither."""
    if stated_g is not None:
        return "declared"
    return None if parts_g is None else "components"


def total_g(lines: Iterable[Component]) -> float | None:
    """Return the sum of the weights of the lines of a graph, in g; None where no line has one."""
    weights = [weight for line in lines if (weight := line.get("weight_g")) is not None]
    return float(f"{sum(weights):.9f}") if weights else None


def weight_mismatch(stated_g: float | None, parts_g: float | None) -> Issue | None:
    """Return a warning where the stated weight and the sum of the parts, in g, differ by more than 5 %."""
    if stated_g is None or parts_g is None or abs(stated_g - parts_g) <= TOLERANCE * stated_g:
        return None
    sentence = Message(
        "weight_grams is {total} g and the components weigh {parts} g together; they differ by more than 5 %.",
        total=Figure(f"{stated_g:.15g}"),
        parts=Figure(f"{parts_g:.15g}"),
    )
    return Issue("weight_mismatch", sentence, "weight_grams")


def repeats_sum(sent_g: float, *sums_g: float | None) -> bool:
    """Return whether a weight that is sent, in g, only repeats a sum of parts, which states nothing (decisions §13)."""
    return any(sum_g is not None and math.isclose(sent_g, sum_g, rel_tol=_EQUAL) for sum_g in sums_g)


_FILE: Final = Path(__file__).parent / "likely_weights.csv"


class Bounds(NamedTuple):
    """The least and the greatest likely weight, in g."""

    least_g: float
    most_g: float


@cache
def likely_weights() -> dict[tuple[str, str], Bounds]:
    """Return the bounds by format and level; an empty text stands for any."""
    return {(row["format"], row["level"]): record_of_row(Bounds, row) for row in rows(_FILE)}


@lru_cache(maxsize=1024)
def bounds_of(packaging_format: str | None, level: str | None) -> Bounds:
    """Return the bounds of a packaging by the format that its text names, else by its level.

    A packaging of a known format in a higher level may weigh as much as others of that level.
    """
    likely = likely_weights()
    format_row = resolve_format(packaging_format, ruleset.load()) if packaging_format else None
    of_level = likely.get(("", level or ""), likely["", ""])
    of_format = None if format_row is None else likely.get((format_row.key, ""))
    if of_format is None:
        return of_level
    if level in (None, "", "sales"):
        return of_format
    return Bounds(of_format.least_g, max(of_format.most_g, of_level.most_g))


def is_likely(weights_g: pl.Series) -> pl.Series:
    """Return which weights, in g, one sold packaging of any kind may have; a weight that is not given may."""
    least, most = likely_weights()["", ""]
    return ((weights_g == 0) | weights_g.is_between(least, most)).fill_null(value=True)


def are_likely(values: pl.DataFrame) -> pl.Series:
    """Return which rows of a file have a likely weight, by the format and level that it gives; none given may be."""
    if "weight_grams" not in values.columns:
        return pl.repeat(value=True, n=values.height, eager=True)
    columns = values.select(
        "weight_grams",
        *(
            c if c in values.columns else pl.lit(None, pl.String).alias(c)
            for c in ("packaging_format", "packaging_level")
        ),
    )
    kinds = columns.select("packaging_format", "packaging_level").unique()
    bounds = kinds.with_columns(
        pl.DataFrame([bounds_of(*kind) for kind in kinds.iter_rows()], schema=["least_g", "most_g"], orient="row")
    )
    judged = columns.join(bounds, on=kinds.columns, how="left", nulls_equal=True, maintain_order="left")
    weight = pl.col("weight_grams")
    inside = (weight == 0) | weight.is_between(pl.col("least_g"), pl.col("most_g"))
    return judged.select(inside.fill_null(value=True)).to_series()


def unlikely_weight(weight_g: float | None, packaging_format: str | None, level: str | None) -> Issue | None:
    """Return a warning where a weight, in g, is one that no packaging of its format and level has; 0 says nothing."""
    if not weight_g:
        return None
    least, most = bounds_of(packaging_format, level)
    if least <= weight_g <= most:
        return None
    sentence = Message(
        "{weight} g is an unlikely weight of one packaging: those like it weigh between {least} and {most} g. Check "
        "the unit, and that it is no total.",
        weight=Figure(f"{weight_g:.15g}"),
        least=Figure(f"{least:g}"),
        most=Figure(f"{most:g}"),
    )
    return Issue("unlikely_value", sentence, "weight_grams")


PARTS_SCHEMA: Final = pl.Schema(
    {"sku_code": pl.String(), "grams": pl.Float64(), "share": pl.Float64(), "minimum": pl.Float64()}
)
"""A part: its weight, its share in percent, and the share that its SKU has to reach; the first two may be null."""
JUDGED_SCHEMA: Final = pl.Schema(
    {"sku_code": pl.String(), "least": pl.Float64(), "most": pl.Float64(), "verdict": pl.String()}
)
"""The bounds of a SKU's share in percent, and `meets`, `below` or `undecided`."""
PLACES: Final = 9
"""Sums are compared to so many decimals: products of decimal weights are not exact in floats."""


def judge_shares(parts: pl.DataFrame) -> pl.DataFrame:
    """Return whether a share over a SKU's parts reaches its minimum where some values are missing (decisions §13).

    It is `JUDGED_SCHEMA` of every SKU that has a part in `parts` (`PARTS_SCHEMA`), by its code. The share is the mean
    of the parts' shares by weight: recycled plastic, a polymer's part of the pack. Where a value is missing the least
    and the most possible decide: a missing share is from 0 to 100 %, a missing weight any from 0 on. `meets` and
    `below` are said where every completion of the record says so, else `undecided`.

    The weight of a SKU's only part changes nothing; nor does a part of 0 g beside one that weighs something.
    """
    of_sku = [pl.len().over("sku_code") == 1, ~(pl.col("grams").fill_null(1) > 0).any().over("sku_code")]
    grams = pl.when(of_sku[0]).then(1.0).when(of_sku[1]).then(None).otherwise(pl.col("grams"))
    has_grams, unknown = pl.col("grams").is_not_null(), pl.col("grams").is_null()
    minimum, weight = pl.col("minimum").first(), pl.col("grams").sum()
    columns: dict[str, pl.Expr] = {"weight": weight}
    for bound, missing in (("least", 0.0), ("most", 100.0)):
        share = pl.col("share").fill_null(missing)
        of_unweighed = share.filter(unknown)
        columns |= {
            f"{bound}_over": (pl.col("grams") * (share - pl.col("minimum"))).filter(has_grams).sum().round(PLACES),
            f"{bound}_mean": (pl.col("grams") * share).filter(has_grams).sum() / weight,
            f"{bound}_unweighed": of_unweighed.min() if bound == "least" else of_unweighed.max(),
        }
    judged = (
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
    return judged.select(
        "sku_code",
        pl.min_horizontal(weighed["least"], "least_unweighed").alias("least"),
        pl.max_horizontal(weighed["most"], "most_unweighed").alias("most"),
        verdict.alias("verdict"),
    ).sort("sku_code")
