"""Regrades every stored SKU by the active rule-set, block by block in the order of their codes.

    block.py      which SKUs of a block change, and their new grades
    work.py       the blocks of a company one after the other

`warehouse.rulesets.regrades` stores requests and their progress, one row for each company. Only SKUs whose grade or
trace changed are written, each as a new version with its entry in the ledger.
"""

from pipelines.regrading.work import Services, regrade_company, wait_for_older_writers, wait_once
from warehouse.rulesets.regrades import (
    EXAMPLES,
    Asked,
    Regraded,
    Totals,
    asked_of,
    open_regrades,
    request,
    request_lacking,
    total,
)

__all__ = [
    "EXAMPLES",
    "Asked",
    "Regraded",
    "Services",
    "Totals",
    "asked_of",
    "open_regrades",
    "regrade_company",
    "request",
    "request_lacking",
    "total",
    "wait_for_older_writers",
    "wait_once",
]
