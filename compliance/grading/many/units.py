"""Units as flat arrays: the parts of all units one after the other, members first, then the parts that they carry."""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from compliance.grading.many.keys import Bools, Floats, Ints, ranges
from compliance.grading.many.parts import BODY, MATERIALS, Parts


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
