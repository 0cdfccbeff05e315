"""Packaging data file of the United Kingdom (Report Packaging Data; rollup.md, section 8).

    rules.py      the code lists, `rules/uk_packaging_data/`; the regulator's error codes: of a finished row, and of a
                  value that a cell might have; parser of the conditions in `errors.csv`
    rows.py       the producer's statements and the period of a submission; the cells of each part; the file's rows

The allowed values of a row are data: rows of `errors.csv` and `types.csv` (docs/decisions/0042).
"""
