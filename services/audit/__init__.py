"""The audit ledger as it is read, verified and anonymised; how entries come into it is `pipelines.writing.ledger`."""

from pipelines.housekeeping.anonymise import anonymise
from services.audit.verify import Verdict, verify

__all__ = ["Verdict", "anonymise", "verify"]
