"""Grades the rows that a write changes, by the active rule-set. `compliance.grading` decides the grades."""

from typing import Final

from compliance.grading import GRADED_INPUTS, grade_many
from compliance.ruleset import RuleSet
from pipelines.writing.components import total_weight_g
from warehouse.skus.columns import Column, Table

_GRADED: Final = ("recyclability_grade", "recyclability_score", "grade_provisional")


def grade(merged: Table, rules: RuleSet) -> Table:
    """Return the merged rows with their derived columns computed again; unchanged rows keep the stored ones."""
    changed = [outcome != "unchanged" for outcome in merged["outcome"]]
    if not any(changed):
        return merged
    to_grade = merged.where(changed)
    graded = zip(*grade_many(list(to_grade.rows(GRADED_INPUTS)), rules), strict=True)
    computed = {
        **{name: list(values) for name, values in zip(_GRADED, graded, strict=True)},
        "components_weight_g": [total_weight_g(graph) for graph in to_grade["components"]],
        "ruleset_version": [rules.version] * len(to_grade),
    }
    if to_grade is merged:
        return merged.with_columns(computed)
    return merged.with_columns({name: _filled(merged[name], changed, values) for name, values in computed.items()})


def _filled(stored: Column, changed: list[bool], computed: Column) -> Column:
    """Return the column with the computed values, in their order, where the row changed."""
    new = iter(computed)
    return [next(new) if is_changed else old for old, is_changed in zip(stored, changed, strict=True)]
