"""What is told of a scheme's rating: the entry of a SKU as it is published, and its parts' ratings for a declaration.

A SKU has the worst rating of its units, and none while one of them lacks a fact. A declaration asks by component type:
parts of one type in units of different ratings have the worst.
"""

from typing import NamedTuple

from compliance.grading.components import Record, lines
from compliance.grading.units import LAYERS
from compliance.ruleset import RuleSet
from compliance.schemes.rating import BODY, Rated, is_exempt, rate, worst
from compliance.schemes.settling import OpenFact, open_facts
from compliance.schemes.tables import RatingRow, Scheme, SchemeRule, of_year
from compliance.schemes.units import RatedUnit, units_of


class PartRating(NamedTuple):
    """The rating of the parts of one component type: `code` is what a declaration says, None where a fact is missing.

    `standing` are the rows that led to it.
    """

    component_type: str
    code: str | None
    standing: tuple[SchemeRule, ...]


def shown(record: Record, rules: RuleSet, year: int) -> list[dict[str, object]]:
    """`compliance.schemes` of a SKU in a year: an entry for each scheme of its markets, all where it names none.

    A SKU that a scheme does not rate at all has no entry of it.
    """
    markets = record.get("markets") or ()
    return [
        _entry(record, scheme, rules)
        for scheme in of_year(year)
        if (not markets or any(code[:2] == scheme.market for code in markets)) and not is_exempt(record, scheme)
    ]


def _entry(record: Record, scheme: Scheme, rules: RuleSet) -> dict[str, object]:
    units, found = _rated(record, scheme, rules)
    ratings = [each.rating for each in found if each.rating]
    complete = bool(found) and len(ratings) == len(found)
    return {
        "scheme": scheme.key,
        "version": scheme.version,
        "rating": worst(ratings).name if complete else None,
        "open": [_told(fact, record, rules) for fact in _open(record, units, found, scheme, rules)],
        "source_url": scheme.source_url,
    }


def asked(record: Record, scheme: Scheme, rules: RuleSet) -> list[dict[str, object]]:
    """The open facts of a record as they are published; none where the scheme does not rate it."""
    if is_exempt(record, scheme):
        return []
    units, found = _rated(record, scheme, rules)
    return [_told(fact, record, rules) for fact in _open(record, units, found, scheme, rules)]


def part_ratings(record: Record, scheme: Scheme, rules: RuleSet) -> list[PartRating]:
    """The ratings by component type, in the order of the parts; none where the scheme does not rate the SKU.

    What goes with the body, such as an ink, and the layers of a body have none of their own.
    """
    if is_exempt(record, scheme):
        return []
    by_type: dict[str, list[Rated]] = {}
    units, found = _rated(record, scheme, rules)
    for unit, rated in zip(units, found, strict=True):
        for piece in unit.pieces:
            is_layer = piece.matched in LAYERS and piece.matched != BODY
            if not is_layer and not piece.part.weightless:
                by_type.setdefault(piece.part.component_type, []).append(rated)
    is_medical = not scheme.medical_use_contexts.isdisjoint(record.get("use_contexts") or ())
    return [_part(kind, each, is_medical=is_medical) for kind, each in by_type.items()]


def _part(component_type: str, found: list[Rated], *, is_medical: bool) -> PartRating:
    standing = tuple(dict.fromkeys(row for each in found for row in each.standing))
    ratings = [each.rating for each in found if each.rating]
    if len(ratings) < len(found):
        return PartRating(component_type, None, standing)
    rating = worst(ratings)
    code = rating.medical_code if is_medical else rating.code
    return PartRating(component_type, code, tuple(row for row in standing if row.rating == rating))


def _rated(record: Record, scheme: Scheme, rules: RuleSet) -> tuple[list[RatedUnit], list[Rated]]:
    units = units_of(record, rules)
    return units, [rate(unit, scheme, rules) for unit in units]


def _open(
    record: Record, units: list[RatedUnit], found: list[Rated], scheme: Scheme, rules: RuleSet
) -> list[OpenFact]:
    if not units:
        field = "components" if lines(record) else "material"
        every: tuple[RatingRow, ...] = tuple(reversed(scheme.ratings))
        return [OpenFact(field, None, "", every)]
    return open_facts(record, units, found, scheme, rules)


def _told(fact: OpenFact, record: Record, rules: RuleSet) -> dict[str, object]:
    component = None if fact.index is None else lines(record)[fact.index]
    question = rules.question(_QUESTION.get(fact.field, fact.field), fact.component_type)
    return {
        "field": fact.field,
        "component_id": component.get("id") if component else None,
        "ask": question.en if question else fact.field,
        "could_become": [rating.name for rating in fact.could_become],
    }


_QUESTION = {"weight_grams": "weight_g", "material_subtype": "polymer_or_grade"}
"""Fields of a SKU without components that ask what a component's field asks."""
