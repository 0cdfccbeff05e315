"""Grades many SKUs in arrays: the same answers as `grade_rows`, for a fortieth of the time (decision 0002).

Weights apart, a SKU is a row of small numbers. The kernel says once what each part, face, outcome and alternative
means (`tables`); the arrays add up weights and try alternatives. No rule is written here.

    parts.py      steps 1 and 2: rows as numbers, and what the kernel says of a part
    tables.py     what the kernel says of a part in a stream, and of its open facts
    steps.py      steps 4 to 8, one function a step
    regrade.py    which answers another rule-set changes
"""

from collections.abc import Sequence
from typing import Final

from compliance.grading.rows import Answer, Inputs, grade_rows, regrade_rows
from compliance.rule_rows import RuleSet

FEW: Final = 25
"""Fewer rows than this are graded sooner by the kernel: a block costs some milliseconds whatever its size."""
BLOCK: Final = 5_000
"""Rows that are graded together: larger arrays fall out of the processor's caches, smaller ones cost more calls."""


def grade_many(rows: Sequence[Inputs], rules: RuleSet) -> list[Answer]:
    """Return grade, score and provisional of each row of `GRADED_INPUTS`, as `grade_rows` does."""
    if len(rows) < FEW:
        return grade_rows(rows, rules)
    from compliance.grading.many.regrade import grade_block  # noqa: PLC0415  (a process that grades few loads no arrays)

    blocks = (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))
    return [answer for block in blocks for answer in grade_block(block, rules)]


def regrade_many(
    rows: Sequence[Inputs], stored: Sequence[Answer], graded_by: Sequence[RuleSet | None], rules: RuleSet
) -> list[Answer | None]:
    """Return each row's new answer where it or its trace differs from the stored one, as `regrade_rows` does."""
    if len(rows) < FEW:
        return regrade_rows(rows, stored, graded_by, rules)
    from compliance.grading.many.regrade import regrade_block  # noqa: PLC0415  (see above)

    blocks = [slice(start, start + BLOCK) for start in range(0, len(rows), BLOCK)]
    answers = (regrade_block(rows[block], stored[block], graded_by[block], rules) for block in blocks)
    return [answer for block in answers for answer in block]
