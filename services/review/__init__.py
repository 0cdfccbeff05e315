"""Runs the review queue: files entries, shows what each would change, and carries out a person's decision.

    entries.py    files and loads entries
    proposed.py   builds the record that an entry would write
    compare.py    compares it with the stored record, field by field, with the grades
    decide.py     accepts and rejects: write, state and ledger in one transaction
    issuing.py    issues the declaration of conformity of an accepted draft
    files.py      stores files that wait with an entry, and records them when it is accepted

The queue's rows and pages are `warehouse.review`.

Nothing that is filed changes a record until a person accepts it. `api` and `connector` decide who may file and who
may decide.
"""

from services.review.compare import Comparison, compare
from services.review.decide import accept, reject
from services.review.entries import file, load_entry
from services.review.proposed import Conflict
from warehouse.review.entries import Entry

__all__ = [
    "Comparison",
    "Conflict",
    "Entry",
    "accept",
    "compare",
    "file",
    "load_entry",
    "reject",
]
