"""Combines substance entries and the deprecated fields into one entry, and reads both forms back from it.

This is the contract's part: which entry a record declares, when two fields contradict each other, and what the
deprecated fields read as (decisions §2, §9, §11). `compliance.substances` compares values with limits.
"""

from collections.abc import Mapping
from typing import Final, Literal, cast, get_args

import orjson

from compliance.ruleset import RuleSet
from compliance.substances import contradiction, implied_status, unit_of_limit
from schemas.issues import Issue
from schemas.messages import Message
from schemas.skus.types import SkuPatch, SubstanceEntry, Substances
from schemas.vocabularies import SUBSTANCES, Substance

_Legacy = Literal["pfas_intentional", "svhc_declared", "bpa_present", "heavy_metals_sum_ppm"]
LEGACY: Final[Mapping[str, _Legacy]] = {
    "pfas": "pfas_intentional",
    "svhc": "svhc_declared",
    "bpa": "bpa_present",
    "heavy_metals": "heavy_metals_sum_ppm",
}
_Part = Literal["status", "value", "unit", "basis", "source", "evidence"]
PARTS: Final[tuple[_Part, ...]] = get_args(_Part)
"""The keys of an entry, each of which can be an import column: `pfas_status`."""

COLUMNS: Final = frozenset(
    {*LEGACY.values(), "substances_source"} | {f"{substance}_{part}" for substance in SUBSTANCES for part in PARTS}
)
"""Import columns that this module turns into entries."""

_PPM: Final = {"mg_per_kg": 1, "percent_w_w": 10_000, "ppb": 0.001}
"""Each unit in mg/kg, the unit of `heavy_metals_sum_ppm`."""

_PPM_LIMIT: Final = 100.0
"""The bound that `heavy_metals_sum_ppm` reads as where an attestation named no lower one (decisions §11)."""

_KEYS: Final = (*PARTS, "below")


def declared(record: SkuPatch, rules: RuleSet) -> tuple[Substances, list[Issue]]:
    """Return what a record declares of each substance: an entry, None where it clears it, no key where it omits it."""
    found: Substances = {}
    issues: list[Issue] = []
    sent = record.get("substances", {})
    for substance in SUBSTANCES:
        legacy = LEGACY[substance]
        if sent is None:
            found[substance] = None
        elif substance in sent:
            entry, fault = _complete(substance, sent[substance], rules)
            issues += [fault] if fault else []
            found[substance] = entry
        if legacy not in record:
            continue
        implied = _from_legacy(substance, record[legacy], record.get("substances_source") or "imported", rules)
        if substance not in found:
            found[substance] = implied
        elif not _agree(found[substance], implied, substance):
            issues.append(_conflict(substance, legacy))
        elif implied and "below" in implied and (entry := found[substance]):
            found[substance] = {**entry, "below": implied["below"]}
    return found, issues


def declared_in_columns(row: Mapping[str, object], rules: RuleSet) -> tuple[Substances, list[Issue]]:
    """Return the same for one row of import columns; `given:<column>` is whether the cell had a value."""
    record = {name: row[name] for name in row if name in COLUMNS and row[f"given:{name}"]}
    sent: Substances = {}
    issues: list[Issue] = []
    for substance in SUBSTANCES:
        given = {part: record[f"{substance}_{part}"] for part in PARTS if f"{substance}_{part}" in record}
        if all(value is None for value in given.values()):
            if "status" in given or "value" in given:
                sent[substance] = None
            continue
        entry = cast(SubstanceEntry, {"source": record.get("substances_source"), **given})
        status, value = given.get("status"), entry.get("value")
        if value is not None:
            status = status or implied_status(substance, value, entry.get("unit"), entry.get("basis"), rules)
        if status is None:
            field = f"{substance}_status"
            needed = Message(
                "A measured value of {substance} needs a {status} beside it.", substance=substance, status=field
            )
            issues.append(Issue("required", needed, field))
        else:
            entry["status"] = str(status)
        sent[substance] = entry
    entries, faults = declared(cast(SkuPatch, {**record, "substances": sent}), rules)
    return entries, [*issues, *faults]


def _complete(
    substance: Substance, entry: SubstanceEntry | None, rules: RuleSet
) -> tuple[SubstanceEntry | None, Issue | None]:
    """Return the entry with its unit, without nulls, and the fault where its value and its status disagree."""
    if entry is None:
        return None, None
    kept = entry = without_nulls(entry)
    if "value" in entry and (unit := unit_of_limit(substance, entry.get("basis"), rules)) is not None:
        kept = without_nulls({"unit": unit, **entry})
    implied = contradiction(substance, kept, rules)
    if implied is None:
        return kept, None
    sentence = Message(
        "The measured value {value} means {implied}, but the status says {status}; "
        "send the status that the value implies, or leave the value out.",
        value=kept["value"],
        implied=implied,
        status=kept.get("status"),
    )
    return kept, Issue("substance_status_contradicts_value", sentence, f"substances.{substance}.status")


def _from_legacy(substance: Substance, value: float | str | None, source: str, rules: RuleSet) -> SubstanceEntry | None:
    if value is None:
        return None
    if substance != "heavy_metals":
        return {"status": "above_limit" if value else "absent", "source": source}
    if isinstance(value, str) and value.startswith("<"):
        below = float(value[1:])  # the limit itself is what an entry without `below` says
        attested: SubstanceEntry = {"status": "below_limit", "source": source}
        return attested if below == _PPM_LIMIT else {**attested, "below": below}
    measured = float(value)
    status = implied_status(substance, measured, "mg_per_kg", None, rules) or "unknown"
    return {"status": status, "value": measured, "unit": "mg_per_kg", "source": source}


def _agree(entry: SubstanceEntry | None, implied: SubstanceEntry | None, substance: Substance) -> bool:
    """Return whether a legacy value beside an entry means the same: reads return it for that entry."""
    if substance == "heavy_metals" and entry and implied and "below" in implied:
        return entry.get("status") == "below_limit" and "value" not in entry
    return legacy_of(substance, entry) == legacy_of(substance, implied)


def _conflict(substance: str, legacy: str) -> Issue:
    sentence = Message(
        "{legacy} and substances.{substance} declare different things; send only substances.{substance}.",
        legacy=legacy,
        substance=substance,
    )
    return Issue("conflicting_declaration", sentence, f"substances.{substance}")


def legacy_of(substance: Substance, entry: SubstanceEntry | None) -> float | str | None:
    """Return the value of a substance's deprecated field."""
    if entry is None:
        return None
    if substance == "heavy_metals":
        if (value := entry.get("value")) is not None:
            return value * _PPM[entry.get("unit") or "mg_per_kg"]
        return f"<{entry.get('below', _PPM_LIMIT):g}" if entry["status"] == "below_limit" else None
    return {"above_limit": True, "absent": False, "below_limit": False}.get(entry["status"])


def entry_text(entry: SubstanceEntry | None) -> str | None:
    """Return the stored form: JSON with the keys in one order and no nulls."""
    if entry is None:
        return None
    return orjson.dumps(without_nulls(entry)).decode()


def without_nulls(entry: SubstanceEntry) -> SubstanceEntry:
    """Return the entry with its keys in one order, without nulls."""
    given: Mapping[str, object] = entry
    return cast(SubstanceEntry, {key: given[key] for key in _KEYS if given.get(key) is not None})


def published(entry: SubstanceEntry | None) -> SubstanceEntry | None:
    """Return the form of reads: every key of the contract, null where nothing was declared."""
    return None if entry is None else cast(SubstanceEntry, {key: entry.get(key) for key in PARTS})
