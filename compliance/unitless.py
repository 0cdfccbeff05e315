"""Finds substance values that are stored without a unit, and says what each means in the unit of its limit.

A value that is sent without a unit is in the unit of its limit, which is stored with it (decisions §13). Records from
before that rule may hold a value alone: it is read in the same way, and its status may contradict it by now.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any  # Any: an entry by its substance

from compliance.ruleset import RuleSet
from compliance.substances import contradiction, unit_of_limit
from schemas.sku import Component, SubstanceEntry
from schemas.vocabularies import SUBSTANCES


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
    found = list(_of(entries, rules))
    for line in lines:
        found += _of(line.get("substances", {}), rules, line)
    return found


def _of(
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
