"""Rates a unit by a national scheme: of all rows that apply to one of its parts and hold, the worst decides.

The tables are `rules/schemes/<scheme>/<version>/*.csv`, read once into an immutable object; their conditions are those
of `compliance.rule_rows`. A unit has a rating where a row of the base names its body; other rows can only make it
worse. `compliance.schemes.settling` finds the missing facts that could do so.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from compliance import catalogue, rule_rows
from compliance.grading.units import LAYERS, Part, Unit, Weighed, lines, packaging_format, parts, units
from compliance.material_path import (
    COMPOSITE,
    composite_path,
    material_path,
    material_paths,
    predominant_path,
    shape_of,
)
from compliance.rollup.categories import category, takes
from compliance.rule_rows import Format, Material, Rule, Value
from compliance.ruleset import OPERATORS, RuleSet
from compliance.tables import RULES, Row, TableError, as_text, record_of_row, rows, words
from schemas.skus.types import Component, Sku, SubstanceEntry
from schemas.vocabularies import VOCABULARIES

FOLDER: Final = RULES / "schemes"
"""One folder for each scheme; in it, one for each version of its methodology."""
CONFIDENCES: Final = frozenset({"published", "secondary", "secondary_conflict", "unverified"})
"""How sure a row is: read at the publisher's, at others', at others' who do not quite say it, or from memory."""
_ANY: Final = "*"


class RatingRow(NamedTuple):
    """A row of `ratings.csv`: `code` is the declaration's code, `medical_code` that of packaging of medicines."""

    name: str
    severity: int
    code: str
    medical_code: str


class Category(NamedTuple):
    """A row of `categories.csv`: the scheme's category for a category and path of its market's declaration."""

    key: str
    category_code: str
    path: str

    def takes(self, category_code: str, path: str) -> bool:
        """Return whether the row applies to this category of the market and this material path."""
        return self.category_code == category_code and self.path in (_ANY, path)


class Exemption(NamedTuple):
    """A row of `exemptions.csv`: a SKU with this value of the field is not rated."""

    field: str
    value: str


@dataclass(frozen=True, slots=True, eq=False)
class SchemeRule:
    """A row of `rules.csv`: the categories and formats that it applies to, its condition, and the rating that follows.

    `formats` are keys of packaging formats, empty for any.
    """

    categories: frozenset[str]
    formats: frozenset[str]
    rating: RatingRow
    rule: Rule
    confidence: str

    @property
    def is_unverified(self) -> bool:
        """Whether nobody read the row anywhere: it rests on memory."""
        return self.confidence == "unverified"

    @property
    def has_codes(self) -> bool:
        """Whether the row needs the material of the part."""
        return bool(self.rule.materials or self.rule.excluded)


@dataclass(frozen=True, slots=True, eq=False)
class Scheme:
    """All tables of one version. Compared by identity, as a rule-set is.

    `ratings` are ordered from the best to the worst; `years` are the reporting years of the version.
    """

    key: str
    version: str
    market: str
    years: range
    source_url: str
    medical_use_contexts: frozenset[str]
    ratings: tuple[RatingRow, ...]
    categories: tuple[Category, ...]
    exemptions: tuple[Exemption, ...]
    rules: tuple[SchemeRule, ...]
    rules_by_category: Mapping[str, tuple[SchemeRule, ...]]

    def category(self, category_code: str, path: str) -> str | None:
        """Return the scheme's category; the first row that applies counts."""
        return next((row.key for row in self.categories if row.takes(category_code, path)), None)


@lru_cache(maxsize=1)
def versions() -> tuple[Scheme, ...]:
    """Return all versions of all schemes, by scheme and first year. Raise `TableError` where one contradicts itself."""
    schemes = [read(folder) for scheme in sorted(FOLDER.iterdir()) for folder in sorted(scheme.iterdir())]
    return tuple(sorted(schemes, key=lambda scheme: (scheme.key, scheme.years.start)))


@lru_cache(maxsize=64)
def of_year(year: int) -> tuple[Scheme, ...]:
    """Return each scheme's version for this reporting year; schemes without one are left out."""
    return tuple(scheme for scheme in versions() if year in scheme.years)


def of_market(market: str, year: int) -> Scheme | None:
    """Return the scheme by which packs are rated in a market for a reporting year."""
    return next((scheme for scheme in of_year(year) if scheme.market == market), None)


def read(folder: Path) -> Scheme:
    """Return the scheme of a folder `<scheme>/<version>`. Raise `TableError` with every fault found."""
    names = ("scheme", "ratings", "categories", "exemptions", "rules")
    tables = {name: rows(folder / f"{name}.csv") for name in names}
    try:
        faults = list(_faults(tables))
        if not faults:
            return _scheme(folder, tables)
    except KeyError as missing:
        faults = [f"the column or row {missing} is missing."]
    except ValueError as fault:
        faults = [f"a cell has another form than its column ({fault})."]
    raise TableError(f"Scheme {folder.parent.name} {folder.name}: " + " ".join(faults))


def _scheme(folder: Path, tables: Mapping[str, list[Row]]) -> Scheme:
    values = {row["key"]: row["value"] for row in tables["scheme"]}
    ratings = sorted(
        (record_of_row(RatingRow, row, name=row["rating"]) for row in tables["ratings"]),
        key=lambda rating: rating.severity,
    )
    by_name = {rating.name: rating for rating in ratings}
    rules = tuple(_rule(row, by_name) for row in tables["rules"])
    categories = tuple(
        record_of_row(Category, row, key=row["category"], path=row["paths"]) for row in tables["categories"]
    )
    return Scheme(
        key=folder.parent.name,
        version=folder.name,
        market=values["market"],
        years=range(int(values["first_year"]), int(values["last_year"] or 9999) + 1),
        source_url=values["source_url"],
        medical_use_contexts=frozenset(words(values["medical_use_contexts"])),
        ratings=tuple(ratings),
        categories=categories,
        exemptions=tuple(record_of_row(Exemption, row) for row in tables["exemptions"]),
        rules=rules,
        rules_by_category=MappingProxyType(
            {category.key: tuple(rule for rule in rules if category.key in rule.categories) for category in categories}
        ),
    )


def _rule(row: Row, ratings: Mapping[str, RatingRow]) -> SchemeRule:
    """Parse a row of `rules.csv`; the columns that only grading has are empty in its condition."""
    return record_of_row(
        SchemeRule,
        row,
        formats=frozenset(words(row["packaging_formats"])),
        rating=ratings[row["rating"]],
        rule=rule_rows.rule(defaultdict(str, row)),
    )


def _faults(tables: Mapping[str, list[Row]]) -> Iterator[str]:
    ratings = {row["rating"] for row in tables["ratings"]}
    categories = {row["category"] for row in tables["categories"]}
    types = {*VOCABULARIES["component_type"], _ANY}
    seen: set[str] = set()
    for row in tables["rules"]:
        where = f"rules.csv, {row['rule_id']}:"
        if row["rule_id"] in seen:
            yield f"{where} stands more than once."
        seen.add(row["rule_id"])
        if row["rating"] not in ratings or not categories.issuperset(words(row["categories"])):
            yield f"{where} the rating or a category is not in its table."
        if row["attribute_op"] not in OPERATORS or row["recordable"] not in ("Y", "N"):
            yield f"{where} attribute_op or recordable has an unknown value."
        if not types.issuperset(words(row["component_types"])):
            yield f"{where} a component type is unknown."
        if not row["source_url"] or row["confidence"] not in CONFIDENCES:
            yield f"{where} no source, or an unknown confidence."


MATERIAL: Final = "polymer_or_grade"


class Piece(NamedTuple):
    """A part in its unit: `path` is None where its material is not given; `pfas` is its declared status."""

    weighed: Weighed
    matched: str
    path: str | None
    pfas: str | None

    @property
    def part(self) -> Part:
        """The part itself."""
        return self.weighed.part

    def fact(self, field: str) -> Value | None:
        """Return the value of a field; None where it is not given."""
        return self.pfas if field == "pfas" else self.part.fields.get(field)


class RatedUnit(NamedTuple):
    """Parts that are rated together; `text` and `form` are the packaging format as given and as resolved."""

    pieces: tuple[Piece, ...]
    text: str | None
    form: Format | None

    def with_piece(self, place: int, piece: Piece) -> "RatedUnit":
        """Return the unit with another piece in one place."""
        return self._replace(pieces=(*self.pieces[:place], piece, *self.pieces[place + 1 :]))


class Placed(NamedTuple):
    """The category of a unit in a scheme, or the fields (by the place of their piece) that would decide it."""

    category: str | None
    missing: tuple[tuple[int, str], ...] = ()


def units_of(record: Sku, rules: RuleSet) -> list[RatedUnit]:
    """Return the record's units, the body's first; empty without a body."""
    weighed = parts(record, rules)
    if not any(part.part.component_type == "body" for part in weighed):
        return []
    form = packaging_format(record, rules)
    return [_rated(unit, record, form, rules) for unit in units(weighed, form)]


def _rated(unit: Unit, record: Sku, form: Format | None, rules: RuleSet) -> RatedUnit:
    text = record.get("packaging_format") or None
    of_sku = _pfas(record.get("pfas"))
    pieces = []
    for member, matched in zip(unit.members, unit.types, strict=False):
        line = _line(record, member)
        of_line = _pfas((line.get("substances") or {}).get("pfas"))
        path = material_path(
            member.part.component_type, line.get("material_family"), line.get("polymer_or_grade"), text, rules
        )
        pieces.append(Piece(member, matched, path, of_sku if of_sku == "above_limit" else of_line or of_sku))
    return RatedUnit(tuple(pieces), text, form)


def _line(record: Sku, member: Weighed) -> Component:
    if member.index is not None:
        return lines(record)[member.index]
    family, text = record.get("material"), record.get("material_subtype")
    return {"component_type": "body", "material_family": family, "polymer_or_grade": text}


def _pfas(entry: SubstanceEntry | None) -> str | None:
    return entry["status"] if entry else None


def category_of(unit: RatedUnit, scheme: Scheme, rules: RuleSet) -> Placed:
    """Return the category of the heaviest material; paper with other layers above the market's bound is a composite.

    Weights are needed only where there is more than one material.
    """
    weighty = [(place, piece) for place, piece in enumerate(unit.pieces) if not piece.part.weightless]
    unknown = [(place, MATERIAL) for place, piece in weighty if piece.path is None]
    if unknown or not weighty:
        return Placed(None, tuple(unknown) or ((0, MATERIAL),))
    kinds = {_kind(piece) for _, piece in weighty}
    if len(kinds) > 1 and (unweighed := [(place, "weight_g") for place, piece in weighty if not _grams(piece)]):
        return Placed(None, tuple(unweighed))
    path = _main_path([piece for _, piece in weighty], kinds, unit, scheme.market, rules)
    place_of = category(path, _market(scheme.market))
    if place_of is not None and (key := scheme.category(place_of.code, path)):
        return Placed(key)
    fields = material_paths()[path].fields_missing or (MATERIAL,)
    return Placed(None, tuple((weighty[0][0], field) for field in fields))


def _main_path(pieces: Sequence[Piece], kinds: set[str], unit: RatedUnit, market: str, rules: RuleSet) -> str:
    weights = dict.fromkeys(kinds, 0.0)
    for piece in pieces:
        weights[_kind(piece)] += _grams(piece)
    main_kind = min(weights, key=lambda kind: (-weights[kind], kind))
    heaviest = max((piece for piece in pieces if _kind(piece) == main_kind), key=_grams)
    assert heaviest.path
    main = material_paths()[heaviest.path]
    layers = [piece for piece in pieces if piece.part.component_type in LAYERS]
    total = sum(map(_grams, layers))
    others = sum(_grams(piece) for piece in layers if _kind(piece) != main_kind)
    bound = float(_market(market).composite_threshold_percent)
    if main.family != COMPOSITE and not (total and 100 * others / total > bound):
        return main.path
    whole = composite_path(main.path, unit.text, rules)
    if takes(whole, _market(market)):
        return whole
    return predominant_path(main.path, shape_of("body", unit.text, rules))


def _kind(piece: Piece) -> str:
    assert piece.path
    return material_paths()[piece.path].same_material


def _grams(piece: Piece) -> float:
    return piece.weighed.grams or 0.0


@lru_cache(maxsize=16)
def _market(code: str) -> catalogue.Jurisdiction:
    return next(entry for entry in catalogue.pinned() if entry.code == code)


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
        return tuple(dict.fromkeys(row for rows in self.by_piece for row in rows))


def is_exempt(record: Sku, scheme: Scheme) -> bool:
    """Return whether a fact of the SKU exempts it from the scheme."""
    return any(as_text(record.get(row.field)) == row.value for row in scheme.exemptions)


def rate(unit: RatedUnit, scheme: Scheme, rules: RuleSet) -> Rated:
    """Rate one unit by one version of a scheme."""
    where = category_of(unit, scheme, rules)
    if where.category is None:
        return Rated(None, missing=where.missing)
    return rate_in(where.category, unit, scheme, rules)


def rate_in(category: str, unit: RatedUnit, scheme: Scheme, rules: RuleSet) -> Rated:
    """Rate one unit whose category is known."""
    outcomes = [_said(category, piece, unit, scheme) for piece in unit.pieces]
    by_piece = tuple(tuple(outcome.holding) for outcome in outcomes)
    missing = tuple((place, MATERIAL) for place, outcome in enumerate(outcomes) if outcome.asks_material)
    if missing or not any(by_piece):
        return Rated(None, category, by_piece, missing or ((0, MATERIAL),))
    still_open = [
        (place, field)
        for place, outcome in enumerate(outcomes)
        for field in dict.fromkeys(outcome.waiting)
        if field in rules.makes_provisional
    ]
    return Rated(worst([row.rating for rows in by_piece for row in rows]), category, by_piece, open=tuple(still_open))


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
    if row.formats and (unit.form is None or unit.form.key not in row.formats):
        return False
    if not row.rule.field:
        return True
    return None if value is None else row.rule.met_by(value)
