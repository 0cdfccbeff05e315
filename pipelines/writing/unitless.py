"""Judges substance values that are stored without a unit: at the next write of their SKU, and for the list of them.

The values themselves are never changed: a write that leaves them out and does not contradict them keeps them as they
are, and one that sends them stores their unit (`pipelines.writing.substances`).
"""

from dataclasses import dataclass
from uuid import UUID

import orjson

from compliance.ruleset import RuleSet
from compliance.unitless import UnitlessValue, unitless_values
from pipelines.writing.patch import RowIssue
from schemas.issues import Issue
from schemas.messages import Message
from schemas.vocabularies import SUBSTANCES
from warehouse.sessions import Connection
from warehouse.skus import unitless
from warehouse.skus.columns import Table


@dataclass(frozen=True, slots=True)
class HeldValue:
    """A stored value without a unit, with its SKU."""

    sku_id: UUID
    sku_code: str
    found: UnitlessValue


def held_values(conn: Connection, rules: RuleSet) -> list[HeldValue]:
    """Return the values without a unit of the session's company, by SKU, whether a rule contradicts them or not."""
    return [
        HeldValue(holder.sku_id, holder.sku_code, found)
        for holder in unitless.holders(conn)
        for found in unitless_values(holder.entries, holder.components or [], rules)
    ]


def judge(merged: Table, rules: RuleSet) -> list[RowIssue]:
    """Return a fault for each value of the rows that is stored without a unit and contradicts its status.

    `merged` has the rows as they would be stored. A value that the write itself sends has its unit by now.
    """
    names: list[str] = [name for name in SUBSTANCES if name in merged]
    issues: list[RowIssue] = []
    for row, graph, *texts in merged.rows(("row", "components", *names)):
        if not any('"value"' in text for text in (graph, *texts) if text):
            continue
        entries = {name: orjson.loads(text) for name, text in zip(names, texts, strict=True) if text}
        values = unitless_values(entries, orjson.loads(graph) if graph else [], rules)
        issues += [RowIssue(row, _fault(found, found.implied)) for found in values if found.implied]
    return issues


def _fault(found: UnitlessValue, implied: str) -> Issue:
    whole = found.component_type is None
    sentence = Message(
        "The stored value {value} of {substance} has no unit and is read in the unit of its limit, {unit}: it means "
        "{implied}, but the stored status says {status}. Send the entry again with the unit that was meant, or with "
        "the status that the value implies.",
        value=f"{found.value:g}",
        substance=found.substance if whole else f"{found.substance} ({found.component_type})",
        unit=found.unit,
        implied=implied,
        status=found.status,
    )
    field = f"substances.{found.substance}.status" if whole else "components"
    return Issue("substance_status_contradicts_value", sentence, field)
