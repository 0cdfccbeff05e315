"""Packaging data file of the United Kingdom (Report Packaging Data; rollup.md, section 8).

    producer.py   the producer's statements, and the period of a submission
    rows.py       the cells of each part of the portfolio; producer.py and producer.py fill two of them; the file's rows
    rules.py      the regulator's error codes: of a finished row, and of a value that a cell might have; parser of the
                  conditions in `errors.csv`
    tables.py     the code lists, `rules/uk_packaging_data/`

The allowed values of a row are data: rows of `errors.csv` and `types.csv` (docs/decisions/0042).
"""
