"""Step 8 of grading.md: decides whether a missing fact could still change the grade.

Each open attribute is tried with each of its values, all else equal. Values that every row of the stream treats alike
are tried once; a value that leaves the part's material unchanged changes that part alone. A trial's score is computed
by `compliance.grading.improvements`.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from compliance.grading.assessment import Assessment, Score, UnitAssessment, assess
from compliance.grading.firing import Effect, Face, open_fields, outcome
from compliance.grading.improvements import GRADES, Trials
from compliance.grading.units import (
    CARRIED,
    CONSUMABLE_FIELD,
    UNSPECIFIED,
    Part,
    Weighed,
    code_without_text,
)
from compliance.rule_rows import Value
from compliance.ruleset import RuleSet
from schemas.skus.types import Sku

_STEP: Final = 0.000001
_CACHED: Final = 65_536
_OPEN_MATERIALS: Final = frozenset(UNSPECIFIED.values())


class Judgement(NamedTuple):
    """All results about a record: its assessment, and whether an open fact could change it."""

    assessment: Assessment
    provisional: bool


def judge(record: Sku, rules: RuleSet) -> Judgement:
    """Assess the record through all steps."""
    assessed = assess(record, rules)
    return Judgement(assessed, is_provisional(record, assessed, rules))


def is_provisional(record: Sku, assessed: Assessment, rules: RuleSet) -> bool:
    """Return whether the grade rests on a reading, or an open fact could change it; False for a pack without a grade.

    Only assessed units count: one that was not assessed makes nothing provisional.
    """
    if assessed.result.grade == "not_assessed":
        return False
    units_to_ask = asked_units(assessed)
    of_units = [assessed.units[place] for place in units_to_ask]
    if any(True for unit in of_units for _ in chain(readings(unit), unit.without_row())):
        return True
    trials = Trials(record, assessed, rules)
    return any(_could_change(trials, assessed, place, rules) for place in units_to_ask)


def asked_units(assessed: Assessment) -> list[int]:
    """Return the places of the units that were assessed."""
    return [place for place, unit in enumerate(assessed.units) if unit.result.grade != "not_assessed"]


def readings(assessed: UnitAssessment) -> Iterator[tuple[str, Weighed | None]]:
    """Yield the fields that would replace a reading on which the unit's grade rests, each with its member.

    These are the material that is not given of a part that is graded by analogy, is listed nowhere, or has a text
    read as its generic kind; and the `components` of the SKU (no member) where a material hides layers that are not
    recorded. A material that is given is no such field (`UnitAssessment.without_row`).
    """
    for owner, part, result in zip(assessed.unit.owners, assessed.unit.parts, assessed.outcomes, strict=False):
        if (result.by_analogy or result.effect.unlisted) and not part.is_given:
            yield "polymer_or_grade", assessed.unit.members[owner]
    for member in assessed.unit.members:
        material = member.part.material
        if member.part.generic:
            yield "polymer_or_grade", member
        if (
            material
            and material.layers_unrecorded
            and not (material.family == "paper" and assessed.unit.layers_recorded())
        ):
            yield "components", None


def _could_change(trials: Trials, assessed: Assessment, place: int, rules: RuleSet) -> bool:
    """Return whether one open fact of one unit would change the SKU's grade."""
    unit, before = assessed.units[place], assessed.result.grade
    with_effects = trials.with_effects(place)
    if any(with_effects(trial).grade != before for _, trial in body_trials(unit, rules)):
        return True
    for at, alternative in enumerate(alternatives_of(unit, rules)):
        if any(with_effects({at: effect}).grade != before for effect in alternative.effects):
            return True
    with_part = trials.with_part(place)
    return any(
        with_part(at, part).grade != before
        for at, alternative in enumerate(alternatives_of(unit, rules))
        for _, part in other_parts(unit.unit.parts[at], alternative, rules)
    )


def body_trials(assessed: UnitAssessment, rules: RuleSet) -> Iterator[tuple[str, dict[int, Effect]]]:
    """Yield each open attribute of the whole body with the effects of one of its values, by the place of the part."""
    body_wide = {
        field
        for seen, result in zip(assessed.faces, assessed.outcomes, strict=True)
        for field in open_fields(rules, result, seen.rows.component_type)[1]
    }
    for name in sorted(body_wide):
        assert assessed.stream
        for value in trial_values(rules, assessed.stream, name):
            answer = value if isinstance(value, frozenset) else frozenset({str(value)})
            yield (
                name,
                {
                    place: outcome(rules, seen.with_answer(name, answer, of_unit=True), bands).effect
                    for place, (seen, bands) in enumerate(zip(assessed.faces, assessed.held, strict=True))
                    if name in seen.rows.unit
                },
            )


def alternatives_of(assessed: UnitAssessment, rules: RuleSet) -> Iterator["Alternatives"]:
    """Yield the alternatives of each part's open facts, in the order of the parts."""
    for seen, bands in zip(assessed.faces, assessed.held, strict=True):
        yield alternatives(rules, seen, bands)


def other_parts(part: Part, choices: "Alternatives", rules: RuleSet) -> Iterator[tuple[str, Part]]:
    """Yield the open facts that would change more than the part's effect, each with the changed part."""
    for name, value in choices.fields:
        yield name, part.with_field(name, value, rules)
    for code in choices.codes:
        yield "polymer_or_grade", part.with_code(code, rules)


class Alternatives(NamedTuple):
    """The effects and changes that the open facts of one part could cause.

    `effects` where the material stays, and the same `by_field`; `fields` are attributes that would change more than
    this part's effect and are tried on the whole unit, like the `codes` that an unspecified material could have.
    """

    effects: tuple[Effect, ...] = ()
    by_field: tuple[tuple[str, tuple[Effect, ...]], ...] = ()
    fields: tuple[tuple[str, Value], ...] = ()
    codes: tuple[str, ...] = ()


@lru_cache(maxsize=_CACHED)
def alternatives(rules: RuleSet, seen: Face, bands: tuple[bool, ...]) -> Alternatives:
    """Return what the open attributes and the unspecified material of one part could change."""
    rows = seen.rows
    if rows.is_carried:
        return Alternatives()
    result = outcome(rules, seen, bands)
    by_field: dict[str, set[Effect]] = {}
    fields = []
    for name in sorted(open_fields(rules, result, rows.component_type)[0]):
        for value in trial_values(rules, rows.stream, name):
            if _changes_material(rules, seen, name, value):
                fields.append((name, value))
            else:
                effect = outcome(rules, seen.with_answer(name, value, of_unit=False), bands).effect
                if effect != result.effect:
                    by_field.setdefault(name, set()).add(effect)
    effects = dict.fromkeys(effect for tried in by_field.values() for effect in tried)
    return Alternatives(
        effects=tuple(sorted(effects, key=lambda effect: not effect.disqualified)),
        by_field=tuple((name, tuple(tried)) for name, tried in by_field.items()),
        fields=tuple(fields),
        codes=named_codes(rules, rows.stream, rows.component_type) if rows.material.code in _OPEN_MATERIALS else (),
    )


def _changes_material(rules: RuleSet, seen: Face, field: str, value: Value) -> bool:
    """Return whether giving the attribute changes the part's code, or adds another part (step 2b, 2d)."""
    component_type = seen.rows.component_type
    if any(field in fields and component_type not in proper_to for _, fields, proper_to in CARRIED):
        return True
    if seen.coded_by_text or CONSUMABLE_FIELD.get(component_type) != field:
        return False
    return code_without_text(rules, component_type, None, {field: value}) != seen.rows.material.code


@lru_cache(maxsize=1024)
def trial_values(rules: RuleSet, stream: str, field: str) -> tuple[Value, ...]:
    """Return one value for each way in which the rows of a stream can answer the field (step 8, values)."""
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
    """Return every code that a row of the stream for the type names, itself or by its group."""
    rows = [rule for rule in rules.rules.values() if rule.stream == stream and rule.asks_type(component_type)]
    targets = rules.targets[stream]
    return tuple(
        material.code
        for material in rules.materials.values()
        if any(rule.names(material, targets) and rule.asks_code(material, targets) for rule in rows)
    )


_STEPS: Final = {"A": 3, "B": 2, "C": 1}
"""Grades above the lowest; a pack without a grade ranks with one that is not recyclable."""


class OpenFact(NamedTuple):
    """A missing fact that could change the SKU's grade.

    `field` is its name in the component, `line` the component's place in the graph; None for a fact of the SKU and for
    a SKU without components. `component_type` and `matched` are the part's type and the type that rules match it as,
    None for a fact of the SKU. `could_become` are the other grades that one of its values gives, the best first; empty
    where the grade rests on a reading of the missing fact, so that its possible values cannot be listed.
    """

    field: str
    line: int | None
    component_type: str | None
    matched: str | None
    could_become: tuple[str, ...]


def open_facts(record: Sku, assessed: Assessment, rules: RuleSet) -> list[OpenFact]:
    """Return the open facts of an assessed SKU, the strongest effect first; none for a SKU without a grade.

    The effect of a fact is the distance between the grades that it could give and the present one, in grades and then
    in points. Facts of equal effect keep the order of the record, those of one part that of `attributes.csv`.
    """
    now = assessed.result
    if now.grade == "not_assessed":
        return []
    reached: dict[OpenFact, list[Score]] = {}
    trials = Trials(record, assessed, rules)
    for place in asked_units(assessed):
        for fact, result in _tried(trials, assessed, place, rules):
            if result is None:
                reached.setdefault(fact, [])
            elif result.grade != now.grade:
                reached.setdefault(fact, []).append(result)
    places = {field: place for place, field in enumerate(rules.vocabularies)}
    order = sorted(
        reached,
        key=lambda fact: (
            *_effect(now, reached[fact]),
            fact.line or 0,
            places.get(fact.field, len(places)),
            fact.field,
        ),
    )
    return [fact._replace(could_become=_grades(reached[fact])) for fact in order]


def _tried(trials: Trials, assessed: Assessment, place: int, rules: RuleSet) -> Iterator[tuple[OpenFact, Score | None]]:
    """Yield each open fact of a unit with the SKU's score for one of its values; None where only a reading is known."""
    unit = assessed.units[place]
    members, types = unit.unit.members, unit.unit.types
    body = types.index("body")
    with_effects = trials.with_effects(place)
    for name, trial in body_trials(unit, rules):
        yield _fact(name, members[body], types[body]), with_effects(trial)
    with_part = trials.with_part(place)
    for at, choices in enumerate(alternatives_of(unit, rules)):
        for name, effects in choices.by_field:
            for effect in effects:
                yield _fact(name, members[at], types[at]), with_effects({at: effect})
        for name, part in other_parts(unit.unit.parts[at], choices, rules):
            yield _fact(name, members[at], types[at]), with_part(at, part)
    for name, member in readings(unit):
        yield (
            (OpenFact(name, None, None, None, ()), None)
            if member is None
            else (_fact(name, member, types[members.index(member)]), None)
        )


def _fact(name: str, member: Weighed, matched: str) -> OpenFact:
    field = member.field(name).rpartition(".")[2]
    return OpenFact(field, member.index, member.part.component_type, matched, ())


def _effect(now: Score, reached: list[Score]) -> tuple[float, float]:
    """Return the distances of grades and of points as a sort key: the greatest first."""
    steps = [_STEPS.get(reached_score.grade, 0) for reached_score in (now, *reached)]
    points = [reached_score.score or 0.0 for reached_score in (now, *reached)]
    return min(steps) - max(steps), min(points) - max(points)


def _grades(reached: list[Score]) -> tuple[str, ...]:
    grades = {reached_score.grade for reached_score in reached}
    return tuple(grade for grade in GRADES if grade in grades)
