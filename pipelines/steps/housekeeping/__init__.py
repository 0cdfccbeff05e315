"""Keeping the house: what nobody needs any more is found and removed, company by company.

    orphans.py    objects that no row names
    expired.py    answers older than a day, tokens and counts that have ended

Each function can be stopped between two pieces and begun again; what it did stays. Anonymising addresses is the
ledger's own (`pipelines.steps.audit`), and when all this happens is the schedules' (`pipelines.schedules`).
"""

from pipelines.steps.housekeeping.companies import Proceed, every_company
from pipelines.steps.housekeeping.expired import remove_expired_access, remove_old_answers
from pipelines.steps.housekeeping.orphans import Swept, remove_orphans

__all__ = ["Proceed", "Swept", "every_company", "remove_expired_access", "remove_old_answers", "remove_orphans"]
