"""Grades rows by the quicker of two ways with the same answers: few by the kernel, many in arrays.

NumPy is loaded by the first process that grades many.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from compliance.grading.rows import Answer, Inputs, grade_rows, regrade_rows
from compliance.ruleset import RuleSet

FEW: Final = 25
"""Fewer rows than this are graded sooner by the kernel: a block costs some milliseconds whatever its size."""
BLOCK: Final = 5_000
"""Rows that are graded together: larger arrays fall out of the processor's caches, smaller ones cost more calls."""


def grade_many(rows: Sequence[Inputs], rules: RuleSet) -> list[Answer]:
    """Return grade, score and provisional of each row of `GRADED_INPUTS`, as `grade_rows` does."""
    if len(rows) < FEW:
        return grade_rows(rows, rules)
    from compliance.grading.many import columns_of, grade_columns  # noqa: PLC0415  (see above)

    answers: list[Answer] = []
    for start in range(0, len(rows), BLOCK):
        graded = grade_columns(*columns_of(islice(rows, start, start + BLOCK)), rules)
        answers += graded.select("grade", "score", "provisional").rows()
    return answers


def regrade_many(
    rows: Sequence[Inputs], stored: Sequence[Answer], graded_by: Sequence[RuleSet | None], rules: RuleSet
) -> list[Answer | None]:
    """Return each row's new answer where it or its trace differs from the stored one, as `regrade_rows` does."""
    if len(rows) < FEW:
        return regrade_rows(rows, stored, graded_by, rules)
    from compliance.grading.many import regrade_block  # noqa: PLC0415  (see above)

    blocks = [slice(start, start + BLOCK) for start in range(0, len(rows), BLOCK)]
    answers = (regrade_block(rows[block], stored[block], graded_by[block], rules) for block in blocks)
    return [answer for block in answers for answer in block]
