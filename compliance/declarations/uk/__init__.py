"""The packaging data file of the United Kingdom (Report Packaging Data; rollup.md, section 8).

    producer.py     what the producer states, and the period of a submission
    lines.py        what each part of the portfolio is in the file; subtypes.py and ratings.py fill two cells of it
    rows.py         the file's rows
    rules.py        the regulator's error codes: of a finished row, and of a value that a cell might hold
    conditions.py   how a condition of `errors.csv` is read
    tables.py       the code lists, `rules/uk_packaging_data/`

What may stand in a row is data: rows of `errors.csv` and `types.csv` (docs/decisions/0042).
"""
