"""Searches changes of a packaging that bring it to a wished grade: one change, up to three, or one plastic throughout.

Each is graded by the same rules as a record (`assess`). They are changes of the packaging itself, to be checked by a
person for feasibility; facts that are merely not recorded are the trace's `missing` and `open`.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, cast

from compliance.grading.assessment import assess
from compliance.grading.components import lines
from compliance.grading.score import Score, rounded_score
from compliance.ruleset import RuleSet
from schemas.json_values import JsonObject
from schemas.sku import Component, Sku
from schemas.vocabularies import VOCABULARIES

GRADES: Final = ("A", "B", "C", "not_recyclable", "not_assessed")
"""The grades, the best first."""
_MOST_STEPS: Final = 3
_MOST_LINES: Final = 12
_MOST_WAYS: Final = 8
_CODED: Final = ("colour", "attachment", "adhesive_type", "ink_type", "coating_type")
_MATERIALS: Final[Mapping[str, tuple[str, ...]]] = {
    "plastic": ("PE", "HDPE", "LDPE", "PP", "PET"),
    "composite": ("PE", "PP"),
}
"""The materials that most streams take, tried in place of another of the family; a composite becomes one plastic."""


class Step(NamedTuple):
    """One change of one line."""

    component_id: str
    component_type: str
    field: str
    now: object
    then: object


class Reached(NamedTuple):
    """Changes that together give a grade."""

    steps: tuple[Step, ...]
    grade: str
    score: float | None


def toward(record: Sku, rules: RuleSet, target: str) -> list[Reached]:
    """Return ways to a grade or a better one, of the fewest changes first; none where it is reached already.

    They begin at the record as it is, and at the record made of one plastic throughout.
    """
    if _place(assess(record, rules).result.grade) <= _place(target):
        return []
    found = [way for first in ((), *_of_one_plastic(record)) for way in _ways(record, rules, target, first)]
    return sorted(found, key=lambda way: (len(way.steps), _place(way.grade), -(way.score or 0)))[:_MOST_WAYS]


def _ways(record: Sku, rules: RuleSet, target: str, first: tuple[Step, ...]) -> list[Reached]:
    """Return what reaches the target after the first steps: they alone, else with the fewest others found."""
    steps = first
    for step in first:
        record = _applied(record, step)
    now = assess(record, rules).result
    if first and _place(now.grade) <= _place(target):
        return [Reached(steps, now.grade, rounded_score(now.score))]
    for _ in range(_MOST_STEPS):
        tried = [(step, assess(_applied(record, step), rules).result) for step in _steps(record, steps)]
        reached = [
            Reached((*steps, step), result.grade, rounded_score(result.score))
            for step, result in tried
            if _place(result.grade) <= _place(target)
        ]
        if reached:
            return reached
        best_step, best = min(tried, key=lambda each: _worth(each[1]), default=(None, now))
        if best_step is None or _worth(best) >= _worth(now):
            return []
        record, steps, now = _applied(record, best_step), (*steps, best_step), best
    return []


def _of_one_plastic(record: Sku) -> Iterator[tuple[Step, ...]]:
    """Yield the changes that make every plastic part of one plastic, for each that streams take."""
    parts = [line for line in list(lines(record))[:_MOST_LINES] if line.get("material_family") in _MATERIALS]
    for code in _MATERIALS["plastic"]:
        steps = tuple(
            Step(line["id"], line["component_type"], "polymer_or_grade", line.get("polymer_or_grade"), code)
            for line in parts
            if line.get("polymer_or_grade") != code
        )
        if len(steps) > 1:
            yield steps


def _worth(result: Score) -> tuple[int, float]:
    """Return a key that sorts the better result first."""
    return _place(result.grade), -(result.score or 0)


def _steps(record: Sku, taken: tuple[Step, ...]) -> Iterator[Step]:
    """Yield each change of one field of one line that was not changed before."""
    done = {(step.component_id, step.field) for step in taken}
    for line in list(lines(record))[:_MOST_LINES]:
        for field, value in _values(line):
            if (line["id"], field) not in done and line.get(field) != value:
                yield Step(line["id"], line["component_type"], field, line.get(field), value)


def _values(line: Component) -> Iterator[tuple[str, object]]:
    """Yield the other values that a line might have: only of fields that are given, and of its material."""
    for code in _MATERIALS.get(line.get("material_family") or "", ()):
        yield "polymer_or_grade", code
    for field in _CODED:
        if line.get(field) is not None:
            yield from ((field, value) for value in VOCABULARIES[field])
    for field in ("metallised", "direct_print"):
        if line.get(field):
            yield field, False
    if line["component_type"] != "body":
        yield "separable", True
    if line.get("additives"):
        yield "additives", []


def _applied(record: Sku, step: Step) -> Sku:
    changed = [
        cast(Component, {**line, step.field: step.then, **_family(step)}) if line["id"] == step.component_id else line
        for line in lines(record)
    ]
    return cast(Sku, {**record, "components": changed})


def _family(step: Step) -> JsonObject:
    """Return the family that goes with another material."""
    return {"material_family": "plastic"} if step.field == "polymer_or_grade" else {}


def _place(grade: str) -> int:
    return GRADES.index(grade)
