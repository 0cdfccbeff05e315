"""The open facts of a record: what nobody gave, and what a scheme's rating could become if somebody did.

Each is tried with its values, all else equal, as `compliance.grading.provisional` does: an attribute with one value for
each way in which rows answer it, a material with one code for each, a format with one word for each shape, a weight
with a light and a heavy one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from compliance.grading.components import Record
from compliance.material_path import material_path
from compliance.rule_rows import Value
from compliance.ruleset import RuleSet
from compliance.schemes.rating import Rated, holding, rate, worst
from compliance.schemes.tables import RatingRow, Scheme
from compliance.schemes.units import Piece, RatedUnit, units_of

FORMAT: Final = "packaging_format"
WEIGHT: Final = "weight_g"
_LIGHT_AND_HEAVY: Final = (0.001, 1_000_000.0)
"""Grams of a part without weight: next to nothing, and more than all others."""


@dataclass(frozen=True, slots=True)
class OpenFact:
    """A field that nobody gave: of the component in `place`, of the SKU where that is None; what could follow.

    `component_type` chooses the question. `could_become` stands from the best to the worst.
    """

    field: str
    place: int | None
    component_type: str
    could_become: tuple[RatingRow, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A record whose units a version of a scheme has rated, in their order."""

    record: Record
    scheme: Scheme
    rules: RuleSet
    units: Sequence[RatedUnit]
    found: Sequence[Rated]

    def open_facts(self) -> list[OpenFact]:
        """What could change the rating of the SKU: what is missing for one first, then the greater change."""
        missing: list[OpenFact] = []
        changing: list[tuple[int, OpenFact]] = []
        for at, (unit, rated) in enumerate(zip(self.units, self.found, strict=True)):
            others = [each.rating for place, each in enumerate(self.found) if place != at and each.rating]
            for place, field in rated.missing:
                alone = len(rated.missing) == 1
                could = {worst([*others, each]) for each in self._rated_with(at, place, field)} if alone else set()
                missing.append(_named(unit.pieces[place], field, could or set(self.scheme.ratings)))
            if rated.rating is None:
                continue
            before, two = worst([*others, rated.rating]), _worst_two(rated)
            for place, field in rated.open:
                rest = [rating for where, rating in two if where != place]
                reached = self._reached(at, place, field, rest)
                if could := {worst([*others, each]) for each in reached} - {before}:
                    change = max(abs(each.severity - before.severity) for each in could)
                    changing.append((-change, _named(unit.pieces[place], field, could)))
        changing.sort(key=lambda each: each[0])
        return list(dict.fromkeys([*missing, *(fact for _, fact in changing)]))

    def _reached(self, at: int, place: int, field: str, rest: list[RatingRow]) -> Iterator[RatingRow]:
        """The unit's ratings with each value of an attribute: only the rows of its piece can change, not `rest`."""
        unit, rated = self.units[at], self.found[at]
        assert rated.category
        piece = unit.pieces[place]
        for value in values(self.scheme, field, self.rules):
            part = piece.part.with_field(field, value, self.rules)
            other = piece._replace(weighed=replace(piece.weighed, part=part))
            yield worst([*rest, *(row.rating for row in holding(rated.category, other, unit, self.scheme))])

    def _rated_with(self, at: int, place: int, field: str) -> Iterator[RatingRow]:
        """The unit's ratings with each value of the one fact that it lacks, where that is enough for a rating."""
        unit = self.units[at]
        if field == FORMAT:
            tried = [units_of({**self.record, FORMAT: word}, self.rules)[at] for word in _formats(self.rules)]
        else:
            tried = [unit.with_piece(place, other) for other in self._others(unit.pieces[place], field, unit)]
        for each in tried:
            if rating := rate(each, self.scheme, self.rules).rating:
                yield rating

    def _others(self, piece: Piece, field: str, unit: RatedUnit) -> Iterator[Piece]:
        """The piece with other weights, or of other materials that its family leaves."""
        part = piece.part
        if field == WEIGHT:
            for grams in _LIGHT_AND_HEAVY:
                yield piece._replace(weighed=replace(piece.weighed, grams=grams))
            return
        for code in _codes(self.scheme, self.rules):
            if part.family in {None, *self.rules.materials[code].contract_families}:
                path = material_path(part.component_type, part.family, code, unit.text, self.rules)
                yield piece._replace(weighed=replace(piece.weighed, part=part.with_code(code, self.rules)), path=path)


def _worst_two(rated: Rated) -> list[tuple[int, RatingRow]]:
    """The places and ratings of the two worst pieces: one of them is the worst of all but any one piece."""
    of_piece = [(place, worst([row.rating for row in rows])) for place, rows in enumerate(rated.by_piece) if rows]
    return sorted(of_piece, key=lambda each: -each[1].severity)[:2]


def _named(piece: Piece, field: str, could: set[RatingRow]) -> OpenFact:
    ranked = tuple(sorted(could, key=lambda rating: rating.severity))
    place = piece.weighed.index
    if field == FORMAT:
        return OpenFact(field, None, "", ranked)
    named = piece.weighed.field(field) if place is None else field
    return OpenFact(named, place, piece.part.component_type, ranked)


@lru_cache(maxsize=1024)
def values(scheme: Scheme, field: str, rules: RuleSet) -> tuple[Value, ...]:
    """One value of a closed vocabulary for each way in which the scheme's rows answer the field."""
    asking = [row.rule for row in scheme.rules if row.rule.field == field and row.rule.recordable]
    distinct: dict[tuple[bool, ...], Value] = {}
    for value in rules.vocabularies[field]:
        tried = frozenset({str(value)}) if field == "additives" else value
        distinct.setdefault(tuple(rule.met_by(tried) for rule in asking), tried)
    return tuple(distinct.values())


@lru_cache(maxsize=64)
def _codes(scheme: Scheme, rules: RuleSet) -> tuple[str, ...]:
    """One known material for each way in which the scheme's rows ask for materials, in each family of records."""
    asking = [row.rule for row in scheme.rules if row.has_codes]
    distinct: dict[object, str] = {}
    for material in rules.materials.values():
        if material.specified and not material.weight_optional:
            answers = tuple(rule.asks_code(material, frozenset()) for rule in asking)
            distinct.setdefault((material.contract_families, answers), material.code)
    return tuple(distinct.values())


@lru_cache(maxsize=16)
def _formats(rules: RuleSet) -> tuple[str, ...]:
    """One word for each form that a packaging format can have."""
    distinct: dict[str, str] = {}
    for word, found in rules.formats.items():
        if found.form:
            distinct.setdefault(found.form, word)
    return tuple(distinct.values())
