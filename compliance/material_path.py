"""The material path of a part: where the EPR tables look for its category (`plastic/PET/bottle`).

Rows are `rules/catalogue/material_map.csv`, `shape_map.csv` and `material_paths.csv`. Codes come from
`compliance.words`, the same as for grading; which category a path has in a jurisdiction is not here.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from compliance.ruleset import RuleSet
from compliance.tables import RULES, rows, words
from compliance.words import resolve_format, resolve_material

_FLEXIBLE: Final = frozenset({"label", "sleeve", "liner", "seal", "tie_layer", "coating"})
_FOLDER: Final = RULES / "catalogue"


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
    """The path of a part, or None where its material is not given.

    `text` is the polymer, grade or subtype as the caller wrote it, `packaging_format` the SKU's format text.
    """
    found = resolve_format(packaging_format, rules) if packaging_format else None
    code = resolve_material(text, rules) if text else None
    if component_type == "body":
        shape = _shapes().get((found.form if found else None) or "", "unspecified")
    else:
        shape = "flexible" if component_type in _FLEXIBLE else "rigid"
    format_key = found.key if found and component_type == "body" else "-"
    for row in _map():
        if row.fits(family or "-", code or "-", shape, format_key):
            return None if row.path == "none" else row.path.replace("{shape}", shape)
    return None


@lru_cache(maxsize=1)
def same_material() -> dict[str, str]:
    """What counts as one material when layers are compared, by path: all plastics are one, each metal its own."""
    return {row["path"]: row["same_material"] for row in rows(_FOLDER / "material_paths.csv")}


@lru_cache(maxsize=1)
def _shapes() -> dict[str, str]:
    return {row["form"]: row["shape"] for row in rows(_FOLDER / "shape_map.csv")}


@lru_cache(maxsize=1)
def _map() -> tuple[_MapRow, ...]:
    return tuple(
        _MapRow(
            families=frozenset(words(row["families"])),
            codes=frozenset(words(row["codes"])),
            shapes=frozenset(words(row["shapes"])),
            formats=frozenset(words(row["packaging_format_keys"])),
            path=row["path"],
        )
        for row in rows(_FOLDER / "material_map.csv")
    )
