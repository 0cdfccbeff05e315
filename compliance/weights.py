"""Judges the two weights that a SKU may have: the one that was stated, and the sum of its parts.

Every door renders this verdict: a write's warning, an import's report, the item page, the review. Gaps over a whole
portfolio find the same SKUs by SQL (`warehouse.analytics.findings`), with the tolerance that stands here.
"""

import math
from collections.abc import Iterable
from typing import Final, Literal

from schemas.issues import Issue
from schemas.messages import Figure, Message
from schemas.sku import Component

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
