"""Refusals by law, on the record that the write would leave: today one, PFAS in food contact packaging.

The rule itself is `compliance.substances`; here only the rows that could break it are asked.
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

_ASKED: Final = ("row", "food_contact", "markets", "pfas", "components")


def refuse(merged: Table, rules: RuleSet, on: date) -> list[RowIssue]:
    """The rows that Article 5(5) of Regulation (EU) 2025/40 forbids on that UTC day, each with its issue."""
    issues: list[RowIssue] = []
    for row, food_contact, markets, pfas, graph in merged.rows(_ASKED):
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
