"""Judges the two weights that a SKU may have: the one that was stated, and the sum of its parts.

Every door renders this verdict: a write's warning, an import's report, the item page, the review. Gaps over a whole
portfolio find the same SKUs by SQL (`warehouse.figures.reader`), with the tolerance that stands here.
"""

import csv
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

import polars as pl

from compliance import ruleset
from compliance.words import resolve_format
from schemas.issues import Issue
from schemas.messages import Figure, Message
from schemas.skus.types import Component

TOLERANCE: Final = 0.05
"""Share by which the stated weight and the sum of the parts may differ without a warning (decisions §3)."""
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
        total=Figure(f"{stated_g:g}"),
        parts=Figure(f"{parts_g:g}"),
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
    with _FILE.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return {(r["format"], r["level"]): Bounds(float(r["least_g"]), float(r["most_g"])) for r in rows}


def bounds_of(packaging_format: str | None, level: str | None) -> Bounds:
    """Return the bounds of a packaging by the format that its text names, else by its level.

    A packaging of a known format in a higher level may weigh as much as others of that level.
    """
    known = likely_weights()
    found = resolve_format(packaging_format, ruleset.load()) if packaging_format else None
    of_level = known.get(("", level or ""), known["", ""])
    of_format = None if found is None else known.get((found.key, ""))
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
    given = values.select(
        "weight_grams",
        *(
            c if c in values.columns else pl.lit(None, pl.String).alias(c)
            for c in ("packaging_format", "packaging_level")
        ),
    )
    kinds = given.select("packaging_format", "packaging_level").unique()
    bounds = kinds.with_columns(
        pl.DataFrame([bounds_of(*kind) for kind in kinds.iter_rows()], schema=["least_g", "most_g"], orient="row")
    )
    judged = given.join(bounds, on=kinds.columns, how="left", nulls_equal=True, maintain_order="left")
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
