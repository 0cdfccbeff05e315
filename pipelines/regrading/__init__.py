"""Regrades every stored SKU by the active rule-set, block by block in the order of their codes.

    progress.py   requests and their progress: one row of `regrades` for each company
    block.py      which SKUs of a block change, and their new grades
    work.py       the blocks of a company one after the other

Only SKUs whose grade or trace changed are written, each as a new version with its entry in the ledger.
"""

from pipelines.regrading.work import Services, go_on, wait_for_older_writers, wait_once
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
    "go_on",
    "open_regrades",
    "request",
    "request_lacking",
    "total",
    "wait_for_older_writers",
    "wait_once",
]
