"""Steps 2 to 4 of grading.md: makes parts of a record's components, groups those that are graded together into units.

A part has a code, attributes and a weight, and can be made again with one more fact, which step 8 needs. Each unit goes
to a sorting stream; `compliance.grading.firing` applies the rules to its parts.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple, get_args

from compliance.rule_rows import TOLERANCE, Format, Material, StreamRow, Value
from compliance.ruleset import RuleSet
from compliance.words import material_of, resolve_format, resolve_material
from schemas.messages import Message
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
    attributes: Mapping[str, Value]
    fields: Mapping[str, Value]
    separable: bool
    coded_by_text: bool
    generic: bool
    weightless: bool
    carried: tuple["Part", ...]
    is_carried: bool

    @property
    def is_given(self) -> bool:
        """Whether the material is given: by a text, or by the attribute that names the kind of a consumable."""
        material = self.material
        if material is None or self.generic or not material.specified or material.code in UNSPECIFIED.values():
            return False
        return self.coded_by_text or self.is_carried or self.component_type in CONSUMABLE_FIELD

    def with_field(self, field: str, value: Value, rules: RuleSet) -> "Part":
        """Return the part as if the caller gave one more attribute."""
        fields = {**self.attributes, field: value}
        material = self.material
        if not self.coded_by_text:
            code = code_without_text(rules, self.component_type, self.family, fields)
            material = rules.materials[code] if code else None
        return self._with_material(material, fields, rules)

    def with_code(self, code: str, rules: RuleSet) -> "Part":
        """Return the part as if its material text meant this code."""
        return self._replace(coded_by_text=True)._with_material(rules.materials[code], self.attributes, rules)

    def _with_material(self, material: Material | None, fields: Mapping[str, Value], rules: RuleSet) -> "Part":
        return make_part(
            rules,
            self.component_type,
            family=self.family,
            material=material,
            attributes=fields,
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
    attributes: Mapping[str, Value],
    separable: bool,
    coded_by_text: bool,
    generic: bool,
) -> Part:
    """Return a part of this material with the attributes and carried parts that follow (steps 2c to 2e)."""
    return Part(
        component_type=component_type,
        family=family,
        material=material,
        attributes=attributes,
        fields={**material.implied, **attributes} if material else attributes,
        separable=separable,
        coded_by_text=coded_by_text,
        generic=generic,
        weightless=component_type in WEIGHTLESS_TYPES or (material is not None and material.weight_optional),
        carried=() if _CARRIED_FIELDS.isdisjoint(attributes) else _carried(rules, component_type, attributes),
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


def _carried(rules: RuleSet, component_type: str, values: Mapping[str, Value]) -> tuple[Part, ...]:
    """Step 2d: return the weightless adhesive, ink and coating that attributes of this part imply."""
    parts = []
    for carried_type, fields, proper_to in CARRIED:
        own = {field: values[field] for field in fields if values.get(field) not in (None, False)}
        if own and component_type not in proper_to:
            code = code_without_text(rules, carried_type, None, own)
            assert code is not None
            material = rules.materials[code]
            parts.append(Part(carried_type, None, material, own, own, False, False, False, True, (), True))
    return tuple(parts)


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
        frozenset(part.attributes.items()),
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
    fields: dict[str, Value] = {field: v for field in _ATTRIBUTES if (v := line.get(field)) is not None}
    for field in _NUMBERS:
        if (number := line.get(field)) is not None:
            fields[field] = rules.band(field, number)
    if (additives := line.get("additives")) is not None:
        fields["additives"] = frozenset(additives)
    substances = line.get("substances")
    svhc = _status(substances.get("svhc")) if substances else None
    if declared := sku_svhc if sku_svhc == "above_limit" else svhc or sku_svhc:
        fields["svhc"] = declared
    text = line.get("polymer_or_grade")
    code = _text_code(text, rules) if text else None
    for name, said in material_of(text, rules).facts.items() if text else ():
        fields.setdefault(name, said)
    material_code = code or code_without_text(rules, component_type, family, fields)
    return make_part(
        rules,
        component_type,
        family=family,
        material=rules.materials[material_code] if material_code else None,
        attributes=fields,
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


LAYERS: Final = frozenset({"body", "coating", "liner", "tie_layer"})
"""The parts whose material makes a pack a composite of paper and another material."""
_NEVER_SEPARATE: Final = frozenset({"body", "ink", "adhesive", "varnish", "coating", "tie_layer"})
FILM_PARTS: Final = frozenset({"label", "sleeve", "liner", "seal"})
"""Parts that are films where they come off."""
_LIGHTWEIGHT_GROUPS: Final = frozenset({"WOOD", "CORK", "TEXTILE", "CERAMIC", "RUBBER", "WAX"})


@dataclass(slots=True)
class Unit:
    """Parts that are recycled or lost together; carried parts follow the members, without weight.

    `types` are the types that rules match: a separate part is matched as `body`. `owners` names for each part the
    member on whose line it is traced.
    """

    name: str
    members: Sequence[Weighed]
    parts: list[Part]
    types: list[str]
    grams: list[float]
    owners: list[int]
    form: str | None

    @classmethod
    def from_members(cls, members: Sequence[Weighed], form: str | None, *, separate: bool) -> "Unit":
        """Return the unit of these members; the body's, or that of one separate part."""
        unit = cls(
            name=members[0].part.component_type if separate else "body",
            members=members,
            parts=[member.part for member in members],
            types=["body" if separate else member.part.component_type for member in members],
            grams=[member.grams or 0.0 for member in members],
            owners=list(range(len(members))),
            form=form,
        )
        for owner, member in enumerate(members):
            for carried in member.part.carried:
                unit.parts.append(carried)
                unit.types.append(carried.component_type)
                unit.grams.append(0.0)
                unit.owners.append(owner)
        return unit

    def with_part(self, place: int, part: Part) -> "Unit":
        """Return the same unit with another part in one place (step 8)."""
        members = list(self.members)
        members[place] = Weighed(part, members[place].grams, members[place].index)
        separate = self.types[0] != members[0].part.component_type
        return Unit.from_members(members, self.form, separate=separate)

    def layers_recorded(self) -> bool:
        """Return whether the unit has a layer of another family than paper."""
        return any(
            self.types[place] in LAYERS and _family(member.part) != "paper" for place, member in enumerate(self.members)
        )


def packaging_format(record: Sku, rules: RuleSet) -> Format | None:
    """Return the record's packaging format, or None where it is missing or unknown."""
    text = record.get("packaging_format")
    return resolve_format(str(text), rules) if text else None


def outside_article_6(record: Sku, pack_format: Format | None) -> Message | None:
    """Return the sentence that says why the pack needs no recyclability grade at all, or None (step 3)."""
    contexts = record.get("use_contexts") or ()
    assert isinstance(contexts, Sequence)
    if "dangerous_goods" in contexts and record.get("packaging_level") == "transport":
        return Message("Transport packaging of dangerous goods is exempt: Article 6(11)(f) of Regulation (EU) 2025/40.")
    if "pharmaceutical" in contexts:
        return Message(
            "Not graded: Article 6(11)(a) to (d) of Regulation (EU) 2025/40 exempts immediate packaging of medicinal "
            "products, outer packaging that preserves their quality, and contact-sensitive packaging of medical "
            "devices. Whether this is such is not recorded."
        )
    if pack_format and "compostable_art_9" in pack_format.flags:
        return Message(
            "This format must be compostable instead, by 12 February 2028: Article 9(1) of Regulation (EU) 2025/40."
        )
    return None


def lightweight_exemption(record: Sku, group: str | None) -> Message | None:
    """Return the sentence that exempts sales packaging of a rare material, or None; evaluated after step 4."""
    if group in _LIGHTWEIGHT_GROUPS and record.get("packaging_level") == "sales":
        return Message(
            "Not graded: Article 6(11)(g) of Regulation (EU) 2025/40 exempts sales packaging of lightweight wood, "
            "cork, textile, rubber, ceramic, porcelain or wax. That it is lightweight is assumed, as no field says it."
        )
    return None


def units(weighed: Sequence[Weighed], pack_format: Format | None) -> list[Unit]:
    """Return the body's unit first, then one for each part that comes off as a separate component (step 4a, d)."""
    separate = [w for w in weighed if comes_off(w.part)]
    together = [w for w in weighed if not comes_off(w.part)] if separate else weighed
    first = Unit.from_members(together, pack_format.form if pack_format else None, separate=False)
    return [
        first,
        *(
            Unit.from_members([w], "film" if w.part.component_type in FILM_PARTS else "rigid", separate=True)
            for w in separate
        ),
    ]


def comes_off(part: Part) -> bool:
    """Return whether a part is a separate component, a unit of its own."""
    return part.separable and part.component_type not in _NEVER_SEPARATE


def missing_facts(unit: Unit) -> list[str]:
    """Return the fields without which the unit cannot be assessed (step 4b), in the order of its parts."""
    fields = []
    for member in unit.members:
        if member.part.material is None:
            fields.append(member.field("polymer_or_grade"))
        if member.grams is None and not member.part.weightless:
            fields.append(member.field("weight_g"))
    bodies = [member for member, matched in zip(unit.members, unit.types, strict=False) if matched == "body"]
    weights = [member.field("weight_g") for member in bodies]
    if not any(member.grams for member in bodies) and not set(weights) & set(fields):
        fields += weights
    return fields


def predominant_group(unit: Unit) -> str:
    """Return the heaviest group within the heaviest family (step 4c); `other` only when there is no other group."""
    by_family: dict[str, dict[str, float]] = {}
    for member, grams in zip(unit.members, unit.grams, strict=False):
        material = member.part.material
        assert material is not None
        groups = by_family.setdefault(material.family, {})
        groups[material.group] = groups.get(material.group, 0.0) + grams
    if len(by_family) > 1:
        by_family.pop("other", None)
    family = _heaviest({name: sum(groups.values()) for name, groups in by_family.items()})
    return _heaviest(by_family[family])


def stream_row(unit: Unit, group: str, rules: RuleSet) -> StreamRow | None:
    """Return the first row of `streams.csv` that fits the unit (step 4e)."""
    return fitting_row(rules, group, unit.form, lambda what, percent: weighs_more(unit, what, percent))


def fitting_row(rules: RuleSet, group: str, form: str | None, holds: Callable[[str, float], bool]) -> StreamRow | None:
    """Return the first row for a predominant group in a form whose condition holds, or which has none."""
    for row in rules.streams[group]:
        if row.form in ("any", form) and (row.when is None or holds(*row.when)):
            return row
    return None


def weighs_more(unit: Unit, what: str, percent: float) -> bool:
    """Return whether the layers of other families than paper, or the parts of a group, weigh this share or more."""
    weighed = sum(
        grams
        for member, grams, matched in zip(unit.members, unit.grams, unit.types, strict=False)
        if (
            matched in LAYERS and _family(member.part) != "paper"
            if what == "non_paper_layers"
            else member.part.material is not None and member.part.material.group == what
        )
    )
    return 100 * weighed / sum(unit.grams) >= percent + TOLERANCE


def _heaviest(weights: dict[str, float]) -> str:
    """Return the heaviest name; ties go to the first in the alphabet.

    Sums of binary floats are compared at nine decimals.
    """
    if len(weights) == 1:
        return next(iter(weights))
    most = round(max(weights.values()), 9)
    return min(name for name, weight in weights.items() if round(weight, 9) == most)


def _family(part: Part) -> str | None:
    return part.material.family if part.material else None
