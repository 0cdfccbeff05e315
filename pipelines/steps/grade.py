"""Grading as a step of a write: the derived columns of the rows that change, by the active rule-set.

How a grade comes about is `compliance.grading`; nothing here decides anything.
"""

from typing import Final

from compliance.grading import GRADED_INPUTS, grade_rows
from compliance.ruleset import RuleSet
from pipelines.steps.components import total_weight_g
from pipelines.steps.table import Table

_COMPUTED: Final = ("recyclability_grade", "recyclability_score", "grade_provisional", "components_weight_g",
                    "ruleset_version")  # fmt: skip


def grade(merged: Table, rules: RuleSet) -> Table:
    """The merged rows with their derived columns computed anew; unchanged rows keep what is stored."""
    changed = [at for at, outcome in enumerate(merged["outcome"]) if outcome != "unchanged"]
    if not changed:
        return merged
    asked = merged.take(changed) if len(changed) < len(merged) else merged
    grades = grade_rows(asked.rows(GRADED_INPUTS), rules)
    computed = {name: list(merged[name]) for name in _COMPUTED}
    for at, graded, graph in zip(changed, grades, asked["components"], strict=True):
        for name, value in zip(_COMPUTED, (*graded, total_weight_g(graph), rules.version), strict=True):
            computed[name][at] = value
    return merged.with_columns(computed)
