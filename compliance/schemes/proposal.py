"""Publishes a scheme's rating: the entry of a SKU, and the ratings of its parts for a declaration.

A SKU has the worst rating of its units, and none while one of them lacks a fact. A declaration asks by component type:
parts of one type in units of different ratings have the worst.
"""

from typing import Final, NamedTuple

from compliance.grading.components import lines
from compliance.grading.units import LAYERS
from compliance.markets import of_record
from compliance.ruleset import RuleSet
from compliance.schemes.rating import BODY, Rated, is_exempt, rate, worst
from compliance.schemes.settling import Case, OpenFact
from compliance.schemes.tables import Scheme, SchemeRule, of_year
from compliance.schemes.units import units_of
from schemas import grading
from schemas.grading import SchemeRating
from schemas.messages import ORIGINAL
from schemas.normalise import country_of
from schemas.sku import Sku


class PartRating(NamedTuple):
    """The rating of the parts of one component type: `code` is the declaration's code, None where a fact is missing.

    `standing` are the rows that led to it.
    """

    component_type: str
    code: str | None
    standing: tuple[SchemeRule, ...]


def published_schemes(record: Sku, rules: RuleSet, year: int, lang: str = ORIGINAL) -> list[SchemeRating]:
    """Return the `compliance.schemes` block of a SKU in a year: an entry per scheme of its markets in effect.

    Without a market it is of all schemes; a SKU that a scheme does not rate at all has no entry of it. Questions are in
    a language of `schemas.labels`.
    """
    markets = of_record(record)
    return [
        _entry(record, scheme, rules, lang)
        for scheme in of_year(year)
        if (not markets or any(country_of(code) == scheme.market for code in markets)) and not is_exempt(record, scheme)
    ]


def _entry(record: Sku, scheme: Scheme, rules: RuleSet, lang: str) -> SchemeRating:
    case = _case(record, scheme, rules)
    ratings = [each.rating for each in case.found if each.rating]
    complete = bool(case.found) and len(ratings) == len(case.found)
    return {
        "scheme": scheme.key,
        "version": scheme.version,
        "rating": worst(ratings).name if complete else None,
        "open": _open(case, lang),
        "source_url": scheme.source_url,
    }


def published_open_facts(record: Sku, scheme: Scheme, rules: RuleSet) -> list[grading.OpenFact]:
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
    for unit, rated in zip(case.units, case.found, strict=True):
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


def _case(record: Sku, scheme: Scheme, rules: RuleSet) -> Case:
    units = units_of(record, rules)
    return Case(record, scheme, rules, units, [rate(unit, scheme, rules) for unit in units])


def _open(case: Case, lang: str) -> list[grading.OpenFact]:
    """Return the open facts; without a unit, the fact that would make one."""
    if case.units:
        return [_open_fact(fact, case, lang) for fact in case.open_facts()]
    field, every = "components" if lines(case.record) else "material", case.scheme.ratings
    return [_open_fact(OpenFact(field, None, "", every), case, lang)]


def _open_fact(fact: OpenFact, case: Case, lang: str) -> grading.OpenFact:
    question = case.rules.question(_QUESTION.get(fact.field, fact.field), fact.component_type)
    return {
        "field": fact.field,
        "component_id": None if fact.place is None else lines(case.record)[fact.place].get("id"),
        "ask": getattr(question, lang) if question else fact.field,
        "could_become": [rating.name for rating in fact.could_become],
    }


_QUESTION: Final = {"weight_grams": "weight_g", "material_subtype": "polymer_or_grade"}
"""Fields of a SKU without components that have the question of a component's field."""
