"""Compares measured substance values with their limits, and detects the one case that the law prohibits.

The limits are rows of `limits.csv`: Article 5 of Regulation (EU) 2025/40, and Article 33 of REACH for substances of
very high concern. The caller decides whether a declared status contradicts a value.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import (
    Any,  # Any: an entry by its substance
    Final,
    NamedTuple,
)

from compliance.rule_rows import Limit
from compliance.ruleset import RuleSet
from compliance.scopes import why_in_union
from schemas.messages import Message
from schemas.skus.types import Component, Sku, SubstanceEntry
from schemas.vocabularies import SUBSTANCES, Substance

_LIMIT_OF: Final = {
    ("pfas", "single"): "pfas_single",
    ("pfas", "sum"): "pfas_sum",
    ("pfas", "total"): "pfas_total",
    ("heavy_metals", ""): "heavy_metals_sum",
    ("svhc", ""): "svhc_article",
}
_MG_PER_KG: Final = {"ppb": Decimal("0.001"), "mg_per_kg": Decimal(1), "percent_w_w": Decimal(10_000)}
_LIMIT_UNITS: Final = {
    "ug/kg (ppb)": "ppb",
    "mg/kg (ppm)": "mg_per_kg",
    "mg/kg": "mg_per_kg",
    "% w/w": "percent_w_w",
}
_BASIS: Final = "single"
"""What a PFAS value without unit and basis is of: one substance, whose limit is the lowest (Article 5(5)(a))."""
_PROHIBITION: Final = "pfas_single"
"""The row whose date the PFAS prohibition applies from; the three limits of Article 5(5) share it."""


def implied_status(substance: str, value: float, unit: str | None, basis: str | None, rules: RuleSet) -> str | None:
    """Return the status that a measured value implies: `above_limit` (a breach), `below_limit`, or None if undecided.

    Without a unit it is in the unit of its limit. It is undecided for BPA alone, whose use is forbidden at any
    concentration. A PFAS value is of one substance in ppb, of all PFAS together in other units, unless `basis` says
    otherwise (Article 5(5)(a) to (c)).
    """
    unit = unit or unit_of_limit(substance, basis, rules)
    if unit not in _MG_PER_KG:
        return None
    limit = _limit(substance, basis or (_BASIS if unit == "ppb" else "total"), rules)
    if limit is None:
        return None
    return "above_limit" if _breaches(value, unit, limit) else "below_limit"


def unit_of_limit(substance: str, basis: str | None, rules: RuleSet) -> str | None:
    """Return the unit that a value sent without one is in: that of its limit (decisions §13); None for BPA.

    PFAS ppb, with `basis` total mg_per_kg; heavy metals mg_per_kg; SVHC percent_w_w.
    """
    limit = _limit(substance, basis or _BASIS, rules)
    return None if limit is None else _LIMIT_UNITS[limit.unit]


def contradiction(substance: str, entry: SubstanceEntry, rules: RuleSet) -> str | None:
    """Return the status that the value of an entry implies where the entry says another; None where both agree."""
    value = entry.get("value")
    if value is None:
        return None
    implied = implied_status(substance, value, entry.get("unit"), entry.get("basis"), rules)
    return None if implied == entry.get("status") else implied


def _limit(substance: str, basis: str, rules: RuleSet) -> Limit | None:
    code = _LIMIT_OF.get((substance, basis if substance == "pfas" else ""))
    return None if code is None else rules.limits[code]


def _breaches(value: float, unit: str, limit: Limit) -> bool:
    measured = Decimal(str(value)) * _MG_PER_KG[unit]
    allowed = Decimal(limit.value) * _MG_PER_KG[_LIMIT_UNITS[limit.unit]]
    return measured >= allowed if limit.comparator == ">=" else measured > allowed


class Declaration(NamedTuple):
    """What a record declares of one substance: of the packaging itself, or of one part of it (`part`)."""

    entry: SubstanceEntry
    part: Component | None


def declarations(record: Sku, substance: Substance) -> list[Declaration]:
    """Return the declarations of a substance: that of the packaging first, then those of its parts in their order."""
    of_parts = [(line.get("substances", {}).get(substance), line) for line in record.get("components") or ()]
    entries = [(record.get(substance), None), *of_parts]
    return [Declaration(entry, part) for entry, part in entries if entry]


def is_above(substance: Substance, entry: SubstanceEntry, rules: RuleSet) -> bool:
    """Return whether a declaration breaches the substance's limit, by its status or by its measured value."""
    return entry.get("status") == "above_limit" or is_measured_above(substance, entry, rules)


def is_measured_above(substance: Substance, entry: SubstanceEntry, rules: RuleSet) -> bool:
    """Return whether the declaration's own value shows the breach."""
    value = entry.get("value")
    if value is None:
        return False
    return implied_status(substance, value, entry.get("unit"), entry.get("basis"), rules) == "above_limit"


def pfas_food_contact_prohibited(record: Sku, *, on: date, rules: RuleSet) -> Message | None:
    """Return the sentence that refuses a food-contact pack with PFAS for a market in the Union, or None.

    Article 5(5) of Regulation (EU) 2025/40; the markets are those in effect (decisions §13). Refusing on a declaration
    without a value is this service's reading. The sentence says which of the two decided, of which part, and what made
    the market one.
    """
    limit = rules.limits[_PROHIBITION]
    assert limit.applies_from is not None
    if not record.get("food_contact") or on < limit.applies_from:
        return None
    above = pfas_above(record, rules)
    if above is None or (because := why_in_union(record)) is None:
        return None
    return Message(
        "Food-contact packaging with PFAS above the limit must not be placed on the Union market since {since}, by "
        "Article 5(5) of Regulation (EU) 2025/40: {decided}; {because}. It can be held when the pack has no food "
        "contact, PFAS are below the limit, or no market is in the European Union. If it is no longer sold, archive "
        "it: its units can be written then.",
        since=limit.applies_from.isoformat(),
        decided=above,
        because=because,
    )


def pfas_above(record: Sku, rules: RuleSet) -> Message | None:
    """Return which declaration says that PFAS are above a limit, a measured one first; None where none says so."""
    above = [declaration for declaration in declarations(record, "pfas") if is_above("pfas", declaration.entry, rules)]
    if not above:
        return None
    first = next(
        (declaration for declaration in above if is_measured_above("pfas", declaration.entry, rules)), above[0]
    )
    return breach("pfas", first, rules)


def breach(substance: Substance, declared: Declaration, rules: RuleSet) -> Message:
    """Return what a declaration above a limit says, and of which part."""
    entry, part = declared.entry, part_named(declared.part)
    if is_measured_above(substance, entry, rules):
        value = f"{entry['value']:.15g} {entry.get('unit') or unit_of_limit(substance, entry.get('basis'), rules)}"
        if substance == "pfas":
            return Message("the measured value of {value} of {part} reaches the limit", value=value, part=part)
        return Message("the measured value of {value} of {part} is above the limit", value=value, part=part)
    if substance == "pfas":
        return Message("the declaration of {part} says that PFAS are above the limit", part=part)
    return Message("the declaration of {part} says that heavy metals are above the limit", part=part)


def part_named(part: Component | None) -> Message:
    """Return a part as sentences name it: type, material, and its position where the record has one."""
    if part is None:
        return Message("the packaging itself")
    kind = part["component_type"]
    material = part.get("polymer_or_grade") or part.get("material_family")
    text = f"{kind} ({material})" if material else kind
    position = part.get("position_in_sku")
    if position is None:
        return Message("the component {named}", named=text)
    return Message("the component {named} at position {position}", named=text, position=position)


@dataclass(frozen=True, slots=True)
class UnitlessValue:
    """One stored value without a unit.

    `unit` is that of its limit, in which it is read. `implied` is the status that the value means then where the
    stored `status` says another; None where both agree. `component_id` and `component_type` are those of the part's
    line; None for a value of the packaging itself.
    """

    substance: str
    value: float
    unit: str
    status: str
    implied: str | None
    component_id: str | None = None
    component_type: str | None = None


def unitless_values(
    entries: Mapping[str, SubstanceEntry | None], lines: list[Component], rules: RuleSet
) -> list[UnitlessValue]:
    """Return the values without a unit of a packaging and of the lines of its graph; those of BPA need none."""
    values = list(_unitless(entries, rules))
    for line in lines:
        values += _unitless(line.get("substances", {}), rules, line)
    return values


def _unitless(
    entries: Mapping[Any, SubstanceEntry | None], rules: RuleSet, line: Component | None = None
) -> Iterator[UnitlessValue]:
    for substance in SUBSTANCES:
        entry = entries.get(substance)
        if entry is None or entry.get("unit") is not None or (value := entry.get("value")) is None:
            continue
        if (unit := unit_of_limit(substance, entry.get("basis"), rules)) is None:
            continue
        yield UnitlessValue(
            substance=substance,
            value=value,
            unit=unit,
            status=entry["status"],
            implied=contradiction(substance, entry, rules),
            component_id=None if line is None else line["id"],
            component_type=None if line is None else line["component_type"],
        )
