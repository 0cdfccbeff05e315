"""Rates a unit: of all rows that apply to one of its parts and hold, the worst decides.

A unit has a rating where a row of the base names its body; other rows can only make it worse.
`compliance.schemes.settling` finds the missing facts that could do so.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from compliance.rule_rows import Material, Value
from compliance.ruleset import RuleSet
from compliance.schemes.tables import RatingRow, Scheme, SchemeRule
from compliance.schemes.units import MATERIAL, Piece, RatedUnit, category_of
from schemas.sku import Sku

BODY: Final = "body"
_NO_TARGETS: Final[frozenset[str]] = frozenset()


class Rated(NamedTuple):
    """The result of the rows for a unit: those that hold for each piece and its carried parts, in piece order.

    Without `rating`, the `missing` fields would help, by the place of their piece. `open` are the fields of rows that
    would apply to a piece if the field were given.
    """

    rating: RatingRow | None
    category: str | None = None
    by_piece: tuple[tuple[SchemeRule, ...], ...] = ()
    missing: tuple[tuple[int, str], ...] = ()
    open: tuple[tuple[int, str], ...] = ()

    @property
    def standing(self) -> tuple[SchemeRule, ...]:
        """Every row that holds, once."""
        return tuple(dict.fromkeys(row for found in self.by_piece for row in found))


def is_exempt(record: Sku, scheme: Scheme) -> bool:
    """Return whether a fact of the SKU exempts it from the scheme."""
    return any(_as_text(record.get(row.field)) == row.value for row in scheme.exemptions)


def rate(unit: RatedUnit, scheme: Scheme, rules: RuleSet) -> Rated:
    """Rate one unit by one version of a scheme."""
    where = category_of(unit, scheme, rules)
    if where.category is None:
        return Rated(None, missing=where.missing)
    return rate_in(where.category, unit, scheme, rules)


def rate_in(category: str, unit: RatedUnit, scheme: Scheme, rules: RuleSet) -> Rated:
    """Rate one unit whose category is known."""
    found = [_said(category, piece, unit, scheme) for piece in unit.pieces]
    by_piece = tuple(tuple(outcome.holding) for outcome in found)
    missing = tuple((place, MATERIAL) for place, outcome in enumerate(found) if outcome.asks_material)
    if missing or not any(by_piece):
        return Rated(None, category, by_piece, missing or ((0, MATERIAL),))
    still_open = [
        (place, field)
        for place, outcome in enumerate(found)
        for field in dict.fromkeys(outcome.waiting)
        if field in rules.makes_provisional
    ]
    return Rated(worst([row.rating for each in by_piece for row in each]), category, by_piece, open=tuple(still_open))


def applicable_rows(category: str, piece: Piece, unit: RatedUnit, scheme: Scheme) -> list[SchemeRule]:
    """Return the rows that hold for one piece of a unit, and for its carried parts."""
    return _said(category, piece, unit, scheme).holding


def worst(ratings: Sequence[RatingRow]) -> RatingRow:
    """Return the worst of at least one rating."""
    return max(ratings, key=lambda rating: rating.severity)


class _Said(NamedTuple):
    """The rows that hold for a piece, the fields that other rows need, and whether one of these is the material."""

    holding: list[SchemeRule]
    waiting: list[str]
    asks_material: bool


def _said(category: str, piece: Piece, unit: RatedUnit, scheme: Scheme) -> _Said:
    outcome, asks_material = _Said([], [], asks_material=False), False
    for row in _rows(scheme, category, piece.matched, piece.part.material):
        if row.has_codes and piece.part.material is None:
            asks_material = True
            continue
        holds = _holds(row, piece.fact(row.rule.field), unit)
        if holds:
            outcome.holding.append(row)
        elif holds is None:
            outcome.waiting.append(row.rule.field)
    for carried in piece.part.carried:
        rows = _rows(scheme, category, carried.component_type, carried.material)
        outcome.holding.extend(row for row in rows if _holds(row, carried.fields.get(row.rule.field), unit))
    return outcome._replace(asks_material=asks_material)


@lru_cache(maxsize=16_384)
def _rows(scheme: Scheme, category: str, matched: str, material: Material | None) -> tuple[SchemeRule, ...]:
    """Return the rows for a material in a type of part; without a material also those that need one."""
    return tuple(
        row
        for row in scheme.rules_by_category[category]
        if row.rule.recordable
        and row.rule.asks_type(matched)
        and (not row.has_codes or material is None or row.rule.asks_code(material, _NO_TARGETS))
    )


def _holds(row: SchemeRule, value: Value | None, unit: RatedUnit) -> bool | None:
    """Return whether the row holds with this value of its field; None where the value is not given."""
    if row.formats and (unit.found is None or unit.found.key not in row.formats):
        return False
    if not row.rule.field:
        return True
    return None if value is None else row.rule.met_by(value)


def _as_text(value: object) -> str | None:
    """Return a boolean as tables write it."""
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)
