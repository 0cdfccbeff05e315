"""Resolves the material path of a part, by which the EPR tables find its category (`plastic/PET/bottle`).

The rows are `rules/catalogue/material_map.csv`, `shape_map.csv` and `material_paths.csv`. Codes come from
`compliance.words`, as for grading; the category of a path in a jurisdiction is not here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from compliance.rule_rows import Format
from compliance.ruleset import RuleSet
from compliance.tables import RULES, record_of_row, rows, words
from compliance.words import resolve_format, resolve_material

_FLEXIBLE: Final = frozenset({"label", "sleeve", "liner", "seal", "tie_layer", "coating"})
COMPOSITE: Final = "composite"
"""The family of packs whose materials cannot be separated."""
_FOLDER: Final = RULES / "catalogue"


@dataclass(frozen=True, slots=True)
class MaterialPath:
    """One row of `material_paths.csv`.

    `same_material` names the material as which it counts when layers are compared: all plastics are one, each metal its
    own. `composite_as` is the kind of composite whose main material this is. A path of unknown kind `stands_for` a set
    of patterns, and `fields_missing` would settle it. An undivided composite is mainly `main_material`. `uk_other_name`
    is the subtype under which the UK file reports the path as other material, where it does.
    """

    path: str
    same_material: str
    composite_as: str
    stands_for: tuple[str, ...]
    main_material: str | None
    fields_missing: tuple[str, ...]
    uk_other_name: str | None

    @property
    def family(self) -> str:
        """The first segment of the path."""
        return self.path.partition("/")[0]


@dataclass(frozen=True, slots=True)
class _MapRow:
    families: frozenset[str]
    codes: frozenset[str]
    shapes: frozenset[str]
    formats: frozenset[str]
    path: str

    def fits(self, family: str, code: str, shape: str, format_key: str) -> bool:
        wanted = ((self.families, family), (self.codes, code), (self.shapes, shape), (self.formats, format_key))
        return all("*" in allowed or value in allowed for allowed, value in wanted)


def material_path(
    component_type: str, family: str | None, text: str | None, packaging_format: str | None, rules: RuleSet
) -> str | None:
    """Return the path of a part, or None where its material is not given.

    `text` is the polymer, grade or subtype as the caller wrote it, `packaging_format` the SKU's format text.
    """
    format_row = resolve_format(packaging_format, rules) if packaging_format else None
    code = resolve_material(text, rules) if text else None
    shape = _shape(component_type, format_row)
    format_key = format_row.key if format_row and component_type == "body" else "-"
    for row in _map():
        if row.fits(family or "-", code or "-", shape, format_key):
            return None if row.path == "none" else row.path.replace("{shape}", shape)
    return None


def shape_of(component_type: str, packaging_format: str | None, rules: RuleSet) -> str:
    """Return the shape of a part: bottle, rigid, flexible or unspecified. The SKU's format applies to the body only."""
    return _shape(component_type, resolve_format(packaging_format, rules) if packaging_format else None)


def composite_path(main_path: str, packaging_format: str | None, rules: RuleSet) -> str:
    """Return the path of the unit as a composite of this main material."""
    main = material_paths()[main_path]
    format_row = resolve_format(packaging_format, rules) if packaging_format else None
    if format_row and format_row.key == "beverage_carton" and main.same_material == "paper":
        return "composite/beverage_carton"
    return main_path if main.family == COMPOSITE else f"{COMPOSITE}/{main.composite_as}"


def predominant_path(main_path: str, shape: str) -> str:
    """Return the path of the main material; for an undivided composite, that of its main material where it is known."""
    return (material_paths()[main_path].main_material or main_path).replace("{shape}", shape)


@cache
def material_paths() -> Mapping[str, MaterialPath]:
    """Return all paths, in the order of the table."""
    return MappingProxyType(
        {row["path"]: record_of_row(MaterialPath, row) for row in rows(_FOLDER / "material_paths.csv")}
    )


@cache
def same_material() -> Mapping[str, str]:
    """Return, by path, the material as which it counts when layers are compared."""
    return MappingProxyType({path: row.same_material for path, row in material_paths().items()})


def _shape(component_type: str, format_row: Format | None) -> str:
    if component_type != "body":
        return "flexible" if component_type in _FLEXIBLE else "rigid"
    return _shapes().get((format_row.form if format_row else None) or "", "unspecified")


@cache
def _shapes() -> dict[str, str]:
    return {row["form"]: row["shape"] for row in rows(_FOLDER / "shape_map.csv")}


@cache
def _map() -> tuple[_MapRow, ...]:
    return tuple(
        record_of_row(_MapRow, row, formats=frozenset(words(row["packaging_format_keys"])))
        for row in rows(_FOLDER / "material_map.csv")
    )
