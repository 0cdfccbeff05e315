"""Grades stored rows: calls the same kernel once for each distinct input and caches the grade.

A grade is cached for long, because a file repeats its inputs; its assessment is cached briefly, because a write that
grades one SKU explains it right after. `GRADED_INPUTS` lists the columns that are read; no rule is here.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, TypeAlias

import orjson

from compliance.grading.assessment import assess
from compliance.grading.components import Record
from compliance.grading.languages import in_language
from compliance.grading.open_facts import open_facts
from compliance.grading.provisional import Judgement, judge
from compliance.grading.score import stored
from compliance.grading.telling import told
from compliance.grading.trace import traced, traced_but_open
from compliance.ruleset import RuleSet
from schemas.messages import ORIGINAL

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

Answer: TypeAlias = tuple[str, float | None, bool]

_IDS: Final = re.compile(r'"id": ?"[^"]*",?')
_NO_GRAPH: Final = (None, "[]")


def grade_rows(rows: Iterable[tuple[Any, ...]], rules: RuleSet) -> list[Answer]:
    """Return grade, score and provisional of each row of `GRADED_INPUTS`.

    `use_contexts` is Postgres array text such as `{food,takeaway}`, `svhc` and `components` are JSON text; null where
    there is none.
    """
    return [_graded(_deciding(row), rules) for row in rows]


def regrade_rows(
    rows: Iterable[tuple[Any, ...]], held: Iterable[Answer], graded_by: Iterable[RuleSet | None], rules: RuleSet
) -> list[Answer | None]:
    """Return each row's new answer where it or the trace differs from the stored one; None where nothing changes.

    `graded_by` are the rule-sets of the stored answers; None where a rule-set no longer exists, so that its trace
    cannot be computed and the row counts as changed.
    """
    return [
        _regraded(_deciding(row), answer, was, rules) for row, answer, was in zip(rows, held, graded_by, strict=True)
    ]


def _deciding(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what decides of a row: with a graph its weights count, without one only whether the body has weight."""
    *others, weight, contexts, svhc, graph = row
    if graph in _NO_GRAPH:
        return (*others, weight if weight is None else float(weight > 0), contexts, svhc, None)
    return (*others, None, contexts, svhc, _IDS.sub("", graph))


def explain_row(
    row: tuple[Any, ...], record: Record, rules: RuleSet, *, day: RuleSet, lang: str = ORIGINAL
) -> dict[str, object]:
    """Return the `grade_trace` of a row of `GRADED_INPUTS` by the rule-set that graded it, in one of `LANGUAGES`.

    `record` is the same row, which supplies the lines' ids; `day` is the rule-set of the day, which supplies the
    questions.
    """
    return in_language(traced(_judged(_deciding(row), rules), record, rules, day), (rules, day), lang)


@lru_cache(maxsize=32_768)
def _regraded(row: tuple[Any, ...], held: Answer, was: RuleSet | None, rules: RuleSet) -> Answer | None:
    answer = _graded(row, rules)
    if answer != held or was is None:
        return answer
    return None if was is rules or _says_the_same(row, was, rules) else answer


def _says_the_same(row: tuple[Any, ...], was: RuleSet, rules: RuleSet) -> bool:
    """Return whether the traces by two rule-sets differ only in the version; for most a first comparison decides."""
    record, now = record_of(row), _judged(row, rules)
    then = assess(record, was)
    if told(then, was) != told(now.assessment, rules):
        before, after = (traced_but_open(_judged(row, each), record, each, rules) for each in (was, rules))
        if {**before, "ruleset_version": None} != {**after, "ruleset_version": None}:
            return False
    return not now.provisional or open_facts(record, then, was) == open_facts(record, now.assessment, rules)


@lru_cache(maxsize=32_768)
def _graded(row: tuple[Any, ...], rules: RuleSet) -> Answer:
    judged = _judged(row, rules)
    return judged.assessment.result.grade, stored(judged.assessment.result.score), judged.provisional


@lru_cache(maxsize=64)
def _judged(row: tuple[Any, ...], rules: RuleSet) -> Judgement:
    return judge(record_of(row), rules)


def record_of(row: tuple[Any, ...]) -> Record:
    """Return the graded record of a row of `GRADED_INPUTS`."""
    record = dict(zip(GRADED_INPUTS, row, strict=True))
    contexts, svhc, components = record["use_contexts"], record["svhc"], record["components"]
    record["use_contexts"] = contexts.strip("{}").split(",") if contexts else ()
    record["svhc"] = orjson.loads(svhc) if svhc else None
    record["components"] = orjson.loads(components) if components else ()
    return record
