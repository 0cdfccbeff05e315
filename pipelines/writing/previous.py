"""What the rule-set before gave for a record that was regraded: found in its versions, and kept over later writes.

It is there while the facts that a grade reads stay as they were: a write that changes one of them is a record that the
rule-set before never saw. Nothing is stored for it: the versions of a SKU hold it already.

What belongs here: what a write leaves of it. What does not: which earlier version it is (`warehouse.skus.detail`), and
how it is shown (`pipelines.writing.present`).
"""

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from compliance.grading import GRADED_INPUTS
from compliance.ruleset import RuleSet
from warehouse.skus.columns import Column
from warehouse.skus.detail import GRADED_BEFORE

_ANSWER: Final = ("ruleset_version", "recyclability_grade", "recyclability_score")


def after_write(
    before: Mapping[str, Column], after: Mapping[str, Column], outcomes: Sequence[str], rules: RuleSet
) -> list[str | None]:
    """The column as it is after the write of rows that were held as `before` and are as `after`, graded by `rules`."""
    same = [True] * len(outcomes)
    for name in GRADED_INPUTS:
        if after[name] is not before[name]:
            same = [so_far and new == old for so_far, new, old in zip(same, after[name], before[name], strict=True)]
    return [
        held if outcome == "unchanged" else _after_change(held, answer, rules) if stays else None
        for outcome, stays, held, *answer in zip(
            outcomes, same, before[GRADED_BEFORE], *(before[n] for n in _ANSWER), strict=True
        )
    ]


def _after_change(held: str | None, answer: Sequence[object], rules: RuleSet) -> str | None:
    """Of a row whose facts stay: its answer so far where another rule-set gave it, else what was before that."""
    version, grade, score = answer
    if version in (None, rules.version):
        return held
    return orjson.dumps({"ruleset_version": version, "grade": grade, "score": score}).decode()
