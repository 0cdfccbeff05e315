"""Grading as a step of a write: the derived columns of the rows that change, by the active rule-set.

How a grade comes about is `compliance.grading`; nothing here decides anything.
"""

import polars as pl

from compliance.grading import grade_frame
from compliance.ruleset import RuleSet
from pipelines.steps.components import total_weight_g

_GRADED = ("material", "material_subtype", "weight_grams", "packaging_format", "packaging_level", "use_contexts",
           "svhc", "components")  # fmt: skip


def grade(merged: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """The merged rows with their derived columns computed anew; unchanged rows keep what is stored.

    Row order is kept.
    """
    unchanged = merged["outcome"] == "unchanged"
    if unchanged.all():
        return merged
    changed = merged.filter(~unchanged) if unchanged.any() else merged
    weights = [total_weight_g(graph) for graph in changed["components"]]
    graded = changed.with_columns(
        *grade_frame(changed.select(_GRADED), rules).get_columns(),
        pl.Series("components_weight_g", weights, pl.Float64),
        pl.lit(rules.version).alias("ruleset_version"),
    )
    return pl.concat([merged.filter(unchanged), graded]).sort("row") if unchanged.any() else graded
