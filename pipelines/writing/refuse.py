"""Refuses records that the law forbids, as the write would store them: today PFAS in food contact packaging.

The rule itself is in `compliance.substances`; this module selects the rows that could break it.
"""

from datetime import date
from typing import Final

import orjson

from compliance.catalogue import eu_codes
from compliance.ruleset import RuleSet
from compliance.substances import pfas_food_contact_prohibited
from pipelines.writing.patch import RowIssue, array_values
from schemas.issues import Issue
from warehouse.skus.columns import Table

_READ: Final = ("row", "food_contact", "markets", "pfas", "components")


def refuse(merged: Table, rules: RuleSet, on: date) -> list[RowIssue]:
    """Return an issue for each row that Article 5(5) of Regulation (EU) 2025/40 forbids on that UTC day."""
    issues: list[RowIssue] = []
    for row, food_contact, markets, pfas, graph in merged.rows(_READ):
        if not food_contact or not (pfas or (graph and '"pfas"' in graph)):
            continue
        lines = orjson.loads(graph) if graph else []
        sentence = pfas_food_contact_prohibited(
            food_contact=True,
            markets=array_values(markets),
            pfas=[orjson.loads(pfas) if pfas else None, *(line.get("substances", {}).get("pfas") for line in lines)],
            on=on,
            eu_codes=eu_codes(),
            rules=rules,
        )
        if sentence:
            issues.append(RowIssue(row, Issue("pfas_food_contact_prohibited", sentence, "substances.pfas")))
    return issues
