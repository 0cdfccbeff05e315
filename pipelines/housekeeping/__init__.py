"""Keeping the house: what nobody needs any more is removed, and what its day brings is entered, company by company.

    orphans.py    objects that no row names
    outputs.py    what assets handed on, once its run is old
    expired.py    answers older than a day, tokens and counts that have ended
    addresses.py  where requests came from, after 12 months
    docs.py       DoCs whose last day has passed, into the ledger

Each function can be stopped between two pieces and begun again; what it did stays. When all this happens is the
schedules' (`pipelines.defs.housekeeping`).
"""

from pipelines.housekeeping.addresses import forget_addresses
from pipelines.housekeeping.docs import enter_expiries
from pipelines.housekeeping.expired import remove_expired_access, remove_old_answers
from pipelines.housekeeping.orphans import Swept, remove_orphans
from pipelines.housekeeping.outputs import remove_old_outputs
from pipelines.housekeeping.proceed import Proceed

__all__ = [
    "Proceed",
    "Swept",
    "enter_expiries",
    "forget_addresses",
    "remove_expired_access",
    "remove_old_answers",
    "remove_old_outputs",
    "remove_orphans",
]
