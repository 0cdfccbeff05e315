"""Refuses records that the law forbids, as the write would store them: today PFAS in food contact packaging.

The rule itself is in `compliance.substances`; this module selects the rows that could break it, and those whose units a
write only lowers or clears, which no law refuses (decisions §13).
"""

from collections.abc import Collection
from datetime import date
from typing import Final

import orjson

from compliance.ruleset import RuleSet
from compliance.substances import pfas_food_contact_prohibited
from pipelines.writing import volumes
from pipelines.writing.patch import Patch, RowIssue, array_values
from schemas.issues import Issue
from warehouse.skus.columns import Table
from warehouse.skus.tables import VALUE_COLUMNS

_READ: Final = ("row", "food_contact", "markets", "volumes", "pfas", "components")


def refuse(merged: Table, rules: RuleSet, on: date) -> list[RowIssue]:
    """Return an issue for each row that Article 5(5) of Regulation (EU) 2025/40 forbids on that UTC day."""
    issues: list[RowIssue] = []
    for row, food_contact, markets, units, pfas, graph in merged.rows(_READ):
        if not food_contact or not (pfas or (graph and '"pfas"' in graph)):
            continue
        sentence = pfas_food_contact_prohibited(
            {
                "food_contact": True,
                "markets": array_values(markets),
                "volumes": volumes.published(units),
                "pfas": orjson.loads(pfas) if pfas else None,
                "components": orjson.loads(graph) if graph else [],
            },
            on=on,
            rules=rules,
        )
        if sentence:
            issues.append(RowIssue(row, Issue("pfas_food_contact_prohibited", sentence, "substances.pfas")))
    return issues


def refuse_write(
    patch: Patch, merged: Table, stored: Table, rules: RuleSet, on: date, *, returning_codes: Collection[str]
) -> list[RowIssue]:
    """Return the same of a write, without the rows that change nothing but units, and raise none of them.

    `merged` has the rows of the patch, `stored` those that are stored, by code. A SKU that comes back from the archive
    by the write (`returning_codes`) is judged like any other.
    """
    issues = refuse(merged, rules, on)
    if not issues or "volumes" not in patch.values:
        return issues
    lowering = _rows_that_lower(patch, merged, stored.where([c not in returning_codes for c in stored["sku_code"]]))
    return [issue for issue in issues if issue.row not in lowering]


def _rows_that_lower(patch: Patch, merged: Table, stored: Table) -> set[int]:
    """Return the rows of stored SKUs that change units alone: some lower or cleared, none higher."""
    columns = [name for name in VALUE_COLUMNS if name in merged and name in stored and name != "volumes"]
    before = {row[0]: row[1:] for row in stored.rows(("sku_code", "volumes", *columns))}
    sent = dict(patch.values.rows(("row", "volumes")))
    found: set[int] = set()
    for row, code, *after in merged.rows(("row", "sku_code", *columns)):
        was = before.get(code)
        if was is not None and sent[row] is not None and tuple(after) == was[1:] and _only_lowers(was[0], sent[row]):
            found.add(row)
    return found


def _only_lowers(stored: str | None, sent: str) -> bool:
    """Return whether the units sent are lower or cleared in some row, and higher in none."""
    held = orjson.loads(stored or "{}")
    steps = [(held.get(key) or 0, units) for key, units in orjson.loads(sent).items()]
    return not any((units or 0) > before for before, units in steps) and any(
        units is None or units < before for before, units in steps
    )
