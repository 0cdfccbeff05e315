"""Grades many SKUs in arrays: the same answers as `grade_rows`, for a fortieth of the time (decision 0002).

Weights apart, a SKU is a row of small numbers. The kernel says once what each part, face, outcome and alternative
means (`tables`); the arrays add up weights and try alternatives. No rule is written here.
"""

from compliance.grading.many.codes import MISSING
from compliance.grading.many.columns import COMPONENT_COLUMNS, SKU_COLUMNS, columns_of
from compliance.grading.many.grade import grade_columns
from compliance.grading.many.kernel import GRADED
from compliance.grading.many.regrade import regrade_block

__all__ = [
    "COMPONENT_COLUMNS",
    "GRADED",
    "MISSING",
    "SKU_COLUMNS",
    "columns_of",
    "grade_columns",
    "regrade_block",
]
