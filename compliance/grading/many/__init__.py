"""Grades many SKUs in arrays: the same answers as `grade_rows`, for a fortieth of the time (decision 0002).

Weights apart, a SKU is a row of small numbers. The kernel says once what each part, face, outcome and alternative
means (`tables`); the arrays add up weights and try alternatives. No rule is written here.

    parts.py      steps 1 and 2: rows as numbers, and what the kernel says of a part
    tables.py     what the kernel says of a part in a stream, and of its open facts
    steps.py      steps 4 to 8, one function a step
    regrade.py    which answers another rule-set changes
"""
