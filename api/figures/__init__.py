"""Figures: snapshots, tonnes, obligations and gaps: the modules of `api` about it."""
