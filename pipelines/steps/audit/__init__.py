"""The audit ledger as it is read, verified and anonymised; how entries come into it is `pipelines.steps.ledger`."""

from pipelines.steps.audit.anonymise import anonymise
from pipelines.steps.audit.verify import Verdict, verify

__all__ = ["Verdict", "anonymise", "verify"]
