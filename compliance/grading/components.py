"""Step 2 of grading.md: converts a record's components to parts with a code, attributes and a weight.

A part can be made again with one more fact, which step 8 needs. `compliance.grading.units` decides to which unit a part
belongs.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple, get_args

from compliance.rule_rows import Material, Value
from compliance.ruleset import RuleSet
from compliance.words import material_of, resolve_material
from schemas.skus.types import Component, Sku

CONSUMABLE_FIELD: Final = {
    "ink": "ink_type",
    "adhesive": "adhesive_type",
    "coating": "coating_type",
    "varnish": "coating_type",
}
"""The attribute that names the kind of ink, adhesive, coating or varnish of a part."""
UNSPECIFIED: Final = {component_type: f"{component_type.upper()}_UNSPECIFIED" for component_type in CONSUMABLE_FIELD}
"""The codes of consumables whose kind is not given; their material is open (step 8)."""
GENERIC: Final = {"glass": "GLASS", "paper": "PAPER", "wood": "WOOD", "textile": "TEXTILE_OTHER"}
"""The code of a family whose kinds grade alike, so that it is used without a material text."""
WEIGHTLESS_TYPES: Final = frozenset({"ink", "adhesive", "varnish"})
CARRIED: Final = (
    ("adhesive", ("adhesive_type",), frozenset({"adhesive"})),
    ("ink", ("ink_type", "direct_print"), frozenset({"ink"})),
    ("coating", ("coating_type",), frozenset({"coating", "varnish"})),
)
"""Parts that an attribute on a part of another type implies: the type, its fields, the types that have the attribute
themselves.
"""
_CARRIED_FIELDS: Final = frozenset(field for _, fields, _ in CARRIED for field in fields)
_Attribute = Literal["colour", "attachment", "adhesive_type", "ink_type", "coating_type", "metallised", "direct_print"]
_Number = Literal["coverage_percent", "density_g_cm3", "thickness_um"]
_ATTRIBUTES: Final[tuple[_Attribute, ...]] = get_args(_Attribute)
_NUMBERS: Final[tuple[_Number, ...]] = get_args(_Number)
_CACHED: Final = 65_536


class Part(NamedTuple):
    """A component without its weight: type, material and attributes.

    `material` is None where the caller must give it; `coded_by_text` where its text gave the code, `generic` where an
    unknown text was read as the generic kind of its family. `fields` are the attributes that were given or that the
    material implies. `carried` are the weightless parts that attributes imply; those have `is_carried`, and nothing is
    open about them.
    """

    component_type: str
    family: str | None
    material: Material | None
    given: Mapping[str, Value]
    fields: Mapping[str, Value]
    separable: bool
    coded_by_text: bool
    generic: bool
    weightless: bool
    carried: tuple["Part", ...]
    is_carried: bool

    def with_field(self, field: str, value: Value, rules: RuleSet) -> "Part":
        """Return the part as if the caller gave one more attribute."""
        given = {**self.given, field: value}
        material = self.material
        if not self.coded_by_text:
            code = code_without_text(rules, self.component_type, self.family, given)
            material = rules.materials[code] if code else None
        return self._of(material, given, rules)

    def with_code(self, code: str, rules: RuleSet) -> "Part":
        """Return the part as if its material text meant this code."""
        return self._replace(coded_by_text=True)._of(rules.materials[code], self.given, rules)

    def _of(self, material: Material | None, given: Mapping[str, Value], rules: RuleSet) -> "Part":
        return make_part(
            rules,
            self.component_type,
            family=self.family,
            material=material,
            given=given,
            separable=self.separable,
            coded_by_text=self.coded_by_text,
            generic=self.generic,
        )


def make_part(
    rules: RuleSet,
    component_type: str,
    *,
    family: str | None,
    material: Material | None,
    given: Mapping[str, Value],
    separable: bool,
    coded_by_text: bool,
    generic: bool,
) -> Part:
    """Return a part of this material with the attributes and carried parts that follow (steps 2c to 2e)."""
    return Part(
        component_type=component_type,
        family=family,
        material=material,
        given=given,
        fields={**material.implied, **given} if material else given,
        separable=separable,
        coded_by_text=coded_by_text,
        generic=generic,
        weightless=component_type in WEIGHTLESS_TYPES or (material is not None and material.weight_optional),
        carried=() if _CARRIED_FIELDS.isdisjoint(given) else _carried(rules, component_type, given),
        is_carried=False,
    )


def code_without_text(
    rules: RuleSet, component_type: str, family: str | None, attributes: Mapping[str, Value]
) -> str | None:
    """Step 2b: return the code that the attributes or the family give to a part without a usable material text."""
    if component_type in CONSUMABLE_FIELD:
        field = CONSUMABLE_FIELD[component_type]
        return rules.implied_codes.get((field, str(attributes.get(field)))) or UNSPECIFIED[component_type]
    return GENERIC.get(family or "")


def _carried(rules: RuleSet, component_type: str, given: Mapping[str, Value]) -> tuple[Part, ...]:
    """Step 2d: return the weightless adhesive, ink and coating that attributes of this part imply."""
    found = []
    for carried_type, fields, proper_to in CARRIED:
        own = {field: given[field] for field in fields if given.get(field) not in (None, False)}
        if own and component_type not in proper_to:
            code = code_without_text(rules, carried_type, None, own)
            assert code is not None
            material = rules.materials[code]
            found.append(Part(carried_type, None, material, own, own, False, False, False, True, (), True))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Weighed:
    """A part with its weight in grams and its place in the record; `index` is None for the implied body."""

    part: Part
    grams: float | None
    index: int | None

    def field(self, name: str) -> str:
        """Return the path of a component field in the caller's body; for the implied body, the SKU's field."""
        if self.index is None:
            return {"weight_g": "weight_grams", "polymer_or_grade": "material_subtype"}.get(name, name)
        return f"components[{self.index}].{name}"


def alike(member: Weighed) -> Hashable:
    """Return a key equal for members that differ only in weight and place; a part's other fields follow from these."""
    part = member.part
    return (
        part.component_type,
        part.family,
        part.material,
        frozenset(part.given.items()),
        part.separable,
        part.coded_by_text,
        part.generic,
        member.grams is None,
    )


def parts(record: Sku, rules: RuleSet) -> list[Weighed]:
    """Return the record's components as parts, or the one body that its material implies; empty without either."""
    svhc = _status(record.get("svhc"))
    components = lines(record)
    if components:
        return [
            Weighed(part_of(line, svhc, rules), _grams(line.get("weight_g")), index)
            for index, line in enumerate(components)
        ]
    family, text = record.get("material"), record.get("material_subtype")
    if not family and not text:
        return []
    body: Component = {"component_type": "body", "material_family": family, "polymer_or_grade": text}
    return [Weighed(part_of(body, svhc, rules), _grams(record.get("weight_grams")), None)]


def lines(record: Sku) -> Sequence[Component]:
    """Return the component graph as it is stored; empty where there is none."""
    return record.get("components") or ()


def part_of(line: Component, sku_svhc: str | None, rules: RuleSet) -> Part:
    """Return the part that a line of a graph describes; the SKU's SVHC status counts where the line has none.

    A colour or a metallisation that only the material's text names is given by it (decisions §13).
    """
    component_type, family = line["component_type"], line.get("material_family")
    given: dict[str, Value] = {field: v for field in _ATTRIBUTES if (v := line.get(field)) is not None}
    for field in _NUMBERS:
        if (number := line.get(field)) is not None:
            given[field] = rules.band(field, number)
    if (additives := line.get("additives")) is not None:
        given["additives"] = frozenset(additives)
    substances = line.get("substances")
    svhc = _status(substances.get("svhc")) if substances else None
    if declared := sku_svhc if sku_svhc == "above_limit" else svhc or sku_svhc:
        given["svhc"] = declared
    text = line.get("polymer_or_grade")
    code = _text_code(text, rules) if text else None
    for name, said in material_of(text, rules).facts.items() if text else ():
        given.setdefault(name, said)
    material_code = code or code_without_text(rules, component_type, family, given)
    return make_part(
        rules,
        component_type,
        family=family,
        material=rules.materials[material_code] if material_code else None,
        given=given,
        separable=line.get("separable") is True,
        coded_by_text=code is not None,
        generic=code is None and material_code is not None and _is_generic(component_type, text, rules),
    )


@lru_cache(maxsize=_CACHED)
def _text_code(text: str, rules: RuleSet) -> str | None:
    """Return the code of a material text, where the text names a material at all."""
    code = resolve_material(text, rules)
    return code if code is not None and rules.materials[code].specified else None


def _is_generic(component_type: str, text: str | None, rules: RuleSet) -> bool:
    """Return whether an unknown text was read as the generic kind of its family (glass, paper, wood, textile)."""
    return component_type not in CONSUMABLE_FIELD and bool(text) and resolve_material(str(text), rules) is None


def _status(entry: object) -> str | None:
    """Return the status of a substance entry; None where nothing is declared."""
    return entry.get("status") if isinstance(entry, Mapping) else None


def _grams(weight: float | None) -> float | None:
    return None if weight is None else float(weight)
