"""Packaging data file of the United Kingdom (Report Packaging Data; rollup.md, section 8).

    producer.py     the producer's statements, and the period of a submission
    lines.py        the cells of each part of the portfolio; subtypes.py and ratings.py fill two of them
    rows.py         the file's rows
    rules.py        the regulator's error codes: of a finished row, and of a value that a cell might have
    conditions.py   parser of the conditions in `errors.csv`
    tables.py       the code lists, `rules/uk_packaging_data/`

The allowed values of a row are data: rows of `errors.csv` and `types.csv` (docs/decisions/0042).
"""
