"""Computes what a write leaves of the previous grade: the grade that the rule-set before gave to a regraded record.

A record has a previous grade as long as the facts that grading reads do not change: the rule-set before never graded
the changed facts. `warehouse.skus.detail` finds it among the versions of the SKU; `pipelines.writing.present` shows it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from compliance.grading import GRADED_INPUTS
from compliance.ruleset import RuleSet
from warehouse.skus.columns import Column
from warehouse.skus.detail import GRADED_BEFORE

_GRADE: Final = ("ruleset_version", "recyclability_grade", "recyclability_score")


def after_write(
    before: Mapping[str, Column], after: Mapping[str, Column], outcomes: Sequence[str], rules: RuleSet
) -> list[str | None]:
    """Return the column after a write that changes rows from `before` to `after` and grades them by `rules`."""
    same = [True] * len(outcomes)
    for name in GRADED_INPUTS:
        if after[name] is not before[name]:
            same = [so_far and new == old for so_far, new, old in zip(same, after[name], before[name], strict=True)]
    return [
        stored if outcome == "unchanged" else _after_change(stored, grade, rules) if stays else None
        for outcome, stays, stored, *grade in zip(
            outcomes, same, before[GRADED_BEFORE], *(before[n] for n in _GRADE), strict=True
        )
    ]


def _after_change(stored: str | None, graded: Sequence[object], rules: RuleSet) -> str | None:
    """Return the previous grade of a row with the same facts: its own if another rule-set gave it, else the stored."""
    version, grade, score = graded
    if version in (None, rules.version):
        return stored
    return orjson.dumps({"ruleset_version": version, "grade": grade, "score": score}).decode()
