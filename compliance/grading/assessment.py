"""Assesses a unit and a SKU: steps 2 to 7 of grading.md in order, keeping everything that the trace reports."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from compliance.grading.components import lines, parts
from compliance.grading.firing import Face, face, facts_of, shares_held
from compliance.grading.listing import Effect, Outcome, outcome
from compliance.grading.score import NOT_ASSESSED, Score, score, sku_score, unlisted_rule
from compliance.grading.units import (
    Unit,
    lightweight_exemption,
    missing_facts,
    outside_article_6,
    packaging_format,
    predominant_group,
    stream_row,
    units,
)
from compliance.rule_rows import Rule
from compliance.ruleset import RuleSet
from schemas.messages import Message
from schemas.sku import Sku


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
        return [found.effect for found in self.outcomes]

    def unlisted(self, rules: RuleSet) -> Rule | None:
        """Return the row that applies to every part that no row lists; None where all are listed."""
        grams = [g for g, found in zip(self.unit.grams, self.outcomes, strict=False) if found.effect.unlisted]
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
    found = packaging_format(record, rules)
    if why := outside_article_6(record, found):
        return Assessment(NOT_ASSESSED, why_none=why)
    return conclude(record, [assess_unit(unit, rules) for unit in units(weighed, found)], rules)


def conclude(record: Sku, assessed: Sequence[UnitAssessment], rules: RuleSet) -> Assessment:
    """Return the SKU's result from its units' results, the body's first."""
    if why := lightweight_exemption(record, assessed[0].group):
        return Assessment(NOT_ASSESSED, why_none=why)
    missing = [name for unit in assessed for name in _asked_for(unit, rules)]
    return Assessment(sku_score([unit.result for unit in assessed]), assessed, list(dict.fromkeys(missing)))


def _asked_for(assessed: UnitAssessment, rules: RuleSet) -> list[str]:
    """Return the unit's missing fields; a material that no row lists is asked for again (step 6, fourth case)."""
    rule = assessed.unlisted(rules)
    if rule is None or rule.effect != "not_assessed":
        return assessed.missing
    members = zip(assessed.unit.members, assessed.outcomes, strict=False)
    return [*assessed.missing, *(m.field("polymer_or_grade") for m, found in members if found.effect.unlisted)]


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
    result = score([found.effect for found in outcomes], unit.grams, total, rules)
    return UnitAssessment(unit, result, group, row.stream, [], total, faces, bands, outcomes)
