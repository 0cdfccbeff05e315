"""Finds the open facts that could change a grade, and the grades it could become: why it is provisional (step 8).

It runs all the trials of `compliance.grading.provisional`: for the trace of one SKU, not for many.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from compliance.grading.assessment import Assessment
from compliance.grading.components import Weighed
from compliance.grading.provisional import (
    alternatives_of,
    asked_units,
    body_trials,
    other_parts,
    readings,
)
from compliance.grading.score import Score
from compliance.grading.trials import Trials
from compliance.ruleset import RuleSet
from schemas.sku import Sku

GRADES: Final = ("A", "B", "C", "not_recyclable", "not_assessed")
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
    for at, found in enumerate(alternatives_of(unit, rules)):
        for name, effects in found.by_field:
            for effect in effects:
                yield _fact(name, members[at], types[at]), with_effects({at: effect})
        for name, part in other_parts(unit.unit.parts[at], found, rules):
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
    steps = [_STEPS.get(each.grade, 0) for each in (now, *reached)]
    points = [each.score or 0.0 for each in (now, *reached)]
    return min(steps) - max(steps), min(points) - max(points)


def _grades(reached: list[Score]) -> tuple[str, ...]:
    found = {each.grade for each in reached}
    return tuple(grade for grade in GRADES if grade in found)
