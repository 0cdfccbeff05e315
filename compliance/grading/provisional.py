"""Step 8 of grading.md: whether a fact that nobody gave could still change the grade.

Each open attribute is given each of its values in turn, all else equal. Values that every row of the stream treats
alike are tried once; a value that leaves the part's material as it is changes that part alone.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from compliance.grading.assessment import Assessment, UnitAssessment, assess, assess_unit, conclude
from compliance.grading.components import CARRIED, CONSUMABLE_FIELD, UNSPECIFIED, Part, Record, code_without_text
from compliance.grading.firing import Face
from compliance.grading.listing import Effect, open_fields, outcome
from compliance.grading.score import score, sku_score
from compliance.rule_rows import Value
from compliance.ruleset import RuleSet

_STEP: Final = 0.000001
_CACHED: Final = 65_536
_OPEN_MATERIALS: Final = frozenset(UNSPECIFIED.values())


class Judgement(NamedTuple):
    """All that is found out about a record: what its grade rests on, and whether an open fact could change it."""

    assessment: Assessment
    provisional: bool


def judge(record: Record, rules: RuleSet) -> Judgement:
    """The record assessed through all steps."""
    assessed = assess(record, rules)
    return Judgement(assessed, is_provisional(record, assessed, rules))


def is_provisional(record: Record, assessed: Assessment, rules: RuleSet) -> bool:
    """Whether the grade rests on a reading, or an open fact could change it; never of a pack without a grade.

    Only units that were assessed are asked: one that was not makes nothing provisional.
    """
    if assessed.result.grade == "not_assessed":
        return False
    asked = [place for place, unit in enumerate(assessed.units) if unit.result.grade != "not_assessed"]
    return any(_rests_on_a_reading(assessed.units[place]) for place in asked) or any(
        _could_change(record, assessed, place, rules) for place in asked
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
        for seen, found in zip(assessed.faces, assessed.outcomes, strict=True)
        for field in open_fields(rules, found, seen.rows.component_type)[1]
    }
    for name in sorted(body_wide):
        assert assessed.stream
        for value in trial_values(rules, assessed.stream, name):
            answer = value if isinstance(value, frozenset) else frozenset({str(value)})
            yield {
                place: outcome(rules, seen.with_answer(name, answer, of_unit=True), held).effect
                for place, (seen, held) in enumerate(zip(assessed.faces, assessed.held, strict=True))
                if name in seen.rows.unit
            }
    for place, (seen, held) in enumerate(zip(assessed.faces, assessed.held, strict=True)):
        for effect in alternatives(rules, seen, held).effects:
            yield {place: effect}


def _other_parts(assessed: UnitAssessment, rules: RuleSet) -> Iterator[tuple[int, Part]]:
    """Parts whose material would be another one if an open fact were given, with their place."""
    for place, (seen, held) in enumerate(zip(assessed.faces, assessed.held, strict=True)):
        found = alternatives(rules, seen, held)
        part = assessed.unit.parts[place]
        for name, value in found.fields:
            yield place, part.with_field(name, value, rules)
        for code in found.codes:
            yield place, part.with_code(code, rules)


class Alternatives(NamedTuple):
    """What the open facts of one part could make of it.

    `effects` where the material stays; `fields` are attributes that would change more than this part's effect, to be
    tried on the whole unit, like the `codes` that an unspecified material could have.
    """

    effects: tuple[Effect, ...] = ()
    fields: tuple[tuple[str, Value], ...] = ()
    codes: tuple[str, ...] = ()


@lru_cache(maxsize=_CACHED)
def alternatives(rules: RuleSet, seen: Face, held: tuple[bool, ...]) -> Alternatives:
    """What the open attributes and the unspecified material of one part could make of it."""
    rows = seen.rows
    if rows.is_carried:
        return Alternatives()
    found = outcome(rules, seen, held)
    effects: dict[Effect, None] = {}
    fields = []
    for name in sorted(open_fields(rules, found, rows.component_type)[0]):
        for value in trial_values(rules, rows.stream, name):
            if _changes_material(rules, seen, name, value):
                fields.append((name, value))
            else:
                effects[outcome(rules, seen.with_answer(name, value, of_unit=False), held).effect] = None
    effects.pop(found.effect, None)
    return Alternatives(
        effects=tuple(sorted(effects, key=lambda effect: not effect.disqualified)),
        fields=tuple(fields),
        codes=named_codes(rules, rows.stream, rows.component_type) if rows.material.code in _OPEN_MATERIALS else (),
    )


def _changes_material(rules: RuleSet, seen: Face, field: str, value: Value) -> bool:
    """Whether giving the attribute gives the part another code, or puts another part beside it (step 2b, 2d)."""
    component_type = seen.rows.component_type
    if any(field in fields and component_type not in proper_to for _, fields, proper_to in CARRIED):
        return True
    if seen.coded_by_text or CONSUMABLE_FIELD.get(component_type) != field:
        return False
    return code_without_text(rules, component_type, None, {field: value}) != seen.rows.material.code


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
