"""Stores and reads the audit ledger: its tables, the digests of its chain, and the stamps of visible writes."""
