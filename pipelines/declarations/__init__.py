"""Makes a declaration from a company's snapshot, and the files that contain it.

    declare.py      the figures of one market and period, as a document or as the UK file
    latest.py       sums of each market's latest year, as runs show them
    explain.py      the SKUs behind one figure, down to the uploaded lines
    proposed.py     ratings that a scheme would give, for a person to check
    statements.py   the producer's own CSV files: ratings and drinks containers
    forms.py        each form as bytes: JSON, CSV, the UK file, and the files beside them
    files.py        writes bytes to files, all of them or none

`compliance.declarations` and docs/declarations.md define the content of a declaration.
"""
