"""The audit ledger as it is read and verified; how entries come into it is `warehouse.audit.ledger`."""

from services.audit.verify import Verdict, verify

__all__ = ["Verdict", "verify"]
