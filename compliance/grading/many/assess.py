"""Steps 4 to 7 of grading.md for many units: adds up weights, and looks up what the kernel said of parts."""

from dataclasses import dataclass, fields
from typing import Final, Self

import numpy as np

from compliance.grading.assessment import ORDER
from compliance.grading.many.keys import Bools, Floats, Ints, any_in, ranges, sums
from compliance.grading.many.parts import BODY, MATERIALS, MISSING, UNGRADED, Parts
from compliance.grading.many.tables import Tables
from compliance.rule_rows import TOLERANCE


@dataclass(frozen=True, slots=True)
class Lines:
    """The members of units, in the order of the units; `unweighed` are those without a weight, which count 0 g."""

    unit: Ints
    part: Ints
    grams: Floats
    unweighed: Bools


@dataclass(frozen=True, slots=True)
class Heads:
    """One row a unit: its SKU, its form, and whether it is a separate part."""

    sku: Ints
    form: Ints
    apart: Bools

    def at(self, places: Ints) -> Self:
        """Return the units at these places."""
        return type(self)(*(getattr(self, column.name)[places] for column in fields(self)))


@dataclass(frozen=True, slots=True)
class Units:
    """Units with their parts; `type` is the type that rules match, and `unit` the place of a part's unit."""

    heads: Heads
    start: Ints
    size: Ints
    unit: Ints
    part: Ints
    grams: Floats
    unweighed: Bools
    member: Bools
    type: Ints
    material: Ints

    @classmethod
    def of(cls, heads: Heads, lines: Lines, parts: Parts) -> Self:
        """Return the units of these members, with the parts that they carry."""
        owner, _, carried = parts.carried.expand(lines.part)
        unit, part, grams, unweighed = lines.unit, lines.part, lines.grams, lines.unweighed
        member = np.ones(unit.size, np.bool_)
        if carried.size:
            unit = np.concatenate([unit, unit[owner]])
            order = np.argsort(unit, kind="stable")
            unit, part = unit[order], np.concatenate([part, carried])[order]
            grams = np.concatenate([grams, np.zeros(carried.size)])[order]
            unweighed = np.concatenate([unweighed, np.zeros(carried.size, np.bool_)])[order]
            member = np.concatenate([member, np.zeros(carried.size, np.bool_)])[order]
        kind, material = parts.type.ints(part), parts.material.ints(part)
        size = np.bincount(unit, minlength=heads.sku.size)
        return cls(
            heads=heads,
            start=np.cumsum(size) - size,
            size=size,
            unit=unit,
            part=part,
            grams=grams,
            unweighed=unweighed,
            member=member,
            type=np.where(member & heads.apart[unit], BODY, kind),
            material=material,
        )

    def __len__(self) -> int:
        return self.size.size

    def kinds(self) -> Ints:
        """Return type and material of each part as one number."""
        return self.type * MATERIALS + self.material

    def places(self, units: Ints) -> Ints:
        """Return the places of all parts of these units, unit after unit."""
        return ranges(self.start[units], self.size[units])[1]

    def take(self, units: Ints) -> "Units":
        """Return copies of these units; one may be asked for several times."""
        owner, at = ranges(self.start[units], self.size[units])
        size = self.size[units]
        return Units(
            heads=self.heads.at(units),
            start=np.cumsum(size) - size,
            size=size,
            unit=owner,
            part=self.part.take(at),
            grams=self.grams.take(at),
            unweighed=self.unweighed.take(at),
            member=self.member.take(at),
            type=self.type.take(at),
            material=self.material.take(at),
        )

    def with_part(self, units: Ints, places: Ints, others: Ints, parts: Parts) -> "Units":
        """Return copies of units, each with another part in the place of one member."""
        owner, at = ranges(self.start[units], self.size[units])
        part = np.where(at == places[owner], others[owner], self.part[at])
        kept = self.member[at]
        lines = Lines(owner[kept], part[kept], self.grams[at][kept], self.unweighed[at][kept])
        return Units.of(self.heads.at(units), lines, parts)


_CLEARLY_MORE: Final = 0.501
"""The share of a pack's weight that a part outweighs the others with, however sums are rounded."""


@dataclass(slots=True)
class Scores:
    """Grade (by number), score, kept share and number of limited features of units; `few` are unlisted parts' rows."""

    grade: Ints
    score: Floats
    kept: Floats
    limited: Ints


@dataclass(slots=True)
class Assessed:
    """Units with their results. `case` is the case of each part, -1 in a unit without a stream."""

    units: Units
    scores: Scores
    group: Ints
    stream: Ints
    missing: Ints
    word: Ints
    """The facts of the unit that has a stream."""
    seat: Ints
    held: Ints
    case: Ints


def assess(units: Units, tables: Tables) -> Assessed:
    """Return the units with their results."""
    count, flat = len(units), units.part.size
    found = Assessed(
        units=units,
        scores=Scores(np.full(count, UNGRADED), np.full(count, np.nan), np.full(count, np.nan), np.full(count, -1)),
        group=np.full(count, -1),
        stream=np.full(count, -1),
        missing=_missing(units, tables),
        word=np.zeros(count, np.int64),
        seat=np.full(flat, -1),
        held=np.zeros(flat, np.int64),
        case=np.full(flat, -1),
    )
    known = np.flatnonzero(found.missing == 0)
    complete = units if known.size == count else units.take(known)
    found.group[known] = _predominant(complete, tables)
    stream, missing = tables.stream(found.group[known], complete.heads.form, _conditions(complete, tables))
    found.stream[known], found.missing[known] = stream, missing
    placed = np.flatnonzero(found.stream >= 0)
    if placed.size:
        _apply(found, placed, units if placed.size == count else units.take(placed), tables)
    return found


def _missing(units: Units, tables: Tables) -> Ints:
    """Return the bits of the facts without which a unit cannot be assessed (step 4b)."""
    count, parts = len(units), tables.parts
    unnamed = any_in(units.unit, units.member & (units.material < 0), count)
    weightless = parts.weightless.bools(units.part)
    unweighed = any_in(units.unit, units.member & units.unweighed & ~weightless, count)
    weighed_body = any_in(units.unit, units.member & (units.type == BODY) & (units.grams != 0), count)
    return unnamed * MISSING["polymer_or_grade"] | (unweighed | ~weighed_body) * MISSING["weight_g"]


def _predominant(units: Units, tables: Tables) -> Ints:
    """Return the heaviest group within the heaviest family (step 4c).

    Most packs have a part that outweighs all others together, and so do its family and its group, unless the family is
    *other*, which counts only alone. Only the rest is summed by family and by group.
    """
    parts, count = tables.parts, len(units)
    group, family = parts.group.ints(units.part), parts.family.ints(units.part)
    total = sums(units.unit, units.grams, count)
    clear = units.grams > _CLEARLY_MORE * total[units.unit] + TOLERANCE
    clear &= family != parts.families.index("other")
    found = np.full(count, -1)
    found[units.unit[clear]] = group[clear]
    unclear = np.flatnonzero(found < 0)
    if unclear.size:
        at = units.places(unclear)
        found[unclear] = _heaviest_group(units.take(unclear), group[at], family[at], tables)
    return found


def _heaviest_group(units: Units, group: Ints, family: Ints, tables: Tables) -> Ints:
    families, groups, count = len(tables.parts.families), len(tables.parts.groups), len(units)
    grams = units.grams[units.member]
    unit, group, family = (each[units.member] for each in (units.unit, group, family))
    by_family = _weights(unit, family, grams, (count, families))
    other = tables.parts.families.index("other")
    several = (by_family > -np.inf).sum(axis=1) > 1
    by_family[several, other] = -np.inf
    chosen = by_family.argmax(axis=1)
    inside = np.flatnonzero(family == chosen[unit])
    found = np.zeros(count, np.int64)
    found[unit[inside]] = group[inside]
    several = any_in(unit[inside], group[inside] != found[unit[inside]], count)
    if several.any():
        inside = inside[several[unit[inside]]]
        place = np.cumsum(several) - 1
        by_group = _weights(place[unit[inside]], group[inside], grams[inside], (int(several.sum()), groups))
        found[several] = by_group.argmax(axis=1)
    return found


def _weights(unit: Ints, kind: Ints, grams: Floats, shape: tuple[int, int]) -> Floats:
    """Return the weight of each kind in each unit to nine decimals, minus infinity where a unit has none of it."""
    cell = unit * shape[1] + kind
    weights = sums(cell, grams, shape[0] * shape[1])
    present = np.bincount(cell, minlength=weights.size) > 0
    weights[present] = np.round(weights[present], 9)
    weights[~present] = -np.inf
    return weights.reshape(shape)


def _conditions(units: Units, tables: Tables) -> Ints:
    """Return the bits of the conditions of `streams.csv` that hold for each unit."""
    parts, count = tables.parts, len(units)
    separate = units.heads.apart[units.unit] & units.member
    counted = np.where(separate, parts.counted_apart.ints(units.part), parts.counted.ints(units.part))
    total = sums(units.unit, units.grams, count)
    held = np.zeros(count, np.int64)
    for bit, (_, percent) in enumerate(parts.weighed):
        on = np.flatnonzero((counted >> bit & 1 > 0) & units.member)
        if on.size:
            weighed = sums(units.unit[on], units.grams[on], count)
            held |= (100 * weighed / total >= percent + TOLERANCE).astype(np.int64) << bit
    return held


def _apply(found: Assessed, placed: Ints, units: Units, tables: Tables) -> None:
    """Take the units that have a stream through steps 5 to 7c; the results go to their places in `found`."""
    total = sums(units.unit, units.grams, len(units))
    word = _facts(units, tables)
    seat = tables.seats.numbers(found.stream[placed][units.unit], units.type, units.part)
    held = _held(units, seat, total, tables)
    case = tables.cases.numbers(tables.faces.numbers(seat, word[units.unit]), held)
    scores = score(units, tables.cases.effect.ints(case), tables)
    for name in ("grade", "score", "kept", "limited"):
        getattr(found.scores, name)[placed] = getattr(scores, name)
    at = found.units.places(placed)
    found.word[placed] = word
    found.seat[at], found.held[at], found.case[at] = seat, held, case
    found.missing[placed] |= untested(units, case, tables) * MISSING["polymer_or_grade"]


def _facts(units: Units, tables: Tables) -> Ints:
    """Return the facts of each unit, the union of its parts'."""
    parts = tables.parts
    separate = units.heads.apart[units.unit] & units.member
    words = np.where(separate, parts.word_apart.ints(units.part), parts.word.ints(units.part))
    words[~units.member] = 0
    return np.bitwise_or.reduceat(words, units.start) | units.heads.form


def _held(units: Units, seat: Ints, total: Floats, tables: Tables) -> Ints:
    """Return for each part the bits of its bounded rows whose share lies within its bounds (step 5)."""
    part, bit, share = tables.seats.shares.expand(seat)
    held = np.zeros(seat.size, np.int64)
    if not part.size:
        return held
    unit = units.unit[part]
    asking, other = ranges(units.start[unit], units.size[unit])
    counted = np.flatnonzero(tables.shares.counted(share.take(asking), units.kinds().take(other)))
    weights = sums(asking.take(counted), units.grams.take(other.take(counted)), part.size)
    percent = 100 * weights / total[unit]
    holds = (tables.shares.low.floats(share) <= percent) & (percent < tables.shares.high.floats(share))
    np.bitwise_or.at(held, part, holds.astype(np.int64) << bit)
    return held


def score(units: Units, effect: Ints, tables: Tables) -> Scores:
    """Return the scores of units from the effects of their parts (step 7)."""
    effects, rules, count = tables.effects, tables.rules, len(units)
    total = sums(units.unit, units.grams, count)
    gone = effects.removed.floats(effect)
    removed = sums(units.unit, units.grams * gone, count)
    features = np.bitwise_or.reduceat(effects.features.ints(effect), units.start)
    failed = any_in(units.unit, effects.disqualified.bools(effect), count)
    unsure = any_in(units.unit, effects.not_assessed.bools(effect), count)
    unlisted = np.flatnonzero(effects.unlisted.bools(effect))
    if unlisted.size:
        unit, grams = units.unit[unlisted], units.grams[unlisted]
        some = any_in(unit, np.ones(unit.size, np.bool_), count)
        few = _few(unit, grams, total, tables)
        for rule, applies in ((rules.rules["ANY-011c"], some & few), (rules.rules["ANY-011d"], some & ~few)):
            if rule.effect == "not_assessed":
                unsure |= applies
            else:
                more = grams * np.maximum(0.0, rule.removed - gone[unlisted])
                removed = np.where(applies, removed + sums(unit, more, count), removed)
                features |= applies
    kept = 100 * (total - removed) / total
    limited = np.bitwise_count(features).astype(np.int64)
    points = np.minimum(kept, np.array(rules.caps)[np.minimum(limited, len(rules.caps) - 1)])
    grade = np.select(
        [points >= line - TOLERANCE for _, line in rules.grade_lines],
        [np.int64(ORDER[name]) for name, _ in rules.grade_lines],
        np.int64(ORDER["not_recyclable"]),
    )
    grade = np.where(failed, ORDER["not_recyclable"], np.where(unsure, UNGRADED, grade))
    points = np.where(failed, rules.disqualified_score, np.where(unsure, np.nan, points))
    return Scores(grade, points, kept, limited)


def _few(unit: Ints, grams: Floats, total: Floats, tables: Tables) -> Bools:
    """Return whether the parts that no row lists weigh so little that they are removed together (step 6)."""
    few = tables.rules.rules["ANY-011c"]
    percent = 100 * sums(unit, grams, total.size) / total
    return (few.low <= percent) & (percent < few.high)


def untested(units: Units, case: Ints, tables: Tables) -> Bools:
    """Return whether a unit has so much that no row lists that a test would have to decide."""
    unlisted = np.flatnonzero(tables.effects.unlisted.bools(tables.cases.effect.ints(case)))
    if not unlisted.size or tables.rules.rules["ANY-011d"].effect != "not_assessed":
        return np.zeros(len(units), np.bool_)
    unit, total = units.unit[unlisted], sums(units.unit, units.grams, len(units))
    some = any_in(unit, np.ones(unit.size, np.bool_), len(units))
    return some & ~_few(unit, units.grams[unlisted], total, tables)
