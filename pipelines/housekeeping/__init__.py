"""Removes data that nobody needs any more, and enters what falls due, company by company.

    orphans.py    objects that no row names
    expired.py    answers older than a day, tokens and counts that have ended, addresses after 12 months
    exports.py    exports of portfolios a week after they ended
    docs.py       enters DoCs whose last day has passed in the ledger

Each function can be stopped between two pieces and begun again; what it did stays. Schedules decide when they
run (`pipelines.defs.housekeeping`).
"""

from pipelines.housekeeping.docs import enter_expiries
from pipelines.housekeeping.expired import forget_addresses, remove_expired_access, remove_old_answers
from pipelines.housekeeping.exports import remove_expired_exports
from pipelines.housekeeping.orphans import Swept, remove_orphans
from pipelines.housekeeping.proceed import Proceed

__all__ = [
    "Proceed",
    "Swept",
    "enter_expiries",
    "forget_addresses",
    "remove_expired_access",
    "remove_expired_exports",
    "remove_old_answers",
    "remove_orphans",
]
