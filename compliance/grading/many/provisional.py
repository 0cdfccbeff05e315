"""Step 8 of grading.md for many SKUs: tries the alternatives that the kernel names, each as one unit more."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from compliance.grading.assessment import ORDER
from compliance.grading.many.assess import Assessed, Heads, Lines, Units, assess, score
from compliance.grading.many.coding import Coded
from compliance.grading.many.keys import Bools, Floats, Ints, any_in, ranges
from compliance.grading.many.parts import BODY, GRADED, GRADES, MISSING, UNGRADED
from compliance.grading.many.tables import BODY_FIELDS, Tables
from compliance.grading.toward import MANY
from compliance.rule_rows import TOLERANCE


class Skus:
    """The SKUs of a block with their units' results: the SKU's grade, also if one unit had another (step 7d)."""

    def __init__(self, found: Assessed, count: int, levels: Ints, tables: Tables) -> None:
        self._found, self._tables, self.count = found, tables, count
        self.levels = levels
        sku, grade = found.units.heads.sku, found.scores.grade
        self.body = np.full(count, -1)
        self.is_body = np.ones(sku.size, np.bool_)
        self.is_body[1:] = sku[1:] != sku[:-1]
        self.body[sku[self.is_body]] = np.flatnonzero(self.is_body)
        self._with_grade = np.bincount(sku * (UNGRADED + 1) + grade, minlength=count * (UNGRADED + 1)).reshape(
            count, -1
        )
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


def provisional(found: Assessed, skus: Skus, tables: Tables) -> Bools:
    """Return whether the grade of each SKU rests on a reading, or an open fact could change it."""
    sku = found.units.heads.sku
    asked = (found.scores.grade != UNGRADED) & (skus.grade[sku] != UNGRADED)
    result = np.zeros(skus.count, np.bool_)
    result[sku[_reads(found, tables) & asked]] = True
    for tried in (_body_trials, _effect_trials, _part_trials):
        left = asked & ~result[sku]
        units, grades, groups = tried(found, left, tables)
        if units.size:
            changed = skus.beside(units, grades, groups) != skus.grade[sku[units]]
            result[sku[units[changed]]] = True
    return result


def _reads(found: Assessed, tables: Tables) -> Bools:
    """Return whether a unit's grade rests on a reading of a missing fact."""
    units, parts = found.units, tables.parts
    count = len(units)
    reading = np.zeros(units.part.size, np.bool_)
    placed = found.case >= 0
    reading[placed] = tables.cases.reading.bools(found.case[placed])
    hides = parts.hides_layers.bools(units.part)
    recorded = (found.word & tables.words.layers > 0)[units.unit]
    hides &= ~(recorded & (parts.family.ints(units.part) == parts.families.index("paper")))
    return any_in(units.unit, reading | (units.member & (parts.generic.bools(units.part) | hides)), count)


def _body_trials(found: Assessed, left: Bools, tables: Tables) -> tuple[Ints, Ints, Ints]:
    """Try each value of an attribute that is open for a whole body."""
    at, _, (trial, places, effects) = body_changes(found, left, tables)
    differs = effects != tables.cases.effect.ints(found.case[places])
    return _scored(found, at, (trial[differs], places[differs], effects[differs]), tables)


def body_changes(found: Assessed, left: Bools, tables: Tables) -> tuple[Ints, Ints, tuple[Ints, Ints, Ints]]:
    """Return the trials of attributes of a whole body: unit and facts of each, and its changes of parts.

    A change is a trial, the place of a part that reads the attribute, and the part's effect.
    """
    units, placed = found.units, np.flatnonzero((found.case >= 0) & left[found.units.unit])
    is_open = np.zeros(len(units), np.int64)
    np.bitwise_or.at(is_open, units.unit[placed], tables.cases.open_body.ints(found.case[placed]))
    tried: list[tuple[Ints, Ints]] = []
    for bit, field in enumerate(BODY_FIELDS):
        on = np.flatnonzero(is_open >> bit & 1)
        owner, given = tables.words_to_try(found.stream[on], bit)
        tried.append((on[owner], found.word[on][owner] & ~tables.words.masks[field] | given))
    at, word = (np.concatenate(each) for each in zip(*tried, strict=True))
    owner, places = ranges(units.start[at], units.size[at])
    asked = tables.seats.asked.ints(found.seat[places])
    reads = np.flatnonzero((asked & (word[owner] ^ found.word[at][owner])) != 0)
    owner, places = owner[reads], places[reads]
    faces = tables.faces.numbers(found.seat[places], word[owner])
    effects = tables.cases.effect.ints(tables.cases.numbers(faces, found.held[places]))
    return at, word, (owner, places, effects)


def _scored(found: Assessed, at: Ints, changes: tuple[Ints, Ints, Ints], tables: Tables) -> tuple[Ints, Ints, Ints]:
    """Return unit, grade and group of trials on the units `at`; a change is a trial, a part's place and its effect."""
    trial, places, effects = changes
    tried, number = np.unique(trial, return_inverse=True)
    at, units = at[tried], found.units
    copies = units.take(at)
    effect = tables.cases.effect.ints(found.case[units.places(at)])
    effect[copies.start[number] + places - units.start[at][number]] = effects
    return at, score(copies, effect, tables).grade, found.group[at]


def _effect_trials(found: Assessed, left: Bools, tables: Tables) -> tuple[Ints, Ints, Ints]:
    """Try each other effect that an attribute of one part could give it."""
    units, placed = found.units, np.flatnonzero((found.case >= 0) & left[found.units.unit])
    owner, other = tables.cases.other_effects(found.case[placed])
    at = units.unit[placed[owner]]
    return _scored(found, at, (np.arange(at.size), placed[owner], other), tables)


def _part_trials(found: Assessed, left: Bools, tables: Tables) -> tuple[Ints, Ints, Ints]:
    """Try each other material of one part, and each attribute that would add a part."""
    at, _, tried = part_trials(found, left, tables)
    return at, tried.scores.grade, tried.group


def part_trials(found: Assessed, left: Bools, tables: Tables) -> tuple[Ints, Ints, Assessed]:
    """Return the trials of other parts: unit and place of each, and the units as they would be."""
    units = found.units
    placed = np.flatnonzero((found.case >= 0) & left[units.unit] & units.member)
    owner, other = tables.cases.other_parts(found.case[placed], units.part[placed])
    at = units.unit[placed[owner]]
    return at, placed[owner], assess(units.with_part(at, placed[owner], other, tables.parts), tables)


@dataclass(frozen=True, slots=True)
class Block:
    """The units of the SKUs and the SKUs' results. `missing` are the bits of missing facts.

    `outside` is the number of the reason for which a SKU needs no grade, 0 where there is none. `wide` are the SKUs of
    so many parts that the kernel grades them.
    """

    tables: Tables
    found: Assessed
    skus: Skus
    outside: Ints
    exempt: Bools
    missing: Ints
    provisional: Bools
    wide: Ints

    def streams(self) -> Ints:
        """Return the stream of each SKU, -1 for none."""
        own = np.flatnonzero((self.skus.body >= 0) & ~self.exempt)
        stream = np.full(self.skus.count, -1)
        stream[own] = self.found.stream[self.skus.body[own]]
        return stream


def graded(blocks: Sequence[Block]) -> pl.DataFrame:
    """Return the answers of blocks by one rule-set (`GRADED`), one block after the other."""
    score = np.concatenate([block.skus.score for block in blocks])
    score = np.floor((score + TOLERANCE) * 10_000 + 0.5) / 10_000  # as `rounded_score` rounds
    streams = pl.Series([*blocks[0].tables.streams, None], dtype=pl.String)
    stream = np.concatenate([block.streams() for block in blocks])
    return pl.DataFrame(
        {
            "grade": pl.Series(GRADES)[np.concatenate([block.skus.grade for block in blocks])],
            "score": pl.Series(score).fill_nan(None),
            "provisional": np.concatenate([block.provisional for block in blocks]),
            "stream": streams[np.where(stream < 0, streams.len() - 1, stream)],
            "missing": np.concatenate([block.missing for block in blocks]),
        },
        schema=GRADED,
    )


def assessed(coded: Coded, tables: Tables) -> Block:
    """Return the SKUs of a block, assessed."""
    count, level, outside = len(coded), coded.level, coded.outside
    has_part, has_body = np.zeros((2, count), np.bool_)
    has_part[coded.sku] = True
    has_body[coded.sku[tables.parts.type.ints(coded.part) == BODY]] = True
    kept = has_body & (outside == 0)
    units = _units(coded, kept, tables)
    found = assess(units, tables)
    result = Skus(found, count, level, tables)
    exempt = np.zeros(count, np.bool_)
    exempt[kept] = tables.exempt(found.group[result.body[kept]], level[kept])
    missing = np.where(~has_part, MISSING["material"], np.where(coded.has_graph & ~has_body, MISSING["components"], 0))
    np.bitwise_or.at(missing, units.heads.sku, np.where(exempt[units.heads.sku], 0, found.missing))
    return Block(
        tables=tables,
        found=found,
        skus=result,
        outside=outside,
        exempt=exempt,
        missing=missing,
        provisional=provisional(found, result, tables),
        wide=np.unique(units.heads.sku[units.size > MANY]),
    )


def _units(coded: Coded, kept: Bools, tables: Tables) -> Units:
    """Return the units: the body's of each SKU first, then one for each part that comes off (step 4a, d)."""
    form_apart = tables.parts.form_apart.ints(coded.part)
    order = np.flatnonzero(kept[coded.sku])
    order = order[np.argsort(2 * coded.sku[order] + (form_apart[order] > 0), kind="stable")]
    sku, form_apart = coded.sku[order], form_apart[order]
    apart = form_apart > 0
    first = apart.copy()
    first[:1] = True
    first[1:] |= sku[1:] != sku[:-1]
    head = np.flatnonzero(first)
    heads = Heads(sku[head], np.where(apart[head], form_apart[head], coded.form[sku[head]]), apart[head])
    members = Lines(np.cumsum(first) - 1, coded.part[order], coded.grams[order], coded.unweighed[order])
    return Units.of(heads, members, tables.parts)
