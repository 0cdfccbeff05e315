"""The audit ledger: the modules of `api` about it."""
