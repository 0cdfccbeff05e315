"""The rating of a unit: every row that speaks of one of its parts and holds, and of these the worst.

A unit has a rating where a row of the base says what its body is; other rows can only make it worse. Which facts that
nobody gave could do so is `compliance.schemes.settling`.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from compliance.grading.components import Record
from compliance.rule_rows import Value
from compliance.ruleset import RuleSet
from compliance.schemes.tables import RatingRow, Scheme, SchemeRule
from compliance.schemes.units import Piece, RatedUnit, placed

BODY: Final = "body"
_NO_TARGETS: Final[frozenset[str]] = frozenset()


class Rated(NamedTuple):
    """What the rows say of a unit; without `rating` the `missing` fields, by the place of their piece, would help.

    `open` are the fields of rows that would speak of a piece if somebody gave them.
    """

    rating: RatingRow | None
    category: str | None = None
    standing: tuple[SchemeRule, ...] = ()
    missing: tuple[tuple[int, str], ...] = ()
    open: tuple[tuple[int, str], ...] = ()


def is_exempt(record: Record, scheme: Scheme) -> bool:
    """Whether a fact of the SKU takes it out of the scheme."""
    return any(_as_text(record.get(row.field)) == row.value for row in scheme.exemptions)


def rate(unit: RatedUnit, scheme: Scheme, rules: RuleSet) -> Rated:
    """One unit by one version of a scheme."""
    where = placed(unit, scheme, rules)
    if where.category is None:
        return Rated(None, missing=where.missing)
    standing: dict[SchemeRule, None] = {}
    still_open: dict[tuple[int, str], None] = {}
    missing: dict[tuple[int, str], None] = {}
    for row in scheme.rules_by_category[where.category]:
        for place, piece in enumerate(unit.pieces):
            for each in (piece, *_carried(piece)):
                match _holds(row, each, unit):
                    case True:
                        standing[row] = None
                    case "polymer_or_grade":
                        missing[place, "polymer_or_grade"] = None
                    case str(field) if field in rules.makes_provisional and each is piece:
                        still_open[place, field] = None
    found = tuple(standing)
    if missing or not found:
        return Rated(None, where.category, found, tuple(missing) or ((0, "polymer_or_grade"),))
    return Rated(worst([row.rating for row in found]), where.category, found, open=tuple(still_open))


def worst(ratings: Sequence[RatingRow]) -> RatingRow:
    """The worst of ratings; there is one at least."""
    return max(ratings, key=lambda rating: rating.severity)


def _carried(piece: Piece) -> list[Piece]:
    """The weightless parts that attributes of a part stand for, as pieces."""
    return [
        Piece(piece.weighed.__class__(part, 0.0, piece.weighed.index), part.component_type, None, None)
        for part in piece.part.carried
    ]


def _holds(row: SchemeRule, piece: Piece, unit: RatedUnit) -> bool | str:
    """Whether the row speaks of a piece and holds; the name of the field that would tell where nobody gave it."""
    rule, material = row.rule, piece.part.material
    if not rule.recordable or not rule.asks_type(piece.matched):
        return False
    if row.formats and (unit.found is None or unit.found.key not in row.formats):
        return False
    if row.has_codes:
        if material is None:
            return "polymer_or_grade"
        if not rule.asks_code(material, _NO_TARGETS):
            return False
    if not rule.field:
        return True
    value: Value | None = piece.fact(rule.field)
    return rule.field if value is None else rule.met_by(value)


def _as_text(value: object) -> str | None:
    """A truth as tables write it."""
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)
