"""Computes what is reported to a scheme or a register: declarations by category, Annex IX, the file of the UK."""
