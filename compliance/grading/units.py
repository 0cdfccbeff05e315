"""Steps 3 and 4 of grading.md: groups the parts that are graded together, and assigns each group a sorting stream.

`compliance.grading.firing` applies the rules to the parts of a unit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from compliance.grading.components import Part, Weighed
from compliance.rule_rows import TOLERANCE, Format, StreamRow
from compliance.ruleset import RuleSet
from compliance.words import resolve_format
from schemas.messages import Message
from schemas.skus.types import Sku

LAYERS: Final = frozenset({"body", "coating", "liner", "tie_layer"})
"""The parts whose material makes a pack a composite of paper and another material."""
_NEVER_SEPARATE: Final = frozenset({"body", "ink", "adhesive", "varnish", "coating", "tie_layer"})
_FILM_PARTS: Final = frozenset({"label", "sleeve", "liner", "seal"})
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
    def of(cls, members: Sequence[Weighed], form: str | None, *, separate: bool) -> "Unit":
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
        return Unit.of(members, self.form, separate=separate)

    def layers_recorded(self) -> bool:
        """Return whether the unit has a layer of another family than paper."""
        return any(
            self.types[place] in LAYERS and _family(member.part) != "paper" for place, member in enumerate(self.members)
        )


def packaging_format(record: Sku, rules: RuleSet) -> Format | None:
    """Return the record's packaging format, or None where it is missing or unknown."""
    text = record.get("packaging_format")
    return resolve_format(str(text), rules) if text else None


def outside_article_6(record: Sku, found: Format | None) -> Message | None:
    """Return the sentence that says why the pack needs no recyclability grade at all, or None (step 3)."""
    contexts = record.get("use_contexts") or ()
    assert isinstance(contexts, Sequence)
    if "dangerous_goods" in contexts and record.get("packaging_level") == "transport":
        return Message("Transport packaging of dangerous goods is exempt: Article 6(11)(f) of Regulation (EU) 2025/40.")
    if "pharmaceutical" in contexts:
        return Message(
            "Packaging of medicinal products is exempt: Article 6(11)(a) and (d) of Regulation (EU) 2025/40."
        )
    if found and "compostable_art_9" in found.flags:
        return Message("This format must be compostable instead: Article 9(1) of Regulation (EU) 2025/40.")
    return None


def lightweight_exemption(record: Sku, group: str | None) -> Message | None:
    """Return the sentence that exempts sales packaging of a rare material, or None; evaluated after step 4."""
    if group in _LIGHTWEIGHT_GROUPS and record.get("packaging_level") == "sales":
        return Message(
            "Lightweight sales packaging of wood, cork, textile, ceramic, rubber or wax is exempt: "
            "Article 6(11)(g) of Regulation (EU) 2025/40."
        )
    return None


def units(weighed: Sequence[Weighed], found: Format | None) -> list[Unit]:
    """Return the body's unit first, then one for each part that comes off as a separate component (step 4a, d)."""
    separate = [w for w in weighed if _comes_off(w.part)]
    together = [w for w in weighed if not _comes_off(w.part)] if separate else weighed
    first = Unit.of(together, found.form if found else None, separate=False)
    return [
        first,
        *(Unit.of([w], "film" if w.part.component_type in _FILM_PARTS else "rigid", separate=True) for w in separate),
    ]


def _comes_off(part: Part) -> bool:
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
    return min(weights, key=lambda name: (-round(weights[name], 9), name))


def _family(part: Part) -> str | None:
    return part.material.family if part.material else None
