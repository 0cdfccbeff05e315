"""Finds the category of a material path in a jurisdiction (rollup.md, step 4): rows of `scheme_categories.csv`.

An official code is never made up. Where no row fits, the jurisdiction's own *other* row, the next level's row or the
material's family is used instead, and the basis says `fallback`. `compliance.material_path` finds a part's path.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.material_path import material_paths
from compliance.ruleset import RuleSet
from compliance.scopes import ALL, Face, Standing, judge_scope, scopes, standing_of
from compliance.tables import (
    NONE,
    RULES,
    Row,
    Years,
    first_years,
    is_confidence,
    record_of_row,
    refuse,
    rows,
    words,
    years_of,
)
from compliance.words import resolve_format

PINNED: Final = RULES / "catalogue" / "scheme_categories.csv"
BASES: Final = ("own", "parent", "eu_default", "fallback")
"""The source of a category, the surest first."""
UNION: Final = "EU"
"""The code of the rows with the categories of Decision 2005/270/EC, for Member States; no jurisdiction."""
_UNKNOWN: Final = "unspecified"


class Category(NamedTuple):
    """A category to declare in. `basis` is one of `BASES`; scope and confidence are those of the row that gives it."""

    code: str
    name: str
    basis: str
    scope_key: str
    confidence: str


@dataclass(frozen=True, slots=True)
class SchemeRow:
    """One category of a jurisdiction with the patterns of the paths that it includes, and the years it holds in."""

    code: str
    name: str
    patterns: tuple[str, ...]
    scope_key: str
    confidence: str
    years: Years

    def as_category(self, basis: str) -> Category:
        """Return the category that it gives to a path on this basis."""
        return Category(self.code, self.name, basis, self.scope_key, self.confidence)

    @property
    def is_other(self) -> bool:
        """Whether it is the jurisdiction's row for paths that no other row names."""
        return "other" in self.patterns

    def fixed(self, path: str) -> int:
        """Return the number of fixed segments of its pattern that fits the path best; 0 where none fits."""
        return max((fixed_segments(pattern) for pattern in self.patterns if fits(pattern, path)), default=0)


def fits(pattern: str, path: str) -> bool:
    """Return whether each segment of the pattern is `*` or the path's, and the pattern is not longer than the path."""
    wanted, steps = pattern.split("/"), path.split("/")
    return len(wanted) <= len(steps) and all(w in ("*", g) for w, g in zip(wanted, steps, strict=False))


def fixed_segments(pattern: str) -> int:
    """Return how many segments of a pattern are not `*`."""
    return sum(segment != "*" for segment in pattern.split("/"))


@lru_cache(maxsize=65_536)
def category(path: str, jurisdiction: Jurisdiction) -> Category | None:
    """Return the category of a path in a jurisdiction; None where the path is a set whose kinds have different ones."""
    if material_paths()[path].stands_for:
        return _category_of_set(path, jurisdiction)
    levels = _levels(jurisdiction)
    for place, (basis, level) in enumerate(levels):
        row, fitting = _best(level, path), True
        if row is None:
            row, fitting = next((row for row in level if row.is_other), None), False
        if row is not None:
            return row.as_category(basis if fitting and place == 0 else "fallback")
    family = material_paths()[path].family
    return Category(family, family, "fallback", ALL, NONE)


def families_of(category_code: str, jurisdiction: Jurisdiction) -> frozenset[str]:
    """Return the material families that a category of a jurisdiction takes; itself where it is a family's name."""
    for code in _codes(jurisdiction).values():
        for row in schemes().get(code or "", ()):
            if row.code == category_code:
                paths = (path for path in material_paths() if row.fixed(path))
                return frozenset(path.partition("/")[0] for path in paths) or frozenset({category_code})
    return frozenset({category_code})


def takes(path: str, jurisdiction: Jurisdiction) -> bool:
    """Return whether a row of the jurisdiction's first level fits the path."""
    levels = _levels(jurisdiction)
    return bool(levels) and _best(levels[0][1], path) is not None


def _category_of_set(path: str, jurisdiction: Jurisdiction) -> Category | None:
    """Return the row made for the unknown kind, else the category that all kinds share with the least sure basis."""
    levels = _levels(jurisdiction)
    if levels:
        basis, level = levels[0]
        made_for_it = [
            row for row in level for pattern in row.patterns if _UNKNOWN in pattern.split("/") and fits(pattern, path)
        ]
        if made_for_it:
            return made_for_it[0].as_category(basis)
    categories = [category(kind, jurisdiction) for kind in _kinds(path)]
    shared = [category_of_kind for category_of_kind in categories if category_of_kind is not None]
    if len(shared) < len(categories) or len({category_of_kind.code for category_of_kind in shared}) > 1:
        return None
    return max(shared, key=lambda category_of_kind: BASES.index(category_of_kind.basis))


def _kinds(path: str) -> list[str]:
    """Return the paths of known kind that a path of unknown kind may be."""
    return [
        kind.path
        for kind in material_paths().values()
        if not kind.stands_for
        and any(
            fits(pattern, kind.path) and pattern.count("/") == kind.path.count("/")
            for pattern in material_paths()[path].stands_for
        )
    ]


def _best(level: Iterable[SchemeRow], path: str) -> SchemeRow | None:
    """Return the row with the most fixed segments; a tie is refused when the table is read."""
    best = max(level, key=lambda row: row.fixed(path))
    return best if best.fixed(path) else None


@lru_cache(maxsize=1024)
def _levels(jurisdiction: Jurisdiction) -> tuple[tuple[str, tuple[SchemeRow, ...]], ...]:
    """Return the rows of its year to search, one level after the other; a level without rows is skipped."""
    return tuple(
        (basis, tuple(row for row in schemes()[code] if row.years.hold(jurisdiction.year)))
        for basis, code in _codes(jurisdiction).items()
        if code and code in schemes()
    )


def _codes(jurisdiction: Jurisdiction) -> dict[str, str | None]:
    union = UNION if jurisdiction.region == "eu" else None
    return {"own": jurisdiction.code, "parent": jurisdiction.parent_code, "eu_default": union}


@lru_cache(maxsize=1024)
def years_of_change(jurisdiction: Jurisdiction) -> tuple[int, ...]:
    """Return the calendar years from which a jurisdiction has other categories than in the year before, ascending."""
    held = [row.years for code in _codes(jurisdiction).values() for row in schemes().get(code or "", ())]
    return tuple(sorted(first_years(held)))


@lru_cache(maxsize=1)
def schemes() -> Mapping[str, tuple[SchemeRow, ...]]:
    """Return the rows that come with the release, by jurisdiction code."""
    return read(PINNED)


def read(path: Path) -> Mapping[str, tuple[SchemeRow, ...]]:
    """Return the categories of a file, by jurisdiction code, in the file's order.

    Raise `TableError` with every fault: a row without source, an unknown scope, a pattern that no path fits, a
    duplicate category, two rows that fit one path equally well.
    """
    table = rows(path)
    rows_by_code: dict[str, tuple[SchemeRow, ...]] = {}
    for row in table:
        scheme_row = record_of_row(
            SchemeRow,
            row,
            code=row["category_code"],
            name=row["category_name"],
            patterns=words(row["maps_from"]),
            years=years_of(row),
        )
        rows_by_code[row["code"]] = (*rows_by_code.get(row["code"], ()), scheme_row)
    faults = [f"{row['code']} {row['category_code']}: {fault}." for row in table for fault in _row_faults(row)]
    for code, level in rows_by_code.items():
        starts = sorted(first_years(row.years for row in level))
        spans = [tuple(row for row in level if row.years.hold(year)) for year in (0, *starts)]
        faults += dict.fromkeys(fault for span in spans for fault in _level_faults(code, span))
    refuse(path.name, faults)
    return rows_by_code


def _row_faults(row: Row) -> Iterator[str]:
    if not row["source_url"] or not is_confidence(row["confidence"]):
        yield "no source, or not said how sure it is"
    if row["scope_key"] not in scopes():
        yield f"{row['scope_key']} is no scope"


def _level_faults(code: str, level: tuple[SchemeRow, ...]) -> Iterator[str]:
    for row in level:
        if sum(other.code == row.code for other in level) > 1:
            yield f"{code} {row.code} stands more than once."
        for pattern in row.patterns:
            if not any(fits(pattern, path) for path in material_paths()):
                yield f"{code} {row.code}: no path fits {pattern}."
    for path in material_paths():
        best = max(row.fixed(path) for row in level)
        if best and sum(row.fixed(path) == best for row in level) > 1:
            yield f"{code}: two categories fit {path} equally well."


NUMBER: Final = pl.UInt32()
"""The number of a standing, in one portfolio."""
_FACE: Final = ("packaging_level", "reusable", "reuse_deposit_system", "packaging_format_key", "use_contexts")
_JUDGED: Final = pl.Schema(
    {"standing": NUMBER, "scope_key": pl.String(), "verdict": pl.String(), "fields": pl.List(pl.String())}
)


class Standings(NamedTuple):
    """The standings of a portfolio by their number, and the number of each SKU (`sku`, `standing`), in their order."""

    distinct: tuple[Standing, ...]
    of_sku: pl.DataFrame


def standings(skus: pl.DataFrame, rules: RuleSet) -> Standings:
    """Return the standings of numbered SKUs (`skus` is the portfolio's, in the order of their numbers)."""
    keys = {text: _key(text, rules) for text in skus["packaging_format"].unique()}
    columns = skus.select(
        "sku",
        *_FACE[:3],
        pl.col("packaging_format").replace_strict(keys, return_dtype=pl.String).alias(_FACE[3]),
        pl.col("use_contexts").list.join("|").fill_null("").alias(_FACE[4]),
    )
    faces = columns.select(_FACE).unique()
    answered = [
        standing_of(Face(level, reusable, deposit, key, tuple(filter(None, uses.split("|")))))
        for level, reusable, deposit, key, uses in faces.iter_rows()
    ]
    number_of = {standing: number for number, standing in enumerate(dict.fromkeys(answered))}
    numbers = pl.Series("standing", [number_of[standing] for standing in answered], dtype=NUMBER)
    of_sku = columns.join(faces.with_columns(numbers), on=_FACE, how="left", nulls_equal=True, maintain_order="left")
    return Standings(tuple(number_of), of_sku.select("sku", "standing"))


@lru_cache(maxsize=256)
def judgements(answered: tuple[Standing, ...], scope_keys: tuple[str, ...]) -> pl.DataFrame:
    """Return `standing`, `scope_key`, `verdict` (in, out, ask), `fields`: each scope's judgement of each standing."""
    judged = [
        (number, key, verdict, list(fields))
        for number, standing in enumerate(answered)
        for key in scope_keys
        for verdict, fields, _ in (judge_scope(key, standing),)
    ]
    return pl.DataFrame(judged, schema=_JUDGED, orient="row")


def _key(text: str | None, rules: RuleSet) -> str | None:
    format_row = resolve_format(text, rules) if text else None
    return format_row.key if format_row else None
