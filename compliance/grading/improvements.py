"""Searches changes of a packaging that bring it to a wished grade: one change, up to three, or one plastic throughout.

Each is graded by the same rules as a record (`assess`). They are changes of the packaging itself, to be checked by a
person for feasibility; facts that are merely not recorded are the trace's `missing` and `open`.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple, TypeVar, cast

from compliance.grading.assessment import (
    NOT_ASSESSED,
    Assessment,
    Score,
    assess,
    assess_unit,
    badness,
    rounded_score,
    score,
    sku_score,
    with_part,
)
from compliance.grading.firing import Effect
from compliance.grading.units import Part, Unit, Weighed, alike, lightweight_exemption, lines
from compliance.ruleset import RuleSet
from schemas.skus.types import Component, Sku
from schemas.vocabularies import VOCABULARIES

GRADES: Final = VOCABULARIES["recyclability_grade"]
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
    ways = [way for first in ((), *_of_one_plastic(record)) for way in _ways(record, rules, target, first)]
    return sorted(ways, key=lambda way: (len(way.steps), _place(way.grade), -(way.score or 0)))[:_MOST_WAYS]


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
        best_step, best = min(tried, key=lambda way: _worth(way[1]), default=(None, now))
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
    # The family goes with another material.
    family = {"material_family": "plastic"} if step.field == "polymer_or_grade" else {}
    changed = [
        cast(Component, {**line, step.field: step.then, **family}) if line["id"] == step.component_id else line
        for line in lines(record)
    ]
    return cast(Sku, {**record, "components": changed})


def _place(grade: str) -> int:
    return GRADES.index(grade)


MANY: Final = 32
"""Number of parts of a unit, carried ones included, from which equal ones are put together."""
_Key = TypeVar("_Key", bound=Hashable)
_Sums = dict[_Key, tuple[int, Fraction]]
"""The number of parts of each kind, and their total weight."""


class Trials:
    """Trials on an assessed SKU, a unit by its place among the SKU's; what they need of all units is computed once."""

    def __init__(self, record: Sku, assessed: Assessment, rules: RuleSet) -> None:
        self._record, self._units, self._rules = record, assessed.units, rules
        self._worst_two: list[int] = []
        self._ungraded: list[int] = []
        if len(assessed.units) > 1:
            apart = [(unit.result, at) for at, unit in enumerate(assessed.units) if at]
            graded = [(badness(unit_score), at) for unit_score, at in apart if unit_score.grade != "not_assessed"]
            self._worst_two = [at for _, at in sorted(graded)[:2]]
            self._ungraded = [at for unit_score, at in apart if unit_score.grade == "not_assessed"][:2]

    def with_effects(self, place: int) -> Callable[[Mapping[int, Effect]], Score]:
        """Return a function of the SKU's score if some parts of a unit had other effects, by the place of the part."""
        unit = self._units[place]
        effects, grams, rules = unit.effects(), unit.unit.grams, self._rules
        together = _summed(zip(effects, grams, strict=True)) if len(effects) > MANY else None
        beside = self._beside(place)
        disqualified = {part for part, effect in enumerate(effects) if effect.disqualified}

        def tried(trial: Mapping[int, Effect]) -> Score:
            if not disqualified <= trial.keys():  # one of the others still decides alone
                return beside(unit.result)
            if together is None:
                changed = [trial.get(part, effect) for part, effect in enumerate(effects)]
                return beside(score(changed, grams, unit.total, rules))
            moved = [(effects[part], effect, grams[part]) for part, effect in trial.items()]
            return beside(score(*_lists(_with(together, moved)), unit.total, rules))

        return tried

    def with_part(self, place: int) -> Callable[[int, Part], Score]:
        """Return a function of the SKU's score with another part at one place of a unit."""
        before = self._units[place]
        replaced = _merging(before.unit) if len(before.unit.parts) > MANY else None
        beside = self._beside(place)

        def tried(at: int, part: Part) -> Score:
            unit_score = (
                with_part(before, at, part, self._rules)
                if replaced is None
                else assess_unit(replaced(at, part), self._rules)
            )
            group = unit_score.group if place == 0 else self._units[0].group
            return NOT_ASSESSED if lightweight_exemption(self._record, group) else beside(unit_score.result)

        return tried

    def _beside(self, place: int) -> Callable[[Score], Score]:
        """Return a function of the SKU's score from a unit's new score.

        Of the other units only the worst one, and one without a grade, count.
        """
        if len(self._units) == 1:
            return lambda unit_score: unit_score
        worst = [at for at in self._worst_two if at != place][:1]
        ungraded = [at for at in self._ungraded if at != place][:1]
        others = [self._units[at].result for at in (*worst, *ungraded)]
        first = [self._units[0].result] if place else []
        return lambda unit_score: sku_score([*first, unit_score, *others])


def _merging(unit: Unit) -> Callable[[int, Part], Unit]:
    """Return a function of the unit with another part in one place, with equal members merged.

    Only a unit of many parts is merged, so that it is never a separate part's.
    """
    keys = [alike(member) for member in unit.members]
    first = dict(zip(reversed(keys), reversed(unit.members), strict=True))
    together = _summed((key, member.grams or 0.0) for key, member in zip(keys, unit.members, strict=True))

    def replaced(at: int, part: Part) -> Unit:
        was = unit.members[at]
        other = Weighed(part, was.grams, was.index)
        kinds = {**first, alike(other): other}
        kept, weights = _lists(_with(together, [(keys[at], alike(other), was.grams or 0.0)]))
        members = [
            Weighed(kinds[key].part, None if kinds[key].grams is None else grams, kinds[key].index)
            for key, grams in zip(kept, weights, strict=True)
        ]
        return Unit.from_members(members, unit.form, separate=False)

    return replaced


def _summed(pairs: Iterable[tuple[_Key, float]]) -> _Sums[_Key]:
    sums: _Sums[_Key] = {}
    for key, grams in pairs:
        count, sum_of = sums.get(key, (0, Fraction(0)))
        sums[key] = count + 1, sum_of + Fraction(grams)
    return sums


def _with(sums: _Sums[_Key], moved: Iterable[tuple[_Key, _Key, float]]) -> _Sums[_Key]:
    """Return the sums after each weight has moved from one kind to another; a kind without parts is dropped."""
    totals = dict(sums)
    for old, new, grams in moved:
        for key, step, weight in ((old, -1, -Fraction(grams)), (new, 1, Fraction(grams))):
            count, sum_of = totals.get(key, (0, Fraction(0)))
            totals[key] = count + step, sum_of + weight
    return {key: values for key, values in totals.items() if values[0]}


def _lists(sums: _Sums[_Key]) -> tuple[Sequence[_Key], Sequence[float]]:
    return list(sums), [float(grams) for _, grams in sums.values()]
