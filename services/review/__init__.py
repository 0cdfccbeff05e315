"""The review queue: what was filed for a person to decide, what it would change, and the decision.

    entries.py    filing an entry, once however often it is repeated, and finding one
    proposed.py   the record that an entry would write, out of what it says and what is held
    compare.py    now and then, field by field, with the grade before and after
    decide.py     accepting and rejecting: the write, the entry's state and the ledger in one transaction
    issuing.py    a draft that is accepted becomes the declaration of conformity
    files.py      files that wait with an entry, and become technical files with its acceptance

The queue's rows and pages are `warehouse.review`.

Nothing that is filed changes a record until a person accepts it. Who may file and who may decide is the doors'.
"""

from services.review.compare import Comparison, compare
from services.review.decide import accept, reject
from services.review.entries import EntryUnknown, entry, file
from services.review.issuing import Incomplete
from services.review.proposed import Conflict
from warehouse.review.entries import Entry

__all__ = [
    "Comparison",
    "Conflict",
    "Entry",
    "EntryUnknown",
    "Incomplete",
    "accept",
    "compare",
    "entry",
    "file",
    "reject",
]
