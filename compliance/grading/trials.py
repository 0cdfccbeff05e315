"""Computes a SKU's score with another effect or another part in one place of a unit (step 8).

A unit's score follows from its distinct parts and from the total weight of each. A pack of few parts is scored part by
part, as it is graded. In a pack of many, equal parts are first put together, because every open fact of every part is
tried, and a trial that walks over all parts makes that quadratic. Their sums are exact, then rounded once.
`compliance.grading.provisional` decides which trials there are.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeVar

from compliance.grading.assessment import Assessment, assess_unit
from compliance.grading.components import Part, Weighed, alike
from compliance.grading.listing import Effect
from compliance.grading.score import NOT_ASSESSED, Score, badness, score, sku_score
from compliance.grading.units import Unit, lightweight_exemption
from compliance.ruleset import RuleSet
from schemas.sku import Sku

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
            graded = [(badness(found), at) for found, at in apart if found.grade != "not_assessed"]
            self._worst_two = [at for _, at in sorted(graded)[:2]]
            self._ungraded = [at for found, at in apart if found.grade == "not_assessed"][:2]

    def with_effects(self, place: int) -> Callable[[Mapping[int, Effect]], Score]:
        """Return a function of the SKU's score if some parts of a unit had other effects, by the place of the part."""
        unit = self._units[place]
        effects, grams, rules = unit.effects(), unit.unit.grams, self._rules
        together = _summed(zip(effects, grams, strict=True)) if len(effects) > MANY else None
        beside = self._beside(place)

        def tried(trial: Mapping[int, Effect]) -> Score:
            if together is None:
                changed = [trial.get(part, effect) for part, effect in enumerate(effects)]
                return beside(score(changed, grams, unit.total, rules))
            moved = [(effects[part], effect, grams[part]) for part, effect in trial.items()]
            return beside(score(*_lists(_with(together, moved)), unit.total, rules))

        return tried

    def with_part(self, place: int) -> Callable[[int, Part], Score]:
        """Return a function of the SKU's score with another part at one place of a unit."""
        unit = self._units[place].unit
        replaced = _merging(unit) if len(unit.parts) > MANY else unit.with_part
        beside = self._beside(place)

        def tried(at: int, part: Part) -> Score:
            found = assess_unit(replaced(at, part), self._rules)
            group = found.group if place == 0 else self._units[0].group
            return NOT_ASSESSED if lightweight_exemption(self._record, group) else beside(found.result)

        return tried

    def _beside(self, place: int) -> Callable[[Score], Score]:
        """Return a function of the SKU's score from a unit's new score.

        Of the other units only the worst one, and one without a grade, count.
        """
        if len(self._units) == 1:
            return _as_it_is
        worst = [at for at in self._worst_two if at != place][:1]
        ungraded = [at for at in self._ungraded if at != place][:1]
        others = [self._units[at].result for at in (*worst, *ungraded)]
        first = [self._units[0].result] if place else []
        return lambda found: sku_score([*first, found, *others])


def _as_it_is(found: Score) -> Score:
    return found


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
        return Unit.of(members, unit.form, separate=False)

    return replaced


def _summed(each: Iterable[tuple[_Key, float]]) -> _Sums[_Key]:
    found: _Sums[_Key] = {}
    for key, grams in each:
        count, sum_of = found.get(key, (0, Fraction(0)))
        found[key] = count + 1, sum_of + Fraction(grams)
    return found


def _with(sums: _Sums[_Key], moved: Iterable[tuple[_Key, _Key, float]]) -> _Sums[_Key]:
    """Return the sums after each weight has moved from one kind to another; a kind without parts is dropped."""
    found = dict(sums)
    for old, new, grams in moved:
        for key, step, weight in ((old, -1, -Fraction(grams)), (new, 1, Fraction(grams))):
            count, sum_of = found.get(key, (0, Fraction(0)))
            found[key] = count + step, sum_of + weight
    return {key: values for key, values in found.items() if values[0]}


def _lists(sums: _Sums[_Key]) -> tuple[Sequence[_Key], Sequence[float]]:
    return list(sums), [float(grams) for _, grams in sums.values()]
