"""Figures: snapshots, tonnes, obligations and gaps: the modules of `warehouse` about it."""
