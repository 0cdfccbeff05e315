"""Finds the open facts of a record: missing facts, and the ratings that a scheme could give with each of their values.

Each is tried with its values, all else equal, as in `compliance.grading.provisional`: an attribute with one value for
each way in which rows answer it, a material with one code for each, a format with one word for each shape, a weight
with a light and a heavy one.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

from compliance.grading.units import LAYERS, alike, lines
from compliance.material_path import material_path
from compliance.rule_rows import Value
from compliance.ruleset import RuleSet
from compliance.schemes.rating import (
    BODY,
    Piece,
    Rated,
    RatedUnit,
    RatingRow,
    Scheme,
    SchemeRule,
    applicable_rows,
    is_exempt,
    of_year,
    rate,
    units_of,
    worst,
)
from compliance.scopes import of_record
from schemas import rules as rules_schemas
from schemas.messages import ORIGINAL
from schemas.normalise import country_of
from schemas.rules import SchemeRating
from schemas.skus.types import Sku

FORMAT: Final = "packaging_format"
WEIGHT: Final = "weight_g"
_LIGHT_AND_HEAVY: Final = (0.001, 1_000_000.0)
"""Trial weights in grams of a part without weight: next to nothing, and more than all others."""


@dataclass(frozen=True, slots=True)
class OpenFact:
    """A missing field of the component in `place`, or of the SKU where that is None; and the ratings that could follow.

    `component_type` chooses the question. `could_become` is ordered from the best to the worst.
    """

    field: str
    place: int | None
    component_type: str
    could_become: tuple[RatingRow, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A record whose units a version of a scheme has rated, in their order."""

    record: Sku
    scheme: Scheme
    rules: RuleSet
    units: Sequence[RatedUnit]
    rated: Sequence[Rated]

    def open_facts(self) -> list[OpenFact]:
        """Return the facts that could change the SKU's rating: those missing for any first, then the greater change."""
        missing: list[OpenFact] = []
        changing: list[tuple[int, OpenFact]] = []
        trials = _Trials(self)
        two_units = _worst_two((at, [unit.rating]) for at, unit in enumerate(self.rated) if unit.rating)
        for at, (unit, rated) in enumerate(zip(self.units, self.rated, strict=True)):
            others = [rating for where, rating in two_units if where != at]
            for place, field in rated.missing:
                alone = len(rated.missing) == 1
                could = {worst([*others, rating]) for rating in trials.rated_with(at, place, field)} if alone else set()
                missing.append(_ranked(unit.pieces[place], field, could or set(self.scheme.ratings)))
            if rated.rating is None:
                continue
            before = worst([*others, rated.rating])
            by_piece = ((place, [row.rating for row in rows]) for place, rows in enumerate(rated.by_piece) if rows)
            two = _worst_two(by_piece)
            for place, field in rated.open:
                rest = [*others, *(rating for where, rating in two if where != place)]
                if could := {worst([*rest, *own]) for own in trials.own_with(at, place, field)} - {before}:
                    change = max(abs(rating.severity - before.severity) for rating in could)
                    changing.append((-change, _ranked(unit.pieces[place], field, could)))
        changing.sort(key=lambda entry: entry[0])
        return list(dict.fromkeys([*missing, *(fact for _, fact in changing)]))


class _Trials:
    """The results of the open facts of a case's pieces; each kind of piece is tried once, however many there are.

    A piece alone in its unit is judged alike whatever its weight, and its attributes whatever the other pieces.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._rated: dict[Hashable, frozenset[RatingRow]] = {}
        self._own: dict[Hashable, frozenset[tuple[RatingRow, ...]]] = {}
        self._shaped: list[list[RatedUnit]] = []

    def own_with(self, at: int, place: int, field: str) -> frozenset[tuple[RatingRow, ...]]:
        """Return the ratings of one piece's rows for each value of an attribute: only these can change."""
        category, piece = self._case.rated[at].category, self._case.units[at].pieces[place]
        key = category, field, _kind(piece)
        if (ratings := self._own.get(key)) is None:
            ratings = self._own[key] = frozenset(self._tried(at, piece, field))
        return ratings

    def _tried(self, at: int, piece: Piece, field: str) -> Iterator[tuple[RatingRow, ...]]:
        unit, category, scheme, rules = self._case.units[at], self._case.rated[at].category, *self._tables()
        assert category
        for value in values(scheme, field, rules):
            part = piece.part.with_field(field, value, rules)
            other = piece._replace(weighed=replace(piece.weighed, part=part))
            yield tuple(row.rating for row in applicable_rows(category, other, unit, scheme))

    def rated_with(self, at: int, place: int, field: str) -> frozenset[RatingRow]:
        """Return the unit's ratings with each value of its one missing fact, where that is enough for a rating."""
        pieces = self._case.units[at].pieces
        key = (field, _kind(pieces[place])) if len(pieces) == 1 else (field, at, place)
        if (ratings := self._rated.get(key)) is None:
            tried = self._with_formats(at) if field == FORMAT else self._with_pieces(at, place, field)
            rated = (rate(unit, *self._tables()).rating for unit in tried)
            ratings = self._rated[key] = frozenset(rating for rating in rated if rating)
        return ratings

    def _tables(self) -> tuple[Scheme, RuleSet]:
        return self._case.scheme, self._case.rules

    def _with_formats(self, at: int) -> Iterator[RatedUnit]:
        """Yield the unit with one word for each form; all units are made again with each, once."""
        record, rules = self._case.record, self._case.rules
        if not self._shaped:
            self._shaped = [units_of({**record, FORMAT: word}, rules) for word in _formats(rules)]
        return (units[at] for units in self._shaped)

    def _with_pieces(self, at: int, place: int, field: str) -> Iterator[RatedUnit]:
        unit = self._case.units[at]
        return (unit.with_piece(place, other) for other in self._others(unit.pieces[place], field, unit))

    def _others(self, piece: Piece, field: str, unit: RatedUnit) -> Iterator[Piece]:
        """Yield the piece with other weights, or of other materials that its family allows."""
        part = piece.part
        if field == WEIGHT:
            for grams in _LIGHT_AND_HEAVY:
                yield piece._replace(weighed=replace(piece.weighed, grams=grams))
            return
        scheme, rules = self._tables()
        for code in _codes(scheme, rules):
            if part.family in {None, *rules.materials[code].contract_families}:
                path = material_path(part.component_type, part.family, code, unit.text, rules)
                yield piece._replace(weighed=replace(piece.weighed, part=part.with_code(code, rules)), path=path)


def _worst_two(rated: Iterable[tuple[int, Sequence[RatingRow]]]) -> list[tuple[int, RatingRow]]:
    """Return the places and ratings of the two worst: one of them is the worst of all but any one place."""
    return sorted(((place, worst(ratings)) for place, ratings in rated), key=lambda entry: -entry[1].severity)[:2]


def _kind(piece: Piece) -> Hashable:
    """Return a key equal for pieces that differ only in weight and place."""
    return alike(piece.weighed), piece.matched, piece.path, piece.pfas


def _ranked(piece: Piece, field: str, could: set[RatingRow]) -> OpenFact:
    ranked = tuple(sorted(could, key=lambda rating: rating.severity))
    place = piece.weighed.index
    if field == FORMAT:
        return OpenFact(field, None, "", ranked)
    name = piece.weighed.field(field) if place is None else field
    return OpenFact(name, place, piece.part.component_type, ranked)


@lru_cache(maxsize=1024)
def values(scheme: Scheme, field: str, rules: RuleSet) -> tuple[Value, ...]:
    """Return one value of a closed vocabulary for each way in which the scheme's rows answer the field."""
    asking = [row.rule for row in scheme.rules if row.rule.field == field and row.rule.recordable]
    distinct: dict[tuple[bool, ...], Value] = {}
    for value in rules.vocabularies[field]:
        tried = frozenset({str(value)}) if field == "additives" else value
        distinct.setdefault(tuple(rule.met_by(tried) for rule in asking), tried)
    return tuple(distinct.values())


@lru_cache(maxsize=64)
def _codes(scheme: Scheme, rules: RuleSet) -> tuple[str, ...]:
    """Return one known material for each way in which the scheme's rows ask for materials, in each record family."""
    asking = [row.rule for row in scheme.rules if row.has_codes]
    distinct: dict[object, str] = {}
    for material in rules.materials.values():
        if material.specified and not material.weight_optional:
            answers = tuple(rule.asks_code(material, frozenset()) for rule in asking)
            distinct.setdefault((material.contract_families, answers), material.code)
    return tuple(distinct.values())


@lru_cache(maxsize=16)
def _formats(rules: RuleSet) -> tuple[str, ...]:
    """Return one word for each form that a packaging format can have."""
    distinct: dict[str, str] = {}
    for word, form in rules.formats.items():
        if form.form:
            distinct.setdefault(form.form, word)
    return tuple(distinct.values())


class PartRating(NamedTuple):
    """The rating of the parts of one component type: `code` is the declaration's code, None where a fact is missing.

    `standing` are the rows that led to it.
    """

    component_type: str
    code: str | None
    standing: tuple[SchemeRule, ...]

    @property
    def is_unverified(self) -> bool:
        """Whether a row that led to the rating rests on memory: then only a person may write the rating anywhere."""
        return any(row.is_unverified for row in self.standing)


def published_schemes(record: Sku, rules: RuleSet, year: int, lang: str = ORIGINAL) -> list[SchemeRating]:
    """Return the `compliance.schemes` block of a SKU in a year: an entry per scheme of its markets in effect.

    Without a market it is of all schemes; a SKU that a scheme does not rate at all has no entry of it. Questions are in
    a language of `schemas.messages`.
    """
    markets = of_record(record)
    return [
        _entry(record, scheme, rules, lang)
        for scheme in of_year(year)
        if (not markets or any(country_of(code) == scheme.market for code in markets)) and not is_exempt(record, scheme)
    ]


def _entry(record: Sku, scheme: Scheme, rules: RuleSet, lang: str) -> SchemeRating:
    case = _case(record, scheme, rules)
    ratings = [unit.rating for unit in case.rated if unit.rating]
    complete = bool(case.rated) and len(ratings) == len(case.rated)
    deciding = [row for unit in case.rated for row in unit.standing if complete and row.rating == worst(ratings)]
    return {
        "scheme": scheme.key,
        "version": scheme.version,
        "rating": worst(ratings).name if complete else None,
        "unverified": any(row.is_unverified for row in deciding),
        "open": _open(case, lang),
        "source_url": scheme.source_url,
    }


def published_open_facts(record: Sku, scheme: Scheme, rules: RuleSet) -> list[rules_schemas.OpenFact]:
    """Return the open facts of a record as they are published; none where the scheme does not rate it."""
    return [] if is_exempt(record, scheme) else _open(_case(record, scheme, rules), ORIGINAL)


def part_ratings(record: Sku, scheme: Scheme, rules: RuleSet) -> list[PartRating]:
    """Return the ratings by component type, in the order of the parts; none where the scheme does not rate the SKU.

    Parts that count with the body, such as an ink, and the layers of a body have no rating of their own.
    """
    if is_exempt(record, scheme):
        return []
    by_type: dict[str, list[Rated]] = {}
    case = _case(record, scheme, rules)
    for unit, rated in zip(case.units, case.rated, strict=True):
        for piece in unit.pieces:
            is_layer = piece.matched in LAYERS and piece.matched != BODY
            if not is_layer and not piece.part.weightless:
                by_type.setdefault(piece.part.component_type, []).append(rated)
    is_medical = not scheme.medical_use_contexts.isdisjoint(record.get("use_contexts") or ())
    return [_part(kind, ratings, is_medical=is_medical) for kind, ratings in by_type.items()]


def _part(component_type: str, units: list[Rated], *, is_medical: bool) -> PartRating:
    standing = tuple(dict.fromkeys(row for unit in units for row in unit.standing))
    ratings = [unit.rating for unit in units if unit.rating]
    if len(ratings) < len(units):
        return PartRating(component_type, None, standing)
    rating = worst(ratings)
    code = rating.medical_code if is_medical else rating.code
    return PartRating(component_type, code, tuple(row for row in standing if row.rating == rating))


def _case(record: Sku, scheme: Scheme, rules: RuleSet) -> Case:
    units = units_of(record, rules)
    return Case(record, scheme, rules, units, [rate(unit, scheme, rules) for unit in units])


def _open(case: Case, lang: str) -> list[rules_schemas.OpenFact]:
    """Return the open facts; without a unit, the fact that would make one."""
    if case.units:
        return [_open_fact(fact, case, lang) for fact in case.open_facts()]
    field, every = "components" if lines(case.record) else "material", case.scheme.ratings
    return [_open_fact(OpenFact(field, None, "", every), case, lang)]


def _open_fact(fact: OpenFact, case: Case, lang: str) -> rules_schemas.OpenFact:
    question = case.rules.question(_QUESTION.get(fact.field, fact.field), fact.component_type)
    return {
        "field": fact.field,
        "component_id": None if fact.place is None else lines(case.record)[fact.place].get("id"),
        "ask": getattr(question, lang) if question else fact.field,
        "could_become": [rating.name for rating in fact.could_become],
    }


_QUESTION: Final = {"weight_grams": "weight_g", "material_subtype": "polymer_or_grade"}
"""Fields of a SKU without components that have the question of a component's field."""
