"""The open facts of a record: what nobody gave, and what a scheme's rating could become if somebody did.

Each is tried with its values, all else equal, as `compliance.grading.provisional` does: an attribute with one value for
each way in which rows answer it, a material with one code for each, a format with one word for each shape, a weight
with a light and a heavy one.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from compliance.grading.components import Record
from compliance.material_path import material_path
from compliance.rule_rows import Value
from compliance.ruleset import RuleSet
from compliance.schemes.rating import Rated, rate, worst
from compliance.schemes.tables import RatingRow, Scheme
from compliance.schemes.units import Piece, RatedUnit, units_of
from compliance.words import resolve_format

FORMAT: Final = "packaging_format"
MATERIAL: Final = "polymer_or_grade"
WEIGHT: Final = "weight_g"
_LIGHT_AND_HEAVY: Final = (0.001, 1_000_000.0)


class OpenFact(NamedTuple):
    """A field that nobody gave: of the component at `index`, or of the SKU where it is None; what could follow.

    `component_type` chooses the question. `could_become` stands from the worst to the best.
    """

    field: str
    index: int | None
    component_type: str
    could_become: tuple[RatingRow, ...]


def open_facts(
    record: Record, units: list[RatedUnit], found: list[Rated], scheme: Scheme, rules: RuleSet
) -> list[OpenFact]:
    """What could change the rating of the SKU, what is missing for one first, then the greater change."""
    facts: dict[OpenFact, int] = {}
    for place, (unit, rated) in enumerate(zip(units, found, strict=True)):
        others = [each.rating for at, each in enumerate(found) if at != place and each.rating]
        for at, field in (*rated.missing, *rated.open):
            tried = _tried(record, unit, place, at, field, scheme, rules)
            could = {worst([*others, each.rating]) for each in tried if each.rating}
            before = worst([*others, rated.rating]) if rated.rating else None
            could.discard(before)  # type: ignore[arg-type]
            if could or rated.rating is None:
                fact = _named(unit.pieces[at], field, could)
                facts[fact] = -1 if before is None else -max(abs(each.severity - before.severity) for each in could)
    ordered = sorted(facts, key=lambda fact: (bool(fact.could_become) and facts[fact] != -1, facts[fact]))
    return list(dict.fromkeys(ordered))


def _named(piece: Piece, field: str, could: set[RatingRow]) -> OpenFact:
    ranked = tuple(sorted(could, key=lambda rating: -rating.severity))
    index = piece.weighed.index
    if field == FORMAT:
        return OpenFact(field, None, "", ranked)
    if index is None:
        return OpenFact(piece.weighed.field(field), None, piece.part.component_type, ranked)
    return OpenFact(field, index, piece.part.component_type, ranked)


def _tried(
    record: Record, unit: RatedUnit, place: int, at: int, field: str, scheme: Scheme, rules: RuleSet
) -> Iterator[Rated]:
    """The unit rated with each value that the field could have."""
    if field == FORMAT:
        for word in _formats(rules):
            yield rate(units_of({**record, FORMAT: word}, rules)[place], scheme, rules)
        return
    piece = unit.pieces[at]
    for other in _other_pieces(piece, field, unit, scheme, rules):
        yield rate(unit.with_piece(at, other), scheme, rules)


def _other_pieces(piece: Piece, field: str, unit: RatedUnit, scheme: Scheme, rules: RuleSet) -> Iterator[Piece]:
    if field == WEIGHT:
        for grams in _LIGHT_AND_HEAVY:
            yield piece._replace(weighed=_with(piece, grams=grams))
    elif field == MATERIAL:
        for code in _codes(scheme, rules):
            if piece.part.family in {None, *rules.materials[code].contract_families}:
                kind = piece.part.component_type
                path = material_path(kind, piece.part.family, code, unit.text, rules)
                yield piece._replace(weighed=_with(piece, part=piece.part.with_code(code, rules)), path=path)
    else:
        for value in values(scheme, field, rules):
            yield piece._replace(weighed=_with(piece, part=piece.part.with_field(field, value, rules)))


def _with(piece: Piece, **changes: Any) -> Any:
    weighed = piece.weighed
    held: Mapping[str, Any] = {"part": weighed.part, "grams": weighed.grams, "index": weighed.index}
    return type(weighed)(**{**held, **changes})


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
    words = {found.form: word for word, found in reversed(rules.formats.items()) if found.form}
    return tuple(word for word in words.values() if resolve_format(word, rules))
