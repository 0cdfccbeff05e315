"""Grades the recyclability of a record, with the facts that the grade rests on and warnings for the caller.

One implementation grades one SKU and a million (docs/decisions/0002-grading-kernel-in-plain-python.md). The modules
here follow the algorithm step by step; `docs/grading.md` explains how to check a doubtful grade.
"""

from dataclasses import dataclass

from compliance.grading.assessment import rounded_score
from compliance.grading.provisional import judge
from compliance.grading.rows import (
    GRADED_INPUTS,
    Answer,
    Inputs,
    explain_row,
    grade_many,
    grade_rows,
    judged_rows,
    record_of,
    regrade_many,
    regrade_rows,
)
from compliance.grading.trace import explain, translated_text, warnings
from compliance.ruleset import RuleSet
from schemas.skus.types import Sku

__all__ = [
    "GRADED_INPUTS",
    "Answer",
    "Grade",
    "Inputs",
    "explain",
    "explain_row",
    "grade",
    "grade_many",
    "grade_rows",
    "judged_rows",
    "record_of",
    "regrade_many",
    "regrade_rows",
    "translated_text",
    "warnings",
]


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of one SKU: A, B, C, not_recyclable or not_assessed; `score` is 0 to 100, None if not assessed.

    It is indicative until the delegated acts under Article 6(4) of Regulation (EU) 2025/40 (due 1 January 2028) apply.
    """

    grade: str
    score: float | None
    provisional: bool
    ruleset_version: str


def grade(record: Sku, rules: RuleSet) -> Grade:
    """Return the grade of a stored SKU; never fail on a record that the contract accepts."""
    assessed, provisional = judge(record, rules)
    return Grade(assessed.result.grade, rounded_score(assessed.result.score), provisional, rules.version)
