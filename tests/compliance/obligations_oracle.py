"""Section 7 of rollup.md once more, slowly: each obligation's verdict, SKU after SKU in exact fractions.

As `rollup_oracle`, on which it stands, it shares no code with what it is compared with.
"""

import operator
from fractions import Fraction

from compliance.tables import RULES, rows
from tests.compliance.rollup_oracle import cells, figures, halves_held, holds_in, of_sku, scope, units

THRESHOLDS = rows(RULES / "catalogue" / "thresholds.csv")
HOLDS = {"gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le}


def quantity(row, skus, market, year, verdicts):
    """Tonnes of the SKUs of which the row's scope says one of these."""
    of_each = {}
    for sku in skus:
        number, _ = units(sku, market, year, 0)
        if not number or scope(sku, row["scope_key"])[0] not in verdicts:
            continue
        if row["scope_type"] == "single_use" and sku["reusable"] is True:
            continue
        for code, (weight, _) in of_sku(sku, market, year)[0].items():
            if not row["scope_value"] or code in cells(row["scope_value"]):
                of_each[code] = of_each.get(code, 0) + weight * number / 1_000_000
    pick = max if row["scope_type"] == "largest_category" else sum
    return None if row["scope_type"] == "none" else pick(of_each.values()) if of_each else Fraction(0)


def lacking(row, skus, market, year):
    """What the undecided SKUs of the row's categories lack."""
    found = set()
    for sku in skus:
        verdict, fields = scope(sku, row["scope_key"])
        if verdict != "ask" or not units(sku, market, year, 0)[0]:
            continue
        if row["scope_type"] == "single_use" and sku["reusable"] is True:
            continue
        total = of_sku(sku, market, year)[0]
        if any(not row["scope_value"] or code in cells(row["scope_value"]) for code in total):
            found.update(fields)
    return found


def verdict_of(row, skus, market, year, is_lower_bound):
    """(q, q+, verdict, reason, set of fields)."""
    sure = quantity(row, skus, market, year, ("in",))
    upper = quantity(row, skus, market, year, ("in", "ask"))
    if row["decidable"] == "N":
        return sure, upper, "undecidable", row["undecidable_reason"], set()
    limit, holds = Fraction(row["tonnes"]), HOLDS[row["tonnes_operator"]]
    if holds(sure, limit) != holds(upper, limit):
        return sure, upper, "undecidable", "scope_fact_missing", lacking(row, skus, market, year)
    missing = halves_held(skus, market, year)[1]
    if missing and holds(sure, limit) != (row["tonnes_operator"] in ("gt", "ge")):
        return sure, upper, "undecidable", "record_lacks_fact", {f"units of half {missing}"}
    if (row["combine"], holds(sure, limit)) in (("and", True), ("or", False)):
        return sure, upper, "undecidable", "turnover_needed", set()
    reached = upper >= limit if row["tonnes_operator"] in ("ge", "lt") else upper > limit
    if reached:
        return sure, upper, "above", None, set()
    near = limit > 0 and upper >= limit * Fraction(4, 5)
    return sure, upper, "near" if near else "below", "lower_bound" if is_lower_bound else None, set()


def obligations(skus, market, year):
    """The answers to the market's own rows, in the file's order, each with its duty's verdict."""
    is_lower_bound = bool(figures(skus, market, year, 0)[1])
    own = [row for row in THRESHOLDS if row["code"] == market and holds_in(row, year)]
    answers = [verdict_of(row, skus, market, year, is_lower_bound) for row in own]
    order = {
        "any_above": ("above", "undecidable", "near", "below"),
        "any_below": ("below", "near", "undecidable", "above"),
    }
    found = []
    for row, answer in zip(own, answers, strict=True):
        of_group = [each[2] for other, each in zip(own, answers, strict=True) if other["group"] == row["group"]]
        first = next((verdict for verdict in order.get(row["group_rule"], ()) if verdict in of_group), None)
        found.append((*answer, first))
    return found
