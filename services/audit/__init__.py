"""Reads and verifies the audit ledger; `warehouse.audit.ledger` adds its entries."""

from services.audit.verify import Verdict, verify

__all__ = ["Verdict", "verify"]
