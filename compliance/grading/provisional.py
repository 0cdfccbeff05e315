"""Step 8 of grading.md: whether a fact that nobody gave could still change the grade.

Each open attribute is given each of its values in turn, all else equal. Values that every row of the stream treats
alike are tried once; a value that leaves the part's material as it is changes that part alone.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from compliance.grading.assessment import Assessment, UnitAssessment, assess_unit, conclude
from compliance.grading.components import UNSPECIFIED, Part, Record
from compliance.grading.firing import Context, View, context_of, view
from compliance.grading.listing import Effect, open_fields, outcome
from compliance.grading.score import score, sku_score
from compliance.ruleset import RuleSet, Value

_STEP: Final = 0.000001
_CACHED: Final = 65_536
_OPEN_MATERIALS: Final = frozenset(UNSPECIFIED.values())


def is_provisional(record: Record, assessed: Assessment, rules: RuleSet) -> bool:
    """Whether the grade rests on a reading, or an open fact could change it; never of a pack without a grade."""
    if assessed.result.grade == "not_assessed":
        return False
    return any(_rests_on_a_reading(unit) for unit in assessed.units) or any(
        _could_change(record, assessed, place, rules) for place in range(len(assessed.units))
    )


def _rests_on_a_reading(assessed: UnitAssessment) -> bool:
    """An analogy, an unlisted material, a generic reading of a text, or layers that nobody recorded."""
    if any(found.by_analogy or found.effect.unlisted for found in assessed.outcomes):
        return True
    for member in assessed.unit.members:
        material = member.part.material
        if member.part.generic:
            return True
        if (
            material
            and material.layers_unrecorded
            and not (material.family == "paper" and assessed.unit.layers_recorded())
        ):
            return True
    return False


def _could_change(record: Record, assessed: Assessment, place: int, rules: RuleSet) -> bool:
    """Whether one open fact of one unit would change the SKU's grade."""
    unit = assessed.units[place]
    scores = [other.result for other in assessed.units]
    before = assessed.result.grade
    effects = unit.effects()
    for trial in _other_effects(unit, rules):
        changed = [trial.get(part, effect) for part, effect in enumerate(effects)]
        scores[place] = score(changed, unit.unit.grams, unit.total, rules)
        if sku_score(scores).grade != before:
            return True
    others = list(assessed.units)
    for part_place, part in _other_parts(unit, rules):
        others[place] = assess_unit(unit.unit.with_part(part_place, part), rules)
        if conclude(record, others, rules).result.grade != before:
            return True
    return False


def _other_effects(assessed: UnitAssessment, rules: RuleSet) -> Iterator[dict[int, Effect]]:
    """The effects that open attributes could have, by the place of the part: the body's first, then each part's."""
    body_wide = {
        field
        for seen, found in zip(assessed.views, assessed.outcomes, strict=True)
        for field in open_fields(rules, found, seen.component_type)[1]
    }
    for name in sorted(body_wide):
        assert assessed.stream
        for value in trial_values(rules, assessed.stream, name):
            facts = _with_fact(assessed.facts, name, value)
            yield {
                place: outcome(rules, other, held).effect
                for place, (seen, held) in enumerate(zip(assessed.views, assessed.held, strict=True))
                if (other := _in_context(rules, seen, facts)) is not seen
            }
    for place, (seen, held) in enumerate(zip(assessed.views, assessed.held, strict=True)):
        for effect in alternatives(rules, seen, held)[0]:
            yield {place: effect}


def _with_fact(facts: Context | None, name: str, value: Value) -> Context:
    """The unit's facts as they were if one body component gave the colour or the additives."""
    assert facts is not None
    values = value if isinstance(value, frozenset) else frozenset({str(value)})
    return facts._replace(colour=values) if name == "colour" else facts._replace(additives=values)


def _in_context(rules: RuleSet, seen: View, facts: Context) -> View:
    context = context_of(rules, seen.stream, seen.component_type, facts)
    return seen if context == seen.context else view(rules, seen.stream, seen.component_type, seen.part, context)


def _other_parts(assessed: UnitAssessment, rules: RuleSet) -> Iterator[tuple[int, Part]]:
    """Parts whose material would be another one if an open fact were given, with their place."""
    for place, (seen, held) in enumerate(zip(assessed.views, assessed.held, strict=True)):
        for part in alternatives(rules, seen, held)[1]:
            yield place, part


@lru_cache(maxsize=_CACHED)
def alternatives(rules: RuleSet, seen: View, held: tuple[bool, ...]) -> tuple[tuple[Effect, ...], tuple[Part, ...]]:
    """What the open attributes of one part could make of it: other effects, and parts of another material."""
    found = outcome(rules, seen, held)
    effects: dict[Effect, None] = {}
    others: dict[Part, None] = {}
    if seen.part.is_carried:
        return (), ()
    for name in sorted(open_fields(rules, found, seen.component_type)[0]):
        for value in trial_values(rules, seen.stream, name):
            part = seen.part.with_field(name, value, rules)
            if part.material is seen.part.material and part.carried == seen.part.carried:
                changed = view(rules, seen.stream, seen.component_type, part, seen.context)
                effects[outcome(rules, changed, held).effect] = None
            else:
                others[part] = None
    assert seen.part.material is not None
    if seen.part.material.code in _OPEN_MATERIALS:
        for code in named_codes(rules, seen.stream, seen.component_type):
            others[seen.part.with_code(code, rules)] = None
    effects.pop(found.effect, None)
    others.pop(seen.part, None)
    return tuple(sorted(effects, key=lambda effect: not effect.disqualified)), tuple(others)


@lru_cache(maxsize=1024)
def trial_values(rules: RuleSet, stream: str, field: str) -> tuple[Value, ...]:
    """One value for each way in which the rows of a stream can answer the field (step 8, values)."""
    asking = [r for r in rules.rules.values() if r.stream in (stream, "any") and r.field == field and r.recordable]
    if field in rules.bands:
        bounds = sorted({rule.bound for rule in asking})
        highest = 100.0 if field == "coverage_percent" else float("inf")
        tried = (bound + step for bound in bounds for step in (0.0, -_STEP, _STEP))
        values: list[Value] = [number for number in tried if 0 <= number <= highest]
    elif field == "additives":
        values = [frozenset(), *(frozenset({str(value)}) for value in rules.vocabularies[field])]
    else:
        values = list(rules.vocabularies[field])
    distinct: dict[object, Value] = {}
    for value in values:
        answers = tuple(rule.met_by(value) for rule in asking)
        distinct.setdefault((answers, rules.implied_codes.get((field, str(value)))), value)
    return tuple(distinct.values())


@lru_cache(maxsize=1024)
def named_codes(rules: RuleSet, stream: str, component_type: str) -> tuple[str, ...]:
    """Every code that a row of the stream for the type names, itself or by its group."""
    rows = [rule for rule in rules.rules.values() if rule.stream == stream and rule.asks_type(component_type)]
    targets = rules.targets[stream]
    return tuple(
        material.code
        for material in rules.materials.values()
        if any(rule.names(material, targets) and rule.asks_code(material, targets) for rule in rows)
    )
