"""What the rule-set before gave for a record that was regraded: found in its versions, and kept over later writes.

It is there while the facts that a grade reads stay as they were: a write that changes one of them is a record that the
rule-set before never saw. Nothing is stored for it: the versions of a SKU hold it already.

What belongs here: which earlier version it is, and what a write leaves of it. What does not: how it is told
(`pipelines.writing.present`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from compliance.grading import GRADED_INPUTS
from compliance.ruleset import RuleSet
from warehouse.skus.tables import skus

COLUMN: Final = "graded_before"
"""How the rows of the write path and of a detail call it: JSON text of version, grade and score, or null."""

_ANSWER: Final = ("ruleset_version", "recyclability_grade", "recyclability_score")


def _facts(table: str) -> str:
    return ", ".join(f"{table}.{name}::text" if _is_json(name) else f"{table}.{name}" for name in GRADED_INPUTS)


def _is_json(name: str) -> bool:
    return str(skus.c[name].type) == "JSON"


_DIFFER: Final = f"({_facts('before')}) IS DISTINCT FROM ({_facts('skus')})"
SELECT: Final = f"""(
    SELECT CASE WHEN NOT ({_DIFFER}) THEN json_build_object(
        'ruleset_version', before.ruleset_version, 'grade', before.recyclability_grade,
        'score', before.recyclability_score)::text END
    FROM sku_versions AS before
    WHERE before.id = skus.id AND (before.ruleset_version <> skus.ruleset_version OR {_DIFFER})
    ORDER BY before.version DESC LIMIT 1)"""
"""Of a row of `skus`: the last version by another rule-set or of other facts, where its facts are the same."""


def after_write(
    before: Mapping[str, list[Any]], after: Mapping[str, list[Any]], outcomes: Sequence[str], rules: RuleSet
) -> list[str | None]:
    """The column as it is after the write of rows that were held as `before` and are as `after`, graded by `rules`."""
    same = [True] * len(outcomes)
    for name in GRADED_INPUTS:
        if after[name] is not before[name]:
            same = [so_far and new == old for so_far, new, old in zip(same, after[name], before[name], strict=True)]
    return [
        held if outcome == "unchanged" else _after_change(held, answer, rules) if stays else None
        for outcome, stays, held, *answer in zip(
            outcomes, same, before[COLUMN], *(before[n] for n in _ANSWER), strict=True
        )
    ]


def _after_change(held: str | None, answer: Sequence[Any], rules: RuleSet) -> str | None:
    """Of a row whose facts stay: its answer so far where another rule-set gave it, else what was before that."""
    version, grade, score = answer
    if version in (None, rules.version):
        return held
    return orjson.dumps({"ruleset_version": version, "grade": grade, "score": score}).decode()
