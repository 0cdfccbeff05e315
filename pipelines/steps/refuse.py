"""Refusals by law, on the record that the write would leave: today one, PFAS in food contact packaging.

The rule itself is `compliance.substances`; here only the rows that could break it are asked.
"""

from datetime import date

import orjson
import polars as pl

from compliance.catalogue import eu_codes
from compliance.ruleset import RuleSet
from compliance.substances import pfas_food_contact_prohibited
from pipelines.steps.patch import RowIssue, array_values
from schemas.issues import Issue


def refuse(merged: pl.DataFrame, rules: RuleSet, on: date) -> list[RowIssue]:
    """The rows that Article 5(5) of Regulation (EU) 2025/40 forbids on that UTC day, each with its issue."""
    declared = pl.any_horizontal(
        pl.col("pfas").is_not_null(), pl.col("components").str.contains('"pfas"', literal=True)
    )
    suspects = merged.filter(pl.col("food_contact") & declared)
    issues: list[RowIssue] = []
    for row, markets, pfas, graph in suspects.select("row", "markets", "pfas", "components").iter_rows():
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
