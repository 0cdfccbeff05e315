"""Step 7 of grading.md: computes score and grade of a unit from its parts' effects, and of the SKU from its units."""

from collections.abc import Sequence
from math import floor
from typing import Final, NamedTuple

from compliance.grading.listing import Effect
from compliance.rule_rows import TOLERANCE, Rule
from compliance.ruleset import RuleSet

ORDER: Final = {"not_recyclable": 0, "C": 1, "B": 2, "A": 3}
"""Assessed grades, the worst first."""


class Score(NamedTuple):
    """A unit's grade and score.

    `kept` is the share of the weight that recycling keeps, in percent, `limited` the number of limited features. All
    but the grade are None where the unit's rules were not applied.
    """

    grade: str
    score: float | None = None
    kept: float | None = None
    limited: int | None = None


NOT_ASSESSED: Final = Score("not_assessed")


def score(effects: Sequence[Effect], grams: Sequence[float], total: float, rules: RuleSet) -> Score:
    """Return the unit's score from the effects of its parts and their weights in grams."""
    removed = 0.0
    unlisted: list[tuple[float, float]] = []
    limited: set[tuple[str, str | None]] = set()
    disqualified = not_assessed = False
    for effect, weight in zip(effects, grams, strict=True):
        removed += weight * effect.removed
        limited |= effect.limited
        disqualified |= effect.disqualified
        not_assessed |= effect.not_assessed
        if effect.unlisted:
            unlisted.append((weight, effect.removed))
    if unlisted:
        few = unlisted_rule(sum(weight for weight, _ in unlisted), total, rules)
        if few.effect == "not_assessed":
            not_assessed = True
        else:
            # Once for each part: a row of its own may have removed some of it already.
            removed += sum(weight * max(0.0, few.removed - gone) for weight, gone in unlisted)
            limited.add((few.rule_id, None))
    kept = 100 * (total - removed) / total
    if disqualified:
        return Score("not_recyclable", rules.disqualified_score, kept, len(limited))
    if not_assessed:
        return Score("not_assessed", None, kept, len(limited))
    points = min(kept, rules.cap(len(limited)))
    grade = next((grade for grade, line in rules.grade_lines if points >= line - TOLERANCE), "not_recyclable")
    return Score(grade, points, kept, len(limited))


def unlisted_rule(unlisted: float, total: float, rules: RuleSet) -> Rule:
    """Return the row for parts that no row lists: a few are removed together, more would need a test (step 6)."""
    few = rules.rules["ANY-011c"]
    return few if few.low <= 100 * unlisted / total < few.high else rules.rules["ANY-011d"]


def sku_score(scores: Sequence[Score]) -> Score:
    """Return the SKU's score from its units' scores, the body's first (step 7d)."""
    if len(scores) == 1 or scores[0].grade == "not_assessed":
        return scores[0]
    assessed = [found for found in scores if found.grade != "not_assessed"]
    worst = min(assessed, key=badness)
    return worst if len(assessed) == len(scores) or worst.grade == "not_recyclable" else NOT_ASSESSED


def badness(found: Score) -> tuple[int, float]:
    """Return a sort key for scores of assessed units, the worst first."""
    assert found.score is not None
    return ORDER[found.grade], found.score


def rounded_score(percent: float | None) -> float | None:
    """Return a percentage as it is stored: four decimals, half away from zero, ignoring binary noise below nine."""
    return None if percent is None else floor((percent + TOLERANCE) * 10_000 + 0.5) / 10_000
