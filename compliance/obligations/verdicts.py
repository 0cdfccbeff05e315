"""Where tonnes stand against the thresholds of a market (rollup.md, step 7).

A verdict says where the quantity of a calendar year stands, with the row's source and how sure that is. It is no legal
advice, and never a fee. What the record cannot decide is `undecidable`, with the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

import polars as pl

from compliance.obligations.thresholds import Threshold, thresholds
from compliance.rollup.exact import tonnes
from compliance.rollup.tonnes import Figures

NEAR: Final = Decimal("0.8")
"""The part of a threshold from which a quantity below it is near (decisions, section 10: within 20 %)."""
GROUP_ORDER: Final = {
    "any_above": ("above", "undecidable", "near", "below"),
    "any_below": ("below", "near", "undecidable", "above"),
}
"""The verdict of a duty of several rows: the first of these that one of its rows has."""
_ZERO: Final = Decimal(0)


class Quantities(NamedTuple):
    """Exact tonnes of a market and calendar year: by category code, and of what is not reusable.

    `is_lower_bound` says that SKUs of the year are uncounted.
    """

    by_category: Mapping[str, Decimal]
    single_use: Decimal
    is_lower_bound: bool


@dataclass(frozen=True, slots=True)
class Obligation:
    """One row's answer; `tonnes` is exact, None where the row has no quantity. The verdict and reason are codes."""

    rule: Threshold
    tonnes: Decimal | None
    verdict: str
    reason: str | None
    group_verdict: str | None


def quantities(figures: Figures, market: str, year: int) -> Quantities:
    """The quantities of a market's calendar year, of the figures of a whole portfolio."""
    of_year = (pl.col("market") == market) & (pl.col("year") == year) & (pl.col("half") == 0)
    found = figures.tonnes.filter(of_year)
    return Quantities(
        by_category={code: tonnes(grams) for code, grams in found.select("category_code", "grams").iter_rows()},
        single_use=tonnes(sum(found["single_use_grams"], _ZERO)),
        is_lower_bound=not figures.uncounted.filter(of_year).is_empty(),
    )


def obligations(market: str, held: Quantities) -> list[Obligation]:
    """The answers to the market's own rows, none inherited from its parent, in the order of the table."""
    ruled = [threshold for threshold in thresholds() if threshold.market == market]
    judged = [(threshold, *_judged(threshold, held)) for threshold in ruled]
    verdicts: dict[str, set[str]] = {}
    for threshold, _, verdict, _ in judged:
        if threshold.group:
            verdicts.setdefault(threshold.group, set()).add(verdict)
    return [
        Obligation(
            rule=threshold,
            tonnes=quantity,
            verdict=verdict,
            reason=reason,
            group_verdict=_of_group(threshold.group_rule, verdicts[threshold.group]) if threshold.group else None,
        )
        for threshold, quantity, verdict, reason in judged
    ]


def _judged(threshold: Threshold, held: Quantities) -> tuple[Decimal | None, str, str | None]:
    """Quantity, verdict and reason of one row."""
    quantity = _quantity(threshold, held)
    if threshold.undecidable:
        return quantity, "undecidable", threshold.undecidable
    assert quantity is not None
    assert threshold.threshold_tonnes is not None
    condition = _holds(quantity, threshold.operator, threshold.threshold_tonnes)
    if threshold.needs_turnover and condition == (threshold.needs_turnover == "and"):
        return quantity, "undecidable", "turnover_needed"
    verdict = _verdict(quantity, threshold.operator, threshold.threshold_tonnes)
    return quantity, verdict, "lower_bound" if held.is_lower_bound and verdict != "above" else None


def _quantity(threshold: Threshold, held: Quantities) -> Decimal | None:
    codes = threshold.categories or tuple(held.by_category)
    of_each = [held.by_category.get(code, _ZERO) for code in codes]
    match threshold.scope:
        case "none":
            return None
        case "single_use":
            return held.single_use
        case "largest_category":
            return max(of_each, default=_ZERO)
    return sum(of_each, _ZERO)


def _holds(quantity: Decimal, operator: str, limit: Decimal) -> bool:
    match operator:
        case "gt":
            return quantity > limit
        case "ge":
            return quantity >= limit
        case "lt":
            return quantity < limit
    return quantity <= limit


def _verdict(quantity: Decimal, operator: str, limit: Decimal) -> str:
    """Where the quantity stands: on the limit is above it where the row says *from* (ge) or *below* (lt) the limit."""
    if quantity > limit or (quantity == limit and operator in ("ge", "lt")):
        return "above"
    return "near" if limit > 0 and quantity >= NEAR * limit else "below"


def _of_group(rule: str, verdicts: set[str]) -> str:
    return next(verdict for verdict in GROUP_ORDER[rule] if verdict in verdicts)
