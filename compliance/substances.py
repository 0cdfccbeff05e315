"""Compares measured substance values with their limits, and detects the one case that the law prohibits.

The limits are rows of `limits.csv`: Article 5 of Regulation (EU) 2025/40, and Article 33 of REACH for substances of
very high concern. The caller decides whether a declared status contradicts a value.
"""

from collections.abc import Collection, Iterable
from datetime import date
from decimal import Decimal
from typing import Final

from compliance.rule_rows import Limit
from compliance.ruleset import RuleSet
from schemas.messages import Message
from schemas.sku import SubstanceEntry

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


def pfas_food_contact_prohibited(
    *,
    food_contact: bool | None,
    markets: Iterable[str] | None,
    pfas: Iterable[SubstanceEntry | None],
    on: date,
    eu_codes: Collection[str],
    rules: RuleSet,
) -> Message | None:
    """Return the sentence that refuses a food-contact pack with PFAS for a market in the Union, or None.

    `pfas` are the entries of the SKU and of its components. Article 5(5) of Regulation (EU) 2025/40; refusing on a
    declaration without a value is this service's reading, and the sentence says which of the two decided.
    """
    limit = rules.limits[_PROHIBITION]
    assert limit.applies_from is not None
    if not food_contact or on < limit.applies_from:
        return None
    market = next((code for code in markets or () if code in eu_codes or code[:2] in eu_codes), None)
    above = [entry for entry in pfas if entry and entry.get("status") == "above_limit"]
    if market is None or not above:
        return None
    entry = next((entry for entry in above if _measured(entry, rules)), above[0])
    decided = (
        Message("the measured value of {value} reaches the limit", value=_amount(entry, rules))
        if _measured(entry, rules)
        else Message("the declaration says that PFAS are above the limit")
    )
    return Message(
        "Food-contact packaging with PFAS above the limit must not be placed on the Union market ({market}) since "
        "{since}, by Article 5(5) of Regulation (EU) 2025/40: {decided}. It can be held "
        "when the pack has no food contact, PFAS are below the limit, or no market is in the European Union.",
        market=market,
        since=limit.applies_from.isoformat(),
        decided=decided,
    )


def _amount(entry: SubstanceEntry, rules: RuleSet) -> str:
    """Return a measured PFAS value with its unit, or with that of its limit, as the one without a unit is read."""
    return f"{entry['value']:g} {entry.get('unit') or unit_of_limit('pfas', entry.get('basis'), rules)}"


def _measured(entry: SubstanceEntry, rules: RuleSet) -> bool:
    """Return whether the entry's own value shows the breach."""
    value = entry.get("value")
    if value is None:
        return False
    return implied_status("pfas", value, entry.get("unit"), entry.get("basis"), rules) == "above_limit"
