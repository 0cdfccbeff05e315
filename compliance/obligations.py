"""Compares tonnes with the thresholds of a market (rollup.md, step 7).

A verdict compares the quantity of a calendar year with the threshold, and names the row's source and confidence. It is
no legal advice, and never a fee. What the record cannot decide is `undecidable`, with the reason; a missing fact makes
undecidable only what it could change.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from compliance.rollup.categories import schemes
from compliance.rollup.exact import tonnes
from compliance.rollup.periods import halves_of
from compliance.rollup.tonnes import Figures
from compliance.rule_rows import COMPARISONS
from compliance.scopes import IN, OUT, Judgement, Standing, asked_fields, judge_scope, scopes
from compliance.tables import RULES, Row, Years, is_confidence, record_of_row, refuse, rows, words, years_of

PINNED: Final = RULES / "catalogue" / "thresholds.csv"
GROUP_RULES: Final = frozenset({"any_above", "any_below"})
"""How several rows make one duty: due as soon as one is reached, or exempt as soon as one is."""
_SCOPE_TYPES: Final = frozenset({"all", "single_use", "category", "largest_category", "none"})
_OPERATORS: Final = frozenset({"", *COMPARISONS})
_REASONS: Final = frozenset({"no_number", "turnover_needed", "record_lacks_fact", "unit_count"})


@dataclass(frozen=True, slots=True)
class Threshold:
    """One row: the tonnes that count, the quantity that they are compared with, and the source.

    `scope_type` says which categories are summed, `scope_key` which packaging of them counts. `needs_turnover` is `and`
    or `or` where a turnover, which no record has, decides together with the tonnes, else empty. `undecidable` is the
    reason where tonnes decide nothing, else None. `years` are those whose tonnes it is about.
    """

    market: str
    obligation: str
    material: str
    scope_type: str
    scope_key: str
    categories: tuple[str, ...]
    threshold_tonnes: Decimal | None
    operator: str
    needs_turnover: str
    undecidable: str | None
    group: str | None
    group_rule: str
    source_url: str
    confidence: str
    scope_confidence: str
    years: Years


@cache
def thresholds() -> tuple[Threshold, ...]:
    """Return the rows that come with the release, in the order of the table."""
    return read(PINNED)


def read(path: Path) -> tuple[Threshold, ...]:
    """Return the thresholds of a file. Raise `TableError` with every fault found."""
    table = rows(path)
    faults = [f"{row['code']} {row['obligation']}: {fault}." for row in table for fault in _faults(row)]
    refuse(path.name, faults)
    thresholds = tuple(_threshold(row) for row in table)
    refuse(path.name, _group_faults(thresholds))
    return thresholds


def _threshold(row: Row) -> Threshold:
    return record_of_row(
        Threshold,
        row,
        market=row["code"],
        categories=words(row["scope_value"]),
        threshold_tonnes=Decimal(row["tonnes"]) if row["tonnes"] else None,
        operator=row["tonnes_operator"],
        needs_turnover=row["combine"],
        undecidable=row["undecidable_reason"] or None,
        years=years_of(row),
    )


def _faults(row: Row) -> Iterator[str]:
    decidable = row["decidable"] == "Y"
    if row["scope_type"] not in _SCOPE_TYPES or row["tonnes_operator"] not in _OPERATORS:
        yield "scope_type or tonnes_operator has an unknown value"
    if bool(row["tonnes"]) != bool(row["tonnes_operator"]):
        yield "tonnes and tonnes_operator stand together or not at all"
    if decidable and (not row["tonnes"] or row["scope_type"] == "none" or row["undecidable_reason"]):
        yield "a decidable row has a number and a scope, and no undecidable_reason"
    if not decidable and row["undecidable_reason"] not in _REASONS:
        yield "a row that is not decidable says why"
    if decidable and (row["combine"] not in ("", "and", "or") or bool(row["combine"]) != bool(row["turnover"])):
        yield "combine is and or or where there is a turnover, else empty"
    if bool(row["group"]) != (row["group_rule"] in GROUP_RULES):
        yield "a group has the rule any_above or any_below"
    codes = {category.code for category in schemes().get(row["code"], ())}
    yield from (f"{code} is no category of the market" for code in words(row["scope_value"]) if code not in codes)
    if row["scope_key"] not in scopes():
        yield f"{row['scope_key']} is no scope"
    if not row["source_url"] or not is_confidence(row["confidence"]) or not is_confidence(row["scope_confidence"]):
        yield "no source, or not said how sure it is"


def _group_faults(table: Sequence[Threshold]) -> Iterator[str]:
    duties: dict[str, set[tuple[str, str, str]]] = {}
    for row in table:
        if row.group:
            duties.setdefault(row.group, set()).add((row.market, row.obligation, row.group_rule))
    yield from (f"The rows of {group} are not one duty." for group, kinds in duties.items() if len(kinds) > 1)


NEAR: Final = Decimal("0.8")
"""The part of a threshold from which a quantity below it is near (decisions, section 10: within 20 %)."""
GROUP_ORDER: Final = {
    "any_above": ("above", "undecidable", "near", "below"),
    "any_below": ("below", "near", "undecidable", "above"),
}
"""The verdict of a duty of several rows: the first of these that one of its rows has."""
_ZERO: Final = Decimal(0)


class Quantity(NamedTuple):
    """Exact tonnes of one category: of the SKUs that are in a scope, and of those together with the undecided ones."""

    sure: Decimal = _ZERO
    upper: Decimal = _ZERO

    def plus(self, verdict: str, more: Decimal) -> "Quantity":
        """Return the sum with these tonnes, which a scope judged in, out or ask."""
        sure, upper = more if verdict == IN else _ZERO, _ZERO if verdict == OUT else more
        return Quantity(self.sure + sure, self.upper + upper)


class Quantities(NamedTuple):
    """Exact tonnes of a market and calendar year by category code and standing (`compliance.scopes`).

    `is_lower_bound` says that SKUs of the year are uncounted, `missing_half` that a half of it is not there, so that
    the tonnes are less than the year's.
    """

    by_standing: Mapping[tuple[str, Standing], Decimal]
    is_lower_bound: bool
    missing_half: int | None = None


@dataclass(frozen=True, slots=True)
class Obligation:
    """The answer for one row; the verdict and reason are codes.

    `tonnes` are exact tonnes in scope, `tonnes_upper` includes the undecided ones; None where the row has no quantity.
    `fields` are the missing facts that make it undecidable. `group_verdict` is that of all rows of the duty together.
    """

    rule: Threshold
    tonnes: Decimal | None
    tonnes_upper: Decimal | None
    verdict: str
    reason: str | None = None
    fields: tuple[str, ...] = ()
    group_verdict: str | None = None


def quantities(figures: Figures, market: str, year: int) -> Quantities:
    """Return the quantities of a market's calendar year, from the figures of a whole portfolio."""
    of_year = (pl.col("market") == market) & (pl.col("year") == year)
    of_standings = figures.standings.filter(of_year).select("category_code", "standing", "grams")
    halves = halves_of(figures.halves, market, year)
    return Quantities(
        by_standing={
            (code, Standing.from_code(standing)): tonnes(grams) for code, standing, grams in of_standings.iter_rows()
        },
        is_lower_bound=not figures.uncounted.filter(of_year & (pl.col("half") == 0)).is_empty(),
        missing_half=halves.missing if halves else None,
    )


def obligations(market: str, quantities: Quantities, year: int) -> list[Obligation]:
    """Return the answers for the market's own rows of a calendar year, none inherited, in the order of the table."""
    answers = [_answer(row, quantities) for row in thresholds() if row.market == market and row.years.hold(year)]
    verdicts: dict[str, set[str]] = {}
    for answer in answers:
        if answer.rule.group:
            verdicts.setdefault(answer.rule.group, set()).add(answer.verdict)
    return [
        replace(answer, group_verdict=_of_group(answer.rule.group_rule, verdicts[answer.rule.group]))
        if answer.rule.group
        else answer
        for answer in answers
    ]


def _answer(threshold: Threshold, quantities: Quantities) -> Obligation:
    """Return the answer for one row by itself."""
    quantity = _quantity(threshold, quantities)
    sure, upper = quantity or (None, None)
    answer = partial(Obligation, threshold, sure, upper)
    if threshold.undecidable:
        return answer("undecidable", threshold.undecidable)
    assert quantity is not None
    assert threshold.threshold_tonnes is not None
    holds = COMPARISONS[threshold.operator]
    conditions = {holds(tonnes, threshold.threshold_tonnes) for tonnes in quantity}
    if len(conditions) > 1:
        return answer("undecidable", "scope_fact_missing", _fields(threshold, quantities))
    # A condition that no further tonnes can undo (rollup.md, step 7, 4a).
    is_kept_by_more = threshold.operator in ("gt", "ge")
    if quantities.missing_half and conditions != {is_kept_by_more}:
        return answer("undecidable", "record_lacks_fact", (f"units of half {quantities.missing_half}",))
    if threshold.needs_turnover and conditions == {threshold.needs_turnover == "and"}:
        return answer("undecidable", "turnover_needed")
    verdict = _verdict(quantity.upper, threshold.operator, threshold.threshold_tonnes)
    return answer(verdict, "lower_bound" if quantities.is_lower_bound and verdict != "above" else None)


def _counted(threshold: Threshold, quantities: Quantities) -> Iterator[tuple[str, Judgement, Decimal]]:
    """Yield what the row counts: category, its scope's judgement, tonnes."""
    for (code, standing), weight in quantities.by_standing.items():
        of_category = not threshold.categories or code in threshold.categories
        if of_category and (threshold.scope_type != "single_use" or standing.is_single_use):
            yield code, judge_scope(threshold.scope_key, standing), weight


def _quantity(threshold: Threshold, quantities: Quantities) -> Quantity | None:
    """Return the tonnes that the row compares: of all its categories, or of the largest; None where it has none."""
    if threshold.scope_type == "none":
        return None
    by_category: dict[str, Quantity] = {}
    for code, judgement, weight in _counted(threshold, quantities):
        by_category[code] = by_category.get(code, Quantity()).plus(judgement.verdict, weight)
    sure, upper = ([getattr(sums, name) for sums in by_category.values()] for name in Quantity._fields)
    if threshold.scope_type == "largest_category":
        return Quantity(max(sure, default=_ZERO), max(upper, default=_ZERO))
    return Quantity(sum(sure, _ZERO), sum(upper, _ZERO))


def _fields(threshold: Threshold, quantities: Quantities) -> tuple[str, ...]:
    """Return the facts that the undecided SKUs lack, each once, in the order of the facts."""
    missing = {field for _, judgement, _ in _counted(threshold, quantities) for field in judgement.fields}
    return tuple(field for field in asked_fields() if field in missing)


def _verdict(quantity: Decimal, operator: str, limit: Decimal) -> str:
    """Compare the quantity with the limit: equal is above where the row says *from* (ge) or *below* (lt) the limit."""
    if quantity > limit or (quantity == limit and operator in ("ge", "lt")):
        return "above"
    return "near" if limit > 0 and quantity >= NEAR * limit else "below"


def _of_group(rule: str, verdicts: set[str]) -> str:
    return next(verdict for verdict in GROUP_ORDER[rule] if verdict in verdicts)
