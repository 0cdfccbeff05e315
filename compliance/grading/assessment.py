"""Assesses a unit and a SKU: steps 2 to 7 of grading.md in order, keeping everything that the trace reports."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Final, NamedTuple

from compliance.grading.firing import Effect, Face, Outcome, face, facts_of, outcome, shares_held
from compliance.grading.units import (
    LAYERS,
    Part,
    Unit,
    Weighed,
    lightweight_exemption,
    lines,
    missing_facts,
    outside_article_6,
    packaging_format,
    parts,
    predominant_group,
    stream_row,
    units,
)
from compliance.rule_rows import TOLERANCE, Rule
from compliance.ruleset import RuleSet
from schemas.messages import Message
from schemas.skus.types import Sku

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
    assessed = [unit_score for unit_score in scores if unit_score.grade != "not_assessed"]
    worst = min(assessed, key=badness)
    return worst if len(assessed) == len(scores) or worst.grade == "not_recyclable" else NOT_ASSESSED


def badness(unit_score: Score) -> tuple[int, float]:
    """Return a sort key for scores of assessed units, the worst first."""
    assert unit_score.score is not None
    return ORDER[unit_score.grade], unit_score.score


def rounded_score(percent: float | None) -> float | None:
    """Return a percentage as it is stored: four decimals, half away from zero, ignoring binary noise below nine."""
    return None if percent is None else floor((percent + TOLERANCE) * 10_000 + 0.5) / 10_000


@dataclass(slots=True)
class UnitAssessment:
    """One unit with the rules' results for its parts; without a stream no rules were applied. `missing` are fields."""

    unit: Unit
    result: Score = NOT_ASSESSED
    group: str | None = None
    stream: str | None = None
    missing: list[str] = field(default_factory=list)
    total: float = 0.0
    faces: Sequence[Face] = ()
    held: Sequence[tuple[bool, ...]] = ()
    outcomes: Sequence[Outcome] = ()

    def effects(self) -> list[Effect]:
        """Return the effects of the parts, in their order."""
        return [outcome.effect for outcome in self.outcomes]

    def without_row(self) -> Iterator[tuple[Weighed, Part]]:
        """Yield each given material that no guideline row covers, with its member: listed nowhere, or read by analogy.

        It is a reason of its own and no missing fact: nothing more can be asked for.
        """
        for owner, part, result in zip(self.unit.owners, self.unit.parts, self.outcomes, strict=False):
            if (result.by_analogy or result.effect.unlisted) and part.is_given:
                yield self.unit.members[owner], part

    def unlisted(self, rules: RuleSet) -> Rule | None:
        """Return the row that applies to every part that no row lists; None where all are listed."""
        grams = [g for g, outcome in zip(self.unit.grams, self.outcomes, strict=False) if outcome.effect.unlisted]
        return unlisted_rule(sum(grams), self.total, rules) if grams else None


@dataclass(slots=True)
class Assessment:
    """An assessed SKU. `why_none` is the sentence why there is no grade at all; then the units are empty."""

    result: Score
    units: Sequence[UnitAssessment] = ()
    missing: Sequence[str] = ()
    why_none: Message | None = None


def assess(record: Sku, rules: RuleSet) -> Assessment:
    """Return the record's units, graded; step 8 decides afterwards whether the grade is provisional."""
    weighed = parts(record, rules)
    if not weighed:
        return Assessment(NOT_ASSESSED, missing=["material"])
    if lines(record) and not any(w.part.component_type == "body" for w in weighed):
        return Assessment(NOT_ASSESSED, missing=["components"])
    pack_format = packaging_format(record, rules)
    if why := outside_article_6(record, pack_format):
        return Assessment(NOT_ASSESSED, why_none=why)
    return conclude(record, [assess_unit(unit, rules) for unit in units(weighed, pack_format)], rules)


def conclude(record: Sku, assessed: Sequence[UnitAssessment], rules: RuleSet) -> Assessment:
    """Return the SKU's result from its units' results, the body's first."""
    if why := lightweight_exemption(record, assessed[0].group):
        return Assessment(NOT_ASSESSED, why_none=why)
    missing = [name for unit in assessed for name in _asked_for(unit, rules)]
    return Assessment(sku_score([unit.result for unit in assessed]), assessed, list(dict.fromkeys(missing)))


def _asked_for(assessed: UnitAssessment, rules: RuleSet) -> list[str]:
    """Return the unit's missing fields; a material that no row lists is one unless it is given (issue 37)."""
    rule = assessed.unlisted(rules)
    if rule is None or rule.effect != "not_assessed":
        return assessed.missing
    members = zip(assessed.unit.members, assessed.outcomes, strict=False)
    unlisted = (m for m, outcome in members if outcome.effect.unlisted and not m.part.is_given)
    return [*assessed.missing, *(member.field("polymer_or_grade") for member in unlisted)]


def assess_unit(unit: Unit, rules: RuleSet) -> UnitAssessment:
    """Take one unit through steps 4b to 7c."""
    if missing := missing_facts(unit):
        return UnitAssessment(unit, missing=missing)
    group = predominant_group(unit)
    row = stream_row(unit, group, rules)
    if row is None:
        return UnitAssessment(unit, group=group, missing=["packaging_format"])
    if row.stream is None:
        return UnitAssessment(unit, group=group, missing=["components"] if row.reason == "components" else [])
    total = sum(unit.grams)
    facts = facts_of(unit)
    faces = [
        face(rules, row.stream, matched, part, facts) for part, matched in zip(unit.parts, unit.types, strict=True)
    ]
    bands = shares_held(unit, faces, total, rules)
    outcomes = [outcome(rules, seen, answer) for seen, answer in zip(faces, bands, strict=True)]
    result = score([outcome.effect for outcome in outcomes], unit.grams, total, rules)
    return UnitAssessment(unit, result, group, row.stream, [], total, faces, bands, outcomes)


def with_part(before: UnitAssessment, at: int, part: Part, rules: RuleSet) -> UnitAssessment:
    """Assess a unit as if it had another part in one place.

    What is known of the other parts stays where that part weighs nothing and is no layer: it changes no share, and
    nothing that the others' rows read of the unit.
    """
    unit = before.unit.with_part(at, part)
    is_apart = not unit.grams[at] and unit.types[at] not in LAYERS and part.carried == before.unit.parts[at].carried
    if not is_apart or missing_facts(unit):
        return assess_unit(unit, rules)
    group = predominant_group(unit)
    row = stream_row(unit, group, rules)
    if row is None or row.stream is None or row.stream != before.stream:
        return assess_unit(unit, rules)
    seen = face(rules, row.stream, unit.types[at], part, facts_of(unit))
    [bands] = shares_held(unit, [seen], before.total, rules)
    faces, held, outcomes = list(before.faces), list(before.held), list(before.outcomes)
    faces[at], held[at], outcomes[at] = seen, bands, outcome(rules, seen, bands)
    result = score([outcome.effect for outcome in outcomes], unit.grams, before.total, rules)
    return UnitAssessment(unit, result, group, row.stream, [], before.total, faces, held, outcomes)
