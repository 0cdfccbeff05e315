"""The audit ledger: its tables, what its chain is computed over, and when a write could first be seen."""
