"""Steps 4 to 8 of grading.md for many units, one function a step; the kernel said before what a part means in a stream.

`grade_skus` is the table of contents: it splits SKUs into units, assesses these, grades SKUs, and tries open facts. A
trial is a copy of a unit with one thing changed, scored by the same functions. No rule is written here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from compliance.grading.assessment import ORDER
from compliance.grading.improvements import MANY
from compliance.grading.many.keys import Bools, Floats, Ints, any_in, ranges, sums
from compliance.grading.many.parts import BODY, GRADES, MATERIALS, MISSING, UNGRADED, Frames, Parts, Read
from compliance.grading.many.tables import BODY_FIELDS, Tables
from compliance.grading.rows import Answer, Inputs, grade_rows
from compliance.rule_rows import TOLERANCE


class Members(NamedTuple):
    """The parts that a record names, in the order of their units; those without a weight count 0 g."""

    unit: Ints
    part: Ints
    grams: Floats
    unweighed: Bools


class Heads(NamedTuple):
    """One row a unit: its SKU, its form, and whether it is a separate part."""

    sku: Ints
    form: Ints
    apart: Bools

    def take(self, units: Ints) -> "Heads":
        """Return the rows of these units."""
        return Heads(self.sku[units], self.form[units], self.apart[units])


@dataclass(frozen=True, slots=True)
class Units:
    """Units with their parts; `type` is the type that rules match, and `unit` the place of a part's unit.

    A part that is no `member` is carried by one.
    """

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

    @property
    def count(self) -> int:
        """The number of units."""
        return self.size.size

    def total(self) -> Floats:
        """Return the weight of each unit."""
        return sums(self.unit, self.grams, self.size.size)

    def places(self, units: Ints) -> Ints:
        """Return the places of all parts of these units, unit after unit."""
        return ranges(self.start[units], self.size[units])[1]

    def take(self, units: Ints) -> "Units":
        """Return copies of these units; one may be asked for several times."""
        owner, at = ranges(self.start[units], self.size[units])
        size = self.size[units]
        return Units(
            heads=self.heads.take(units),
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
        members = Members(owner[kept], part[kept], self.grams[at][kept], self.unweighed[at][kept])
        return with_carried_parts(self.heads.take(units), members, parts)


def with_carried_parts(heads: Heads, members: Members, parts: Parts) -> Units:
    """Step 2d: return the units of these members, with the weightless parts that they carry."""
    owner, _, carried = parts.carried.expand(members.part)
    unit, part, grams, unweighed = members
    member = np.ones(unit.size, np.bool_)
    if carried.size:
        unit = np.concatenate([unit, unit[owner]])
        order = np.argsort(unit, kind="stable")
        unit, part = unit[order], np.concatenate([part, carried])[order]
        grams = np.concatenate([grams, np.zeros(carried.size)])[order]
        unweighed, member = (
            np.concatenate([column, np.zeros(carried.size, np.bool_)])[order] for column in (unweighed, member)
        )
    kind, material = parts.at("type", part), parts.at("material", part)
    size = np.bincount(unit, minlength=heads.sku.size)
    matched = np.where(member & heads.apart[unit], BODY, kind)
    return Units(heads, np.cumsum(size) - size, size, unit, part, grams, unweighed, member, matched, material)


def split_into_units(read: Read, kept: Bools, parts: Parts) -> Units:
    """Step 4a, d: return the units of the kept SKUs: the body's first, then one for each part that comes off."""
    form_apart = parts.at("form_apart", read.part)
    order = np.flatnonzero(kept[read.sku])
    order = order[np.argsort(2 * read.sku[order] + (form_apart[order] > 0), kind="stable")]
    sku, form_apart = read.sku[order], form_apart[order]
    apart = form_apart > 0
    first = apart.copy()
    first[:1] = True
    first[1:] |= sku[1:] != sku[:-1]
    head = np.flatnonzero(first)
    heads = Heads(sku[head], np.where(apart[head], form_apart[head], read.form[sku[head]]), apart[head])
    members = Members(np.cumsum(first) - 1, read.part[order], read.grams[order], read.unweighed[order])
    return with_carried_parts(heads, members, parts)


_CLEARLY_MORE: Final = 0.501
"""The share of a pack's weight that a part outweighs the others with, however sums are rounded."""


class Scores(NamedTuple):
    """Grade (by number), score, kept share and number of limited features of units.

    `untested` are those with so much that no row lists that a test would have to decide.
    """

    grade: Ints
    score: Floats
    kept: Floats
    limited: Ints
    untested: Bools


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
    count, flat = units.count, units.part.size
    assessed = Assessed(
        units=units,
        scores=Scores(
            np.full(count, UNGRADED),
            np.full(count, np.nan),
            np.full(count, np.nan),
            np.full(count, -1),
            np.zeros(count, np.bool_),
        ),
        group=np.full(count, -1),
        stream=np.full(count, -1),
        missing=missing_facts(units, tables),
        word=np.zeros(count, np.int64),
        seat=np.full(flat, -1),
        held=np.zeros(flat, np.int64),
        case=np.full(flat, -1),
    )
    lacking_nothing = np.flatnonzero(assessed.missing == 0)
    complete = units if lacking_nothing.size == count else units.take(lacking_nothing)
    assessed.group[lacking_nothing] = predominant_group(complete, tables)
    stream, missing = tables.stream(
        assessed.group[lacking_nothing], complete.heads.form, conditions_held(complete, tables)
    )
    assessed.stream[lacking_nothing], assessed.missing[lacking_nothing] = stream, missing
    placed = np.flatnonzero(assessed.stream >= 0)
    if placed.size:
        apply_rules(assessed, placed, units if placed.size == count else units.take(placed), tables)
    return assessed


def missing_facts(units: Units, tables: Tables) -> Ints:
    """Step 4b: return the bits of the facts without which a unit cannot be assessed."""
    count, parts = units.count, tables.parts
    unnamed = any_in(units.unit, units.member & (units.material < 0), count)
    weightless = parts.at("weightless", units.part)
    unweighed = any_in(units.unit, units.member & units.unweighed & ~weightless, count)
    weighed_body = any_in(units.unit, units.member & (units.type == BODY) & (units.grams != 0), count)
    return unnamed * MISSING["polymer_or_grade"] | (unweighed | ~weighed_body) * MISSING["weight_g"]


def predominant_group(units: Units, tables: Tables) -> Ints:
    """Step 4c: return the heaviest group within the heaviest family.

    Most packs have a part that outweighs all others together, and so do its family and its group, unless the family is
    *other*, which counts only alone. Only the rest is summed by family and by group.
    """
    parts, count = tables.parts, units.count
    group, family = parts.at("group", units.part), parts.at("family", units.part)
    clear = units.grams > _CLEARLY_MORE * units.total()[units.unit] + TOLERANCE
    clear &= family != parts.families.index("other")
    groups = np.full(count, -1)
    groups[units.unit[clear]] = group[clear]
    unclear = np.flatnonzero(groups < 0)
    if unclear.size:
        at = units.places(unclear)
        groups[unclear] = _heaviest_group(units.take(unclear), group[at], family[at], tables)
    return groups


def _heaviest_group(units: Units, group: Ints, family: Ints, tables: Tables) -> Ints:
    families, groups, count = len(tables.parts.families), len(tables.parts.groups), units.count
    grams = units.grams[units.member]
    unit, group, family = (column[units.member] for column in (units.unit, group, family))
    by_family = _weights(unit, family, grams, (count, families))
    other = tables.parts.families.index("other")
    several = (by_family > -np.inf).sum(axis=1) > 1
    by_family[several, other] = -np.inf
    chosen = by_family.argmax(axis=1)
    inside = np.flatnonzero(family == chosen[unit])
    heaviest = np.zeros(count, np.int64)
    heaviest[unit[inside]] = group[inside]
    several = any_in(unit[inside], group[inside] != heaviest[unit[inside]], count)
    if several.any():
        inside = inside[several[unit[inside]]]
        place = np.cumsum(several) - 1
        by_group = _weights(place[unit[inside]], group[inside], grams[inside], (int(several.sum()), groups))
        heaviest[several] = by_group.argmax(axis=1)
    return heaviest


def _weights(unit: Ints, kind: Ints, grams: Floats, shape: tuple[int, int]) -> Floats:
    """Return the weight of each kind in each unit to nine decimals, minus infinity where a unit has none of it."""
    cell = unit * shape[1] + kind
    weights = sums(cell, grams, shape[0] * shape[1])
    present = np.bincount(cell, minlength=weights.size) > 0
    weights[present] = np.round(weights[present], 9)
    weights[~present] = -np.inf
    return weights.reshape(shape)


def conditions_held(units: Units, tables: Tables) -> Ints:
    """Step 4e: return the bits of the conditions of `streams.csv` that hold for each unit."""
    parts, count = tables.parts, units.count
    separate = units.heads.apart[units.unit] & units.member
    counted = np.where(separate, parts.at("counted_apart", units.part), parts.at("counted", units.part))
    total = units.total()
    held = np.zeros(count, np.int64)
    for bit, (_, percent) in enumerate(parts.weighed):
        on = np.flatnonzero((counted >> bit & 1 > 0) & units.member)
        if on.size:
            weighed = sums(units.unit[on], units.grams[on], count)
            held |= (100 * weighed / total >= percent + TOLERANCE).astype(np.int64) << bit
    return held


def apply_rules(assessed: Assessed, placed: Ints, units: Units, tables: Tables) -> None:
    """Assess the units that have a stream (steps 5 to 7c); the results go to their places in `assessed`."""
    word = unit_facts(units, tables)
    seat = tables.seats.numbers(assessed.stream[placed][units.unit], units.type, units.part)
    held = shares_held(units, seat, tables)
    case = tables.cases.numbers(tables.faces.numbers(seat, word[units.unit]), held)
    scores = score(units, tables.cases.at("effect", case), tables)
    for whole, own in zip(assessed.scores, scores, strict=True):
        whole[placed] = own
    at = assessed.units.places(placed)
    assessed.word[placed] = word
    assessed.seat[at], assessed.held[at], assessed.case[at] = seat, held, case
    assessed.missing[placed] |= scores.untested * MISSING["polymer_or_grade"]


def unit_facts(units: Units, tables: Tables) -> Ints:
    """Step 5: return the facts of each unit that conditions read, the union of its parts'."""
    parts = tables.parts
    separate = units.heads.apart[units.unit] & units.member
    words = np.where(separate, parts.at("word_apart", units.part), parts.at("word", units.part))
    words[~units.member] = 0
    return np.bitwise_or.reduceat(words, units.start) | units.heads.form


def shares_held(units: Units, seat: Ints, tables: Tables) -> Ints:
    """Step 5: return for each part the bits of its bounded rows whose share lies within its bounds."""
    part, bit, share = tables.seats.shares.expand(seat)
    held = np.zeros(seat.size, np.int64)
    if not part.size:
        return held
    unit = units.unit[part]
    asking, other = ranges(units.start[unit], units.size[unit])
    kinds = units.type * MATERIALS + units.material
    counted = np.flatnonzero(tables.shares.counted(share.take(asking), kinds.take(other)))
    weights = sums(asking.take(counted), units.grams.take(other.take(counted)), part.size)
    percent = 100 * weights / units.total()[unit]
    holds = (tables.shares.at("low", share) <= percent) & (percent < tables.shares.at("high", share))
    np.bitwise_or.at(held, part, holds.astype(np.int64) << bit)
    return held


def score(units: Units, effect: Ints, tables: Tables) -> Scores:
    """Return the scores of units from the effects of their parts: steps 6 (parts that no row lists) and 7."""
    effects, rules, count = tables.effects, tables.rules, units.count
    total, untested = units.total(), np.zeros(count, np.bool_)
    gone = effects.at("removed", effect)
    removed = sums(units.unit, units.grams * gone, count)
    features = np.bitwise_or.reduceat(effects.at("features", effect), units.start)
    failed = any_in(units.unit, effects.at("disqualified", effect), count)
    unsure = any_in(units.unit, effects.at("not_assessed", effect), count)
    unlisted = np.flatnonzero(effects.at("unlisted", effect))
    if unlisted.size:
        unit, grams = units.unit[unlisted], units.grams[unlisted]
        some = any_in(unit, np.ones(unit.size, np.bool_), count)
        percent = 100 * sums(unit, grams, count) / total
        one, other = rules.rules["ANY-011c"], rules.rules["ANY-011d"]
        few = (one.low <= percent) & (percent < one.high)
        for rule, applies in ((one, some & few), (other, some & ~few)):
            if rule.effect == "not_assessed":
                unsure |= applies
                untested = applies if rule is other else untested
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
    return Scores(grade, points, kept, limited, untested)


class Skus:
    """Step 7d: the SKUs of a block, graded by their units' results, also if one unit had another."""

    def __init__(self, assessed: Assessed, count: int, levels: Ints, tables: Tables) -> None:
        self._found, self._tables, self.count = assessed, tables, count
        self.levels = levels
        sku, grade = assessed.units.heads.sku, assessed.scores.grade
        self.body = np.full(count, -1)
        self.is_body = np.ones(sku.size, np.bool_)
        self.is_body[1:] = sku[1:] != sku[:-1]
        self.body[sku[self.is_body]] = np.flatnonzero(self.is_body)
        grades = UNGRADED + 1
        with_grade = np.bincount(sku * grades + grade, minlength=count * grades)
        self._with_grade = with_grade.reshape(count, grades)
        self.grade, self.score = self._results(sku, grade)

    def _results(self, sku: Ints, grade: Ints) -> tuple[Ints, Floats]:
        """Return grade and score of each SKU: those of its worst unit, not_assessed where a unit's is missing."""
        result = np.full(self.count, UNGRADED)
        points = np.full(self.count, np.nan)
        graded = self.body[self.body >= 0]
        result[sku[graded]] = self.beside(graded, grade[graded], self._found.group[graded])
        own = (grade == result[sku]) & (grade != UNGRADED)
        least = np.full(self.count, np.inf)
        np.minimum.at(least, sku[own], self._found.scores.score[own])
        has = result != UNGRADED
        points[has] = least[has]
        return result, points

    def beside(self, units: Ints, grades: Ints, groups: Ints) -> Ints:
        """Return the grade of each unit's SKU if the unit had this grade, and its body this group if it is the body."""
        sku = self._found.units.heads.sku[units]
        others = self._with_grade[sku]
        others[np.arange(units.size), self._found.scores.grade[units]] -= 1
        present = others > 0
        present[np.arange(units.size), grades] = True
        worst = np.where(present[:, :UNGRADED].any(axis=1), present.argmax(axis=1), UNGRADED)
        open_unit = present[:, UNGRADED] & (worst != ORDER["not_recyclable"])
        body = self.is_body[units]
        group = np.where(body, groups, self._found.group[self.body[sku]])
        none = open_unit | (body & (grades == UNGRADED)) | self._tables.exempt(group, self.levels[sku])
        return np.where(none, UNGRADED, worst)


def provisional(assessed: Assessed, skus: Skus, tables: Tables) -> Bools:
    """Step 8: return whether the grade of each SKU rests on a reading, or an open fact could change it."""
    sku = assessed.units.heads.sku
    to_ask = (assessed.scores.grade != UNGRADED) & (skus.grade[sku] != UNGRADED)
    result = np.zeros(skus.count, np.bool_)
    result[sku[_reads(assessed, tables) & to_ask]] = True
    for tried in (_body_trials, _effect_trials, _part_trials):
        left = to_ask & ~result[sku]
        units, grades, groups = tried(assessed, left, tables)
        if units.size:
            changed = skus.beside(units, grades, groups) != skus.grade[sku[units]]
            result[sku[units[changed]]] = True
    return result


def _reads(assessed: Assessed, tables: Tables) -> Bools:
    """Return whether a unit's grade rests on a reading of a missing fact."""
    units, parts = assessed.units, tables.parts
    count = units.count
    reading = np.zeros(units.part.size, np.bool_)
    placed = assessed.case >= 0
    reading[placed] = tables.cases.at("reading", assessed.case[placed])
    hides = parts.at("hides_layers", units.part)
    recorded = (assessed.word & tables.words.layers > 0)[units.unit]
    hides &= ~(recorded & (parts.at("family", units.part) == parts.families.index("paper")))
    return any_in(units.unit, reading | (units.member & (parts.at("generic", units.part) | hides)), count)


def _body_trials(assessed: Assessed, left: Bools, tables: Tables) -> tuple[Ints, Ints, Ints]:
    """Try each value of an attribute that is open for a whole body."""
    at, _, (trial, places, effects) = body_changes(assessed, left, tables)
    differs = effects != tables.cases.at("effect", assessed.case[places])
    return _scored(assessed, at, (trial[differs], places[differs], effects[differs]), tables)


def body_changes(assessed: Assessed, left: Bools, tables: Tables) -> tuple[Ints, Ints, tuple[Ints, Ints, Ints]]:
    """Return the trials of attributes of a whole body: unit and facts of each, and its changes of parts.

    A change is a trial, the place of a part that reads the attribute, and the part's effect.
    """
    units, placed = assessed.units, np.flatnonzero((assessed.case >= 0) & left[assessed.units.unit])
    is_open = np.zeros(units.count, np.int64)
    np.bitwise_or.at(is_open, units.unit[placed], tables.cases.at("open_body", assessed.case[placed]))
    tried: list[tuple[Ints, Ints]] = []
    for bit, field in enumerate(BODY_FIELDS):
        on = np.flatnonzero(is_open >> bit & 1)
        owner, words = tables.words_to_try(assessed.stream[on], bit)
        tried.append((on[owner], assessed.word[on][owner] & ~tables.words.masks[field] | words))
    at, word = (np.concatenate(column) for column in zip(*tried, strict=True))
    owner, places = ranges(units.start[at], units.size[at])
    to_ask = tables.seats.at("asked", assessed.seat[places])
    reads = np.flatnonzero((to_ask & (word[owner] ^ assessed.word[at][owner])) != 0)
    owner, places = owner[reads], places[reads]
    faces = tables.faces.numbers(assessed.seat[places], word[owner])
    effects = tables.cases.at("effect", tables.cases.numbers(faces, assessed.held[places]))
    return at, word, (owner, places, effects)


def _scored(assessed: Assessed, at: Ints, changes: tuple[Ints, Ints, Ints], tables: Tables) -> tuple[Ints, Ints, Ints]:
    """Return unit, grade and group of trials on the units `at`; a change is a trial, a part's place and its effect."""
    trial, places, effects = changes
    tried, number = np.unique(trial, return_inverse=True)
    at, units = at[tried], assessed.units
    copies = units.take(at)
    effect = tables.cases.at("effect", assessed.case[units.places(at)])
    effect[copies.start[number] + places - units.start[at][number]] = effects
    return at, score(copies, effect, tables).grade, assessed.group[at]


def _effect_trials(assessed: Assessed, left: Bools, tables: Tables) -> tuple[Ints, Ints, Ints]:
    """Try each other effect that an attribute of one part could give it."""
    units, placed = assessed.units, np.flatnonzero((assessed.case >= 0) & left[assessed.units.unit])
    owner, other = tables.cases.other_effects(assessed.case[placed])
    at = units.unit[placed[owner]]
    return _scored(assessed, at, (np.arange(at.size), placed[owner], other), tables)


def _part_trials(assessed: Assessed, left: Bools, tables: Tables) -> tuple[Ints, Ints, Ints]:
    """Try each other material of one part, and each attribute that would add a part."""
    at, _, tried = part_trials(assessed, left, tables)
    return at, tried.scores.grade, tried.group


def part_trials(assessed: Assessed, left: Bools, tables: Tables) -> tuple[Ints, Ints, Assessed]:
    """Return the trials of other parts: unit and place of each, and the units as they would be."""
    units = assessed.units
    placed = np.flatnonzero((assessed.case >= 0) & left[units.unit] & units.member)
    owner, other = tables.cases.other_parts(assessed.case[placed], units.part[placed])
    at = units.unit[placed[owner]]
    return at, placed[owner], assess(units.with_part(at, placed[owner], other, tables.parts), tables)


@dataclass(frozen=True, slots=True)
class Block:
    """The units of the SKUs and the SKUs' results by one rule-set.

    `outside` is the number of the reason for which a SKU needs no grade, 0 where there is none. `left` are the places
    of the SKUs that the kernel grades: it remembers those without components, and puts together very many parts.
    """

    tables: Tables
    assessed: Assessed
    skus: Skus
    outside: Ints
    exempt: Bools
    provisional: Bools
    left: Ints


def grade_skus(frames: Frames, tables: Tables) -> Block:
    """Return the SKUs of a block (`frames_of`), graded: steps 2 to 8."""
    read = tables.reader.read(*frames)
    count = read.form.size
    has_part, has_body = np.zeros((2, count), np.bool_)
    has_part[read.sku] = True
    has_body[read.sku[tables.parts.at("type", read.part) == BODY]] = True
    kept = has_body & (read.outside == 0)
    units = split_into_units(read, kept, tables.parts)
    assessed = assess(units, tables)
    skus = Skus(assessed, count, read.level, tables)
    exempt = np.zeros(count, np.bool_)
    exempt[kept] = tables.exempt(assessed.group[skus.body[kept]], read.level[kept])
    wide = np.zeros(count, np.bool_)
    wide[units.heads.sku[units.size > MANY]] = True
    left = np.flatnonzero(~has_part | wide)
    return Block(tables, assessed, skus, read.outside, exempt, provisional(assessed, skus, tables), left)


def answers(block: Block, rows: Sequence[Inputs]) -> list[Answer]:
    """Return the answers of a block, made of these rows, in their order."""
    skus = block.skus
    score = np.floor((skus.score + TOLERANCE) * 10_000 + 0.5) / 10_000  # as `rounded_score` rounds
    results = zip(skus.grade.tolist(), score.tolist(), block.provisional.tolist(), strict=True)
    graded: list[Answer] = [(GRADES[grade], None if grade == UNGRADED else of, open_) for grade, of, open_ in results]
    left = block.left.tolist()
    for place, answer in zip(left, grade_rows([rows[place] for place in left], block.tables.rules), strict=True):
        graded[place] = answer
    return graded
