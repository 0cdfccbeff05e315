"""Grades stored rows: calls the same kernel once for each distinct input and caches the grade.

A grade is cached for long, because a file repeats its inputs; its assessment is cached briefly, because a write that
grades one SKU explains it right after. `GRADED_INPUTS` lists the columns that are read; no rule is here.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, TypeAlias

import orjson

from compliance.grading.assessment import assess
from compliance.grading.languages import in_language
from compliance.grading.open_facts import open_facts
from compliance.grading.provisional import Judgement, judge
from compliance.grading.score import rounded_score
from compliance.grading.telling import explanation
from compliance.grading.trace import build_trace, traced_but_open
from compliance.ruleset import RuleSet
from schemas.grading import GradeTrace
from schemas.messages import ORIGINAL
from schemas.sku import Sku

GRADED_INPUTS: Final = (
    "material",
    "material_subtype",
    "packaging_format",
    "packaging_level",
    "weight_grams",
    "use_contexts",
    "svhc",
    "components",
)
"""The columns of a stored SKU that a grade depends on, in the order of `grade_rows`."""

Inputs: TypeAlias = tuple[
    str | None, str | None, str | None, str | None, float | None, str | None, str | None, str | None
]
"""The values of `GRADED_INPUTS`."""
Answer: TypeAlias = tuple[str, float | None, bool]

_IDS: Final = re.compile(r'"id": ?"[^"]*",?')
_EMPTY_GRAPH: Final = "[]"


def grade_rows(rows: Iterable[Inputs], rules: RuleSet) -> list[Answer]:
    """Return grade, score and provisional of each row of `GRADED_INPUTS`.

    `use_contexts` is Postgres array text such as `{food,takeaway}`, `svhc` and `components` are JSON text; null where
    there is none.
    """
    return [_graded(deciding(row), rules) for row in rows]


def regrade_rows(
    rows: Iterable[Inputs], stored: Iterable[Answer], graded_by: Iterable[RuleSet | None], rules: RuleSet
) -> list[Answer | None]:
    """Return each row's new answer where it or the trace differs from the stored one; None where nothing changes.

    `graded_by` are the rule-sets of the stored answers; None where a rule-set no longer exists, so that its trace
    cannot be computed and the row counts as changed.
    """
    return [
        _regraded(deciding(row), answer, was, rules) for row, answer, was in zip(rows, stored, graded_by, strict=True)
    ]


def deciding(row: Inputs) -> Inputs:
    """Return what decides of a row: with a graph its weights count, without one only whether the body has weight."""
    material, subtype, form, level, weight, contexts, svhc, graph = row
    if graph is None or graph == _EMPTY_GRAPH:
        has_weight = weight if weight is None else float(weight > 0)
        return material, subtype, form, level, has_weight, contexts, svhc, None
    return material, subtype, form, level, None, contexts, svhc, _IDS.sub("", graph)


def explain_row(row: Inputs, record: Sku, rules: RuleSet, *, day: RuleSet, lang: str = ORIGINAL) -> GradeTrace:
    """Return the `grade_trace` of a row of `GRADED_INPUTS` by the rule-set that graded it, in one of `LANGUAGES`.

    `record` is the same row, which supplies the lines' ids; `day` is the rule-set of the day, which supplies the
    questions.
    """
    return in_language(build_trace(_judged(deciding(row), rules), record, rules, day), (rules, day), lang)


@lru_cache(maxsize=32_768)
def _regraded(row: Inputs, stored: Answer, was: RuleSet | None, rules: RuleSet) -> Answer | None:
    answer = _graded(row, rules)
    if answer != stored or was is None:
        return answer
    return None if was is rules or _says_the_same(row, was, rules) else answer


def _says_the_same(row: Inputs, was: RuleSet, rules: RuleSet) -> bool:
    """Return whether the traces by two rule-sets differ only in the version; for most a first comparison decides."""
    record, now = record_of(row), _judged(row, rules)
    then = assess(record, was)
    if explanation(then, was) != explanation(now.assessment, rules):
        before, after = (traced_but_open(_judged(row, each), record, each, rules) for each in (was, rules))
        if {**before, "ruleset_version": None} != {**after, "ruleset_version": None}:
            return False
    return not now.provisional or open_facts(record, then, was) == open_facts(record, now.assessment, rules)


@lru_cache(maxsize=32_768)
def _graded(row: Inputs, rules: RuleSet) -> Answer:
    judged = _judged(row, rules)
    return judged.assessment.result.grade, rounded_score(judged.assessment.result.score), judged.provisional


@lru_cache(maxsize=64)
def _judged(row: Inputs, rules: RuleSet) -> Judgement:
    return judge(record_of(row), rules)


def record_of(row: Inputs) -> Sku:
    """Return the graded record of a row of `GRADED_INPUTS`."""
    material, subtype, form, level, weight, contexts, svhc, components = row
    return {
        "material": material,
        "material_subtype": subtype,
        "packaging_format": form,
        "packaging_level": level,
        "weight_grams": weight,
        "use_contexts": contexts.strip("{}").split(",") if contexts else (),
        "svhc": orjson.loads(svhc) if svhc else None,
        "components": orjson.loads(components) if components else (),
    }
