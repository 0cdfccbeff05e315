"""Filings: what is reported to a scheme or a register: the modules of `services` about it."""
