"""Searches changes of a packaging that bring it to a wished grade: one change, else up to three one after another.

Each is graded by the same rules as a record (`assess`). They are changes of the packaging itself, to be checked by a
person for feasibility; facts that are merely not recorded are the trace's `missing` and `open`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from compliance.grading.assessment import assess
from compliance.grading.components import lines
from compliance.grading.score import Score, rounded_score
from compliance.ruleset import RuleSet
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
    """Return ways to a grade or a better one, of as few changes as were found; none where it is reached already."""
    steps, now = tuple[Step, ...](), assess(record, rules).result
    if _place(now.grade) <= _place(target):
        return []
    for _ in range(_MOST_STEPS):
        tried = [(step, assess(_applied(record, step), rules).result) for step in _steps(record, steps)]
        reached = [
            Reached((*steps, step), result.grade, rounded_score(result.score))
            for step, result in tried
            if _place(result.grade) <= _place(target)
        ]
        if reached:
            return sorted(reached, key=lambda way: (_place(way.grade), -(way.score or 0)))[:_MOST_WAYS]
        step, best = min(tried, key=lambda each: _worth(each[1]), default=(None, now))
        if step is None or _worth(best) >= _worth(now):
            return []
        record, steps, now = _applied(record, step), (*steps, step), best
    return []


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


def _family(step: Step) -> dict[str, Any]:
    """Return the family that goes with another material."""
    return {"material_family": "plastic"} if step.field == "polymer_or_grade" else {}


def _place(grade: str) -> int:
    return GRADES.index(grade)
