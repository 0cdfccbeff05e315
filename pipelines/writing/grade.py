"""Grading as a step of a write: the derived columns of the rows that change, by the active rule-set.

How a grade comes about is `compliance.grading`; nothing here decides anything.
"""

from typing import Final

from compliance.grading import GRADED_INPUTS, grade_rows
from compliance.ruleset import RuleSet
from pipelines.writing.components import total_weight_g
from warehouse.skus.columns import Column, Table

_GRADED: Final = ("recyclability_grade", "recyclability_score", "grade_provisional")


def grade(merged: Table, rules: RuleSet) -> Table:
    """The merged rows with their derived columns computed anew; unchanged rows keep what is stored."""
    changed = [outcome != "unchanged" for outcome in merged["outcome"]]
    if not any(changed):
        return merged
    asked = merged.where(changed)
    graded = zip(*grade_rows(asked.rows(GRADED_INPUTS), rules), strict=True)
    computed = {
        **{name: list(values) for name, values in zip(_GRADED, graded, strict=True)},
        "components_weight_g": [total_weight_g(graph) for graph in asked["components"]],
        "ruleset_version": [rules.version] * len(asked),
    }
    if asked is merged:
        return merged.with_columns(computed)
    return merged.with_columns({name: _filled(merged[name], changed, values) for name, values in computed.items()})


def _filled(held: Column, changed: list[bool], computed: Column) -> Column:
    """The column with the computed values, in their order, where the row changed."""
    new = iter(computed)
    return [next(new) if is_changed else old for old, is_changed in zip(held, changed, strict=True)]
