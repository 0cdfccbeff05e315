"""Step 2 of grading.md: a record's components as parts with a code, attributes and a weight.

A part holds everything about a component but its weight, so that equal parts of many SKUs are one object and what
follows from it is worked out once. Which unit a part belongs to is the business of `compliance.grading.units`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from compliance.ruleset import Material, RuleSet, Value
from compliance.words import resolve_material

Record = Mapping[str, Any]
"""A stored SKU, or one line of its component graph."""

CONSUMABLE_FIELD: Final = {
    "ink": "ink_type",
    "adhesive": "adhesive_type",
    "coating": "coating_type",
    "varnish": "coating_type",
}
"""The attribute that says what kind of ink, adhesive, coating or varnish a part is."""
UNSPECIFIED: Final = {component_type: f"{component_type.upper()}_UNSPECIFIED" for component_type in CONSUMABLE_FIELD}
"""The codes of consumables whose kind nobody gave; their material is open (step 8)."""
GENERIC: Final = {"glass": "GLASS", "paper": "PAPER", "wood": "WOOD", "textile": "TEXTILE_OTHER"}
"""The code of a family whose kinds grade alike enough to be read without a material text."""
WEIGHTLESS_TYPES: Final = frozenset({"ink", "adhesive", "varnish"})
_CARRIED: Final = (
    ("adhesive", ("adhesive_type",), frozenset({"adhesive"})),
    ("ink", ("ink_type", "direct_print"), frozenset({"ink"})),
    ("coating", ("coating_type",), frozenset({"coating", "varnish"})),
)
"""What an attribute on a part of another type stands for: the type, its fields, the types it is proper to."""
_ATTRIBUTES: Final = (
    "colour", "attachment", "adhesive_type", "ink_type", "coating_type", "metallised", "direct_print",
)  # fmt: skip
_NUMBERS: Final = ("coverage_percent", "density_g_cm3", "thickness_um")
_CACHED_PARTS: Final = 65_536


class Origin(NamedTuple):
    """What a part is made of; `text_code` is the usable code of its text, `unresolved` a text nobody knows."""

    component_type: str
    family: str | None
    text_code: str | None
    unresolved: bool
    separable: bool
    given: frozenset[tuple[str, Value]]


class _Said(NamedTuple):
    """A component line as its caller wrote it, without weight and references."""

    component_type: str
    family: str | None
    text: str | None
    separable: bool
    svhc: str | None
    additives: tuple[str, ...] | None
    attributes: tuple[Value | None, ...]
    numbers: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A component without its weight: type, material and attributes, given or implied by its material.

    `material` is None where the caller must say it; `generic` where a text that nobody knows was read as the kind
    of its family. `origin` serves to make the part again with one fact more (step 8).
    """

    component_type: str
    material: Material | None
    fields: Mapping[str, Value]
    separable: bool
    generic: bool
    weightless: bool
    carried: tuple["Part", ...]
    is_carried: bool
    origin: Origin

    def with_field(self, field: str, value: Value, rules: RuleSet) -> "Part":
        """The part as it were if the caller gave one attribute more."""
        return make_part(rules, self.origin._replace(given=self.origin.given | {(field, value)}))

    def with_code(self, code: str, rules: RuleSet) -> "Part":
        """The part as it were if its material text meant this code."""
        return make_part(rules, self.origin._replace(text_code=code, unresolved=False))


@lru_cache(maxsize=_CACHED_PARTS)
def make_part(rules: RuleSet, origin: Origin) -> Part:
    """The part of a type with the code of its text, if any, and the attributes that were given."""
    component_type, attributes = origin.component_type, dict(origin.given)
    code = origin.text_code or _code_without_text(rules, component_type, origin.family, attributes)
    material = rules.materials[code] if code else None
    return Part(
        component_type=component_type,
        material=material,
        fields=MappingProxyType({**(material.implied if material else {}), **attributes}),
        separable=origin.separable,
        generic=origin.unresolved and component_type not in CONSUMABLE_FIELD and material is not None,
        weightless=component_type in WEIGHTLESS_TYPES or bool(material and material.weight_optional),
        carried=tuple(_carried(rules, component_type, attributes)),
        is_carried=False,
        origin=origin,
    )


def _code_without_text(
    rules: RuleSet, component_type: str, family: str | None, attributes: Mapping[str, Value]
) -> str | None:
    """Step 2b: the code that the attributes or the family give to a part without a usable material text."""
    if component_type in CONSUMABLE_FIELD:
        field = CONSUMABLE_FIELD[component_type]
        return rules.implied_codes.get((field, str(attributes.get(field)))) or UNSPECIFIED[component_type]
    return GENERIC.get(family or "")


def _carried(rules: RuleSet, component_type: str, attributes: Mapping[str, Value]) -> list[Part]:
    """Step 2d: the weightless adhesive, ink and coating that attributes of this part stand for."""
    found = []
    for carried_type, fields, proper_to in _CARRIED:
        own = frozenset((field, attributes[field]) for field in fields if attributes.get(field) not in (None, False))
        if own and component_type not in proper_to:
            found.append(_carried_part(rules, carried_type, own))
    return found


@lru_cache(maxsize=_CACHED_PARTS)
def _carried_part(rules: RuleSet, component_type: str, own: frozenset[tuple[str, Value]]) -> Part:
    code = _code_without_text(rules, component_type, None, dict(own))
    assert code is not None
    return Part(
        component_type=component_type,
        material=rules.materials[code],
        fields=MappingProxyType(dict(own)),
        separable=False,
        generic=False,
        weightless=True,
        carried=(),
        is_carried=True,
        origin=Origin(component_type, None, None, False, False, own),
    )


@dataclass(frozen=True, slots=True)
class Weighed:
    """A part with its weight in grams and its place in the record; `index` is None for the implied body."""

    part: Part
    grams: float | None
    index: int | None

    def field(self, name: str) -> str:
        """The path of a component field in the caller's body; the implied body's facts are the SKU's."""
        if self.index is None:
            return {"weight_g": "weight_grams", "polymer_or_grade": "material_subtype"}.get(name, name)
        return f"components[{self.index}].{name}"


def parts(record: Record, rules: RuleSet) -> list[Weighed]:
    """The record's components as parts, or the one body that its material stands for; empty without either."""
    svhc = _status(record.get("svhc"))
    components = lines(record)
    if components:
        return [
            Weighed(_part(line, svhc, rules), _grams(line.get("weight_g")), index)
            for index, line in enumerate(components)
        ]
    family, text = record.get("material"), record.get("material_subtype")
    if not family and not text:
        return []
    body = {"component_type": "body", "material_family": family, "polymer_or_grade": text}
    return [Weighed(_part(body, svhc, rules), _grams(record.get("weight_grams")), None)]


def lines(record: Record) -> Sequence[Record]:
    """The component graph as it is stored; empty where there is none."""
    return record.get("components") or ()


def _part(line: Record, sku_svhc: str | None, rules: RuleSet) -> Part:
    get = line.get
    additives, substances = get("additives"), get("substances")
    svhc = _status(substances.get("svhc")) if isinstance(substances, Mapping) else None
    said = _Said(
        line["component_type"],
        get("material_family"),
        get("polymer_or_grade"),
        get("separable") is True,
        "above_limit" if "above_limit" in (svhc, sku_svhc) else svhc or sku_svhc,
        None if additives is None else tuple(additives),
        tuple([get(field) for field in _ATTRIBUTES]),
        tuple([None if (n := get(field)) is None else rules.band(field, n) for field in _NUMBERS]),
    )
    return _understood(rules, said)


@lru_cache(maxsize=_CACHED_PARTS)
def _understood(rules: RuleSet, said: _Said) -> Part:
    """The part that a line means, its material text resolved."""
    values = (*said.attributes, *said.numbers, said.svhc)
    named = zip((*_ATTRIBUTES, *_NUMBERS, "svhc"), values, strict=True)
    given: dict[str, Value] = {field: value for field, value in named if value is not None}
    if said.additives is not None:
        given["additives"] = frozenset(said.additives)
    code = resolve_material(said.text, rules) if said.text else None
    specified = code is not None and rules.materials[code].specified
    origin = Origin(
        component_type=said.component_type,
        family=None if specified else said.family,
        text_code=code if specified else None,
        unresolved=bool(said.text) and code is None,
        separable=said.separable,
        given=frozenset(given.items()),
    )
    return make_part(rules, origin)


def _status(entry: object) -> str | None:
    """The status of a substance entry; None where nothing is declared."""
    return entry.get("status") if isinstance(entry, Mapping) else None


def _grams(weight: Any) -> float | None:
    return None if weight is None else float(weight)
