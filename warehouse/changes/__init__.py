"""The feed of a company's changes, which the audit ledger stores in the order of their commits."""
