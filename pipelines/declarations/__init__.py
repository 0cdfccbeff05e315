"""A declaration from a company's snapshot: what is declared, and the files that hold it.

    declare.py      the figures of one market and period, as a document or as the UK file
    explain.py      what one figure is the sum of, down to the uploaded lines
    proposed.py     ratings that a scheme would give, for a person to check
    statements.py   the producer's own CSV files: ratings and drinks containers
    forms.py        each form as bytes: JSON, CSV, the UK file, and what stands beside them
    files.py        bytes into files, all of them or none

What a declaration says is `compliance.declarations` and docs/declarations.md.
"""
