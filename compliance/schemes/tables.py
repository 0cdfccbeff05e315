"""Loads the tables of a national scheme: rules/schemes/<scheme>/<version>/*.csv, read once into an immutable object.

Conditions are those of `compliance.rule_rows`. How parts form a unit and how rows decide is not here.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from compliance import rule_rows
from compliance.rule_rows import Rule
from compliance.ruleset import OPERATORS
from compliance.tables import RULES, Row, TableError, record_of_row, rows, words
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
    def has_codes(self) -> bool:
        """Whether the row needs the material of the part."""
        return bool(self.rule.named or self.rule.excluded)


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
    found = [read(folder) for scheme in sorted(FOLDER.iterdir()) for folder in sorted(scheme.iterdir())]
    return tuple(sorted(found, key=lambda scheme: (scheme.key, scheme.years.start)))


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
    found = tuple(_rule(row, by_name) for row in tables["rules"])
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
        rules=found,
        rules_by_category=MappingProxyType(
            {each.key: tuple(rule for rule in found if each.key in rule.categories) for each in categories}
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
