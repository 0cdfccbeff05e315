"""Grades many SKUs in arrays: the same answers as `grade_rows`, for a fortieth of the time (decision 0002).

Weights apart, a SKU is a row of small numbers. The kernel says once what each part, face, outcome and alternative
means (`tables`); the arrays add up weights and try alternatives. No rule is written here.
"""
