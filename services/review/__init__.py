"""Runs the review queue: files entries, shows what each would change, and carries out a person's decision.

    entries.py   files and loads entries; stores files that wait with an entry, and records them when it is accepted
    compare.py   builds the record that an entry would write; compares it with the stored record, field by field, with
                 the grades
    decide.py    accepts and rejects: write, state and ledger in one transaction

The queue's rows and pages are `warehouse.review`.

Nothing that is filed changes a record until a person accepts it. `api` and `connector` decide who may file and who
may decide.
"""
